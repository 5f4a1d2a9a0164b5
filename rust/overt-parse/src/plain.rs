//! The reader of answers without calls.

use crate::core::input::{Found, Input};
use crate::format::{Reader, Reading, Said};

/// Everything is text, but hidden markers and special tokens.
#[derive(Debug)]
pub(crate) struct Plain {
    hidden: &'static [&'static str],
}

impl Plain {
    pub(crate) fn new(options: &Reading) -> Self {
        Self { hidden: options.hidden }
    }
}

impl Reader for Plain {
    fn read(&mut self, input: &mut Input, said: &mut Said<'_>) {
        loop {
            match input.next(self.hidden) {
                // Without markers to drop, white space sets nothing apart: it goes out as it comes.
                Found::Text { len, special } if self.hidden.is_empty() => {
                    let text = input.take(len);
                    if !special {
                        said.out.text(text);
                    }
                }
                Found::Text { len, special } => said.text(input.take(len), special),
                Found::Marker(_) => said.prose.wrapper(),
                Found::More => return,
            }
        }
    }

    fn is_idle(&self) -> bool {
        true
    }
}
