//! Everything is text.

use crate::{Events, Parser, Piece};

/// Passes all text through.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain {
    show_special: bool,
}

impl Plain {
    /// `show_special`: special tokens are text too; otherwise they are left out.
    #[must_use]
    pub fn new(show_special: bool) -> Self {
        Self { show_special }
    }
}

impl Parser for Plain {
    fn push(&mut self, piece: Piece<'_>, out: &mut Events) {
        if !piece.special || self.show_special {
            out.text(piece.text);
        }
    }

    fn finish(&mut self, _out: &mut Events) {}

    fn tool_calls(&self) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use crate::{Event, Events, Parser, Piece, Plain};

    #[test]
    fn special_tokens_are_text_only_when_shown() {
        for (show, expected) in [(false, "ab"), (true, "a<|x|>b")] {
            let mut parser = Plain::new(show);
            let mut out = Events::new();
            parser.push(Piece { text: "a", special: false }, &mut out);
            parser.push(Piece { text: "<|x|>", special: true }, &mut out);
            parser.push(Piece { text: "b", special: false }, &mut out);
            parser.finish(&mut out);
            assert_eq!(out.iter().collect::<Vec<_>>(), [Event::Text(expected)]);
        }
    }
}
