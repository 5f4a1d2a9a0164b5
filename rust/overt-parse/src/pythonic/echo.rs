//! Calls that the model repeats behind their closing marker, and closes once more.

use crate::core::input::{Found, Input};
use crate::format::Said;

/// What stood between the markers, for the case that it comes again.
#[derive(Debug, Default)]
pub(super) struct Echo {
    pub(super) text: String,
    /// How much of it has come again.
    at: usize,
}

impl Echo {
    /// True once some of it has come again.
    pub(super) fn has_begun(&self) -> bool {
        self.at > 0
    }

    /// Drops the text if it comes once more with a closing marker behind it; gives back what is no echo. `closes`
    /// tells which of `tags` close. False when more must come; `over`: what comes now is read as ever.
    pub(super) fn read(
        &mut self,
        tags: &[&'static str],
        closes: impl Fn(usize) -> bool,
        input: &mut Input,
        said: &mut Said<'_>,
        over: &mut bool,
    ) -> bool {
        let body = self.text.trim();
        match input.next(tags) {
            Found::More => {
                if input.has_ended() {
                    said.give_up(input);
                }
                return false;
            }
            Found::Text { len, special: true } => input.advance(len),
            Found::Text { len, .. } => {
                let text = &input.run().0[..len];
                let blank = if self.at == 0 { len - text.trim_start().len() } else { 0 };
                if blank > 0 {
                    said.text(input.take(blank), false);
                } else if body[self.at..].starts_with(text) {
                    if self.at == 0 {
                        input.mark(0);
                    }
                    input.advance(len);
                    self.at += len;
                } else {
                    said.give_up(input);
                    *over = true;
                }
            }
            Found::Marker(mark) => {
                if closes(mark) && self.at == body.len() {
                    input.unmark();
                    said.prose.closed();
                } else {
                    input.back(tags[mark].len());
                    said.give_up(input);
                }
                *over = true;
            }
        }
        true
    }
}
