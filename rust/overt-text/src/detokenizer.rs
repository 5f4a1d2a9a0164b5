//! Tokens to text, one at a time.

use std::sync::Arc;

use crate::fallback::Fallback;
use crate::scheme::Start;
use crate::table::TokenTable;
use crate::tokenizer::Tokenizer;
use crate::utf8::Assembler;

/// What a token was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed<'a> {
    /// Text, or part of a character: what is complete was appended.
    Text,
    /// A special token of this spelling. It is not appended: a parser may read it as a marker, and whoever
    /// shows special tokens writes it after what was appended.
    Special(&'a str),
}

/// Decodes one choice's tokens. Text that was appended is never taken back; of a character cut by a token
/// the bytes, at most 3, wait for their rest.
///
/// Appended text and, unless skipped, spellings of special tokens joined are what
/// [`Tokenizer::decode`] says of all ids at once. One case differs: of a byte-fallback run with an invalid
/// byte, the tokenizer discards the valid characters too, which may have been sent by then; they stay.
#[derive(Debug, Clone)]
pub struct Detokenizer {
    table: Arc<TokenTable>,
    utf8: Assembler,
    /// What is still to be taken away at the start of the text.
    start: Start,
    skip_special: bool,
    flush_at_specials: bool,
    fallback: Option<Box<Fallback>>,
}

impl Detokenizer {
    /// A detokeniser for text that follows `prompt_tail`, the prompt's last few ids: a space that the
    /// tokenizer drops at the start of a text is kept where something stands before it.
    /// `skip_special`: special tokens are not part of the text.
    #[must_use]
    pub fn new(tokenizer: &Tokenizer, skip_special: bool, prompt_tail: &[u32]) -> Self {
        let table = Arc::clone(tokenizer.table());
        let fallback = (!table.exact)
            .then(|| Box::new(Fallback::new(Arc::clone(tokenizer.inner()), prompt_tail)));
        Self {
            utf8: Assembler::new(table.byte_fallback),
            start: if prompt_tail.is_empty() { table.start } else { Start::Keep },
            skip_special,
            flush_at_specials: false,
            fallback,
            table,
        }
    }

    /// A skipped special token ends a character cut before it (as U+FFFD), so that text never moves to the
    /// other side of a marker. Off, the bytes on both sides join, as the tokenizer joins them.
    #[must_use]
    pub fn flush_at_specials(mut self, flush: bool) -> Self {
        self.flush_at_specials = flush;
        self
    }

    /// Whether a token is a special one that is no part of the text.
    #[must_use]
    pub fn hides(&self, id: u32) -> bool {
        self.skip_special && self.table.is_special(id)
    }

    /// Reads one token and appends what it completes. Ids that no token has add nothing.
    pub fn push(&mut self, id: u32, out: &mut String) -> Pushed<'_> {
        if self.table.is_special(id) {
            if !self.skip_special || self.flush_at_specials {
                self.finish(out);
            }
            if !self.skip_special {
                self.start = Start::Keep;
                if let Some(fallback) = &mut self.fallback {
                    fallback.skip(id);
                }
            }
            return Pushed::Special(self.table.spelling(id));
        }
        if let Some(fallback) = &mut self.fallback {
            fallback.push(id, out);
        } else if self.start == Start::Keep {
            self.utf8.push(self.table.bytes(id), out);
        } else {
            self.push_first(id, out);
        }
        Pushed::Text
    }

    /// The text has ended: an incomplete character becomes U+FFFD.
    pub fn finish(&mut self, out: &mut String) {
        match &mut self.fallback {
            Some(fallback) => fallback.finish(out),
            None => self.utf8.flush(out),
        }
    }

    fn push_first(&mut self, id: u32, out: &mut String) {
        let mut bytes = self.table.bytes(id);
        match self.start {
            Start::Strip { byte, count } => {
                let mut left = count;
                while left > 0 && bytes.first() == Some(&byte) {
                    bytes = &bytes[1..];
                    left -= 1;
                }
                self.start = if left > 0 && bytes.is_empty() {
                    Start::Strip { byte, count: left }
                } else {
                    Start::Keep
                };
                self.utf8.push(bytes, out);
            }
            // An id that no token has is no first token.
            Start::FirstToken if bytes.is_empty() => {}
            Start::FirstToken => {
                self.start = Start::Keep;
                let kept: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != b' ').collect();
                self.utf8.push(&kept, out);
            }
            Start::Keep => self.utf8.push(bytes, out),
        }
    }
}
