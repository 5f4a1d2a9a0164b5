//! What stands around calls: text, wrappers and their closing tags.

use std::fmt::Debug;

use crate::core::input::{Found, Input};
use crate::format::{Reader, Said};
use crate::tags::object::Objects;
use crate::tags::{Word, Words};

/// How far a call has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// More must come.
    More,
    /// The call has ended; `closed`: so has the wrapper around it.
    Ended { closed: bool },
    /// It is none: the caller says what was read since the input's mark as text.
    Text,
}

/// Reads one call at a time. The caller has read the call's first word ([`Word::Invoke`]) and has set the input's
/// mark at or before it; the block takes the mark off once the call has begun.
pub(crate) trait Block: Debug + Send {
    /// The next call comes. `declared`: it is one only if its name is a declared tool's.
    fn begin(&mut self, declared: bool);

    /// Reads as far as it can.
    fn read(&mut self, words: &Words, input: &mut Input, said: &mut Said<'_>) -> Step;
}

/// Reads text and the calls in it.
#[derive(Debug)]
pub(crate) struct Outer<B> {
    words: Words,
    /// A wrapper may hold JSON objects.
    objects: bool,
    block: B,
    state: State,
    /// A wrapper is open.
    inside: bool,
    /// The call being read follows a wrapper's opener.
    opened: bool,
    /// Nothing but white space has come since a call.
    behind: bool,
}

#[derive(Debug)]
enum State {
    Text,
    /// A wrapper's opener has come; the input's mark is at its start.
    Opened,
    Call,
    Objects(Objects),
}

impl<B: Block> Outer<B> {
    pub(crate) fn new(words: Words, objects: bool, block: B) -> Self {
        Self {
            words,
            objects,
            block,
            state: State::Text,
            inside: false,
            opened: false,
            behind: false,
        }
    }

    /// Text outside of calls, up to a word that means something there. True when more can be read.
    fn read_text(&mut self, input: &mut Input, said: &mut Said<'_>) -> bool {
        if (self.inside || self.behind) && self.words.is_cut(input) {
            let rest = input.rest().len();
            input.advance(rest);
        }
        let (word, len) = match input.next(&self.words.texts) {
            Found::More => return false,
            Found::Text { len, special } => {
                let text = input.take(len);
                self.behind &= special || text.trim_start().is_empty();
                said.text(text, special);
                return true;
            }
            Found::Marker(index) => self.words.get(index),
        };
        input.mark(len);
        match word {
            Word::Open => {
                self.opened = true;
                self.state = State::Opened;
                return true;
            }
            Word::Invoke => {
                self.opened = false;
                self.block.begin(!self.inside);
                self.state = State::Call;
                return true;
            }
            Word::Close if self.inside || self.behind => {
                self.inside = false;
                said.prose.closed();
            }
            Word::InvokeEnd | Word::ParameterEnd | Word::Noise if self.behind => {
                said.prose.closed();
            }
            Word::Hidden => said.prose.closed(),
            _ => {
                self.behind = false;
                said.give_up(input);
            }
        }
        input.unmark();
        true
    }

    /// Behind a wrapper's opener, where only a call may stand.
    fn read_opened(&mut self, input: &mut Input, said: &mut Said<'_>) -> bool {
        match input.next(&self.words.texts) {
            Found::Marker(index) => match self.words.get(index) {
                (Word::Open, _) => {}
                (Word::Invoke, _) => {
                    self.block.begin(false);
                    self.state = State::Call;
                }
                (_, len) => {
                    input.back(len);
                    self.give_up(input, said);
                }
            },
            Found::Text { len, special: true } => input.advance(len),
            Found::Text { len, .. } => {
                let run = &input.run().0[..len];
                let blank = len - run.trim_start().len();
                if blank > 0 {
                    input.advance(blank);
                } else if self.objects && run.starts_with(['{', '[']) {
                    self.state = State::Objects(Objects::default());
                } else {
                    self.give_up(input, said);
                }
            }
            Found::More if input.has_ended() => self.give_up(input, said),
            Found::More => return false,
        }
        true
    }

    fn give_up(&mut self, input: &mut Input, said: &mut Said<'_>) {
        said.give_up(input);
        self.behind = false;
        self.state = State::Text;
    }

    /// True when more can be read.
    fn after(&mut self, step: Step, input: &mut Input, said: &mut Said<'_>) -> bool {
        match step {
            Step::More => return false,
            Step::Ended { closed } => {
                self.inside = (self.inside || self.opened) && !closed;
                self.behind = true;
                self.state = State::Text;
            }
            Step::Text => self.give_up(input, said),
        }
        true
    }
}

impl<B: Block> Reader for Outer<B> {
    fn read(&mut self, input: &mut Input, said: &mut Said<'_>) {
        loop {
            let goes_on = match &mut self.state {
                State::Text => self.read_text(input, said),
                State::Opened => self.read_opened(input, said),
                State::Call => {
                    let step = self.block.read(&self.words, input, said);
                    self.after(step, input, said)
                }
                State::Objects(objects) => {
                    let step = objects.read(input, said);
                    self.after(step, input, said)
                }
            };
            if !goes_on {
                return;
            }
        }
    }

    fn is_idle(&self) -> bool {
        matches!(self.state, State::Text)
    }
}
