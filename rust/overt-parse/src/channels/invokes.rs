//! Calls written as elements of XML: `<invoke name="N"><parameter name="K">V</parameter></invoke>`.
//!
//! - A value ends at its closing tag only, or with the frame: other tags in it are its text.
//! - A call without its closing tag ends with the frame, or where the next one begins.
//! - What is no element is text before the first call and between calls; within a call it is dropped.

use super::Invokes as Words;
use super::gap::Gap;
use super::typed::{Fields, Value};
use crate::core::input::{Found, Input};
use crate::core::typed::Type;
use crate::format::Said;

/// What a body's reader met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Met {
    /// All that can be told apart now was read.
    More,
    /// This one of the frames' markers.
    Marker(usize),
}

/// Reads the calls of one frame.
#[derive(Debug)]
pub(super) struct Invokes {
    words: Words,
    state: State,
    fields: Fields,
    /// The call that has not begun, whose name is known.
    waiting: Option<String>,
    /// The call being read.
    name: String,
    gap: Gap,
}

#[derive(Debug)]
enum State {
    Outside,
    Name(String),
    Call,
    Key(String),
    Value(Value),
}

impl Invokes {
    pub(super) fn new(words: Words) -> Self {
        Self {
            words,
            state: State::Outside,
            fields: Fields::default(),
            waiting: None,
            name: String::new(),
            gap: Gap::after_frame(),
        }
    }

    /// Reads up to one of the frames' `markers`.
    pub(super) fn read(&mut self, input: &mut Input, frames: &[&str], said: &mut Said<'_>) -> Met {
        let Words { open, close, invoke, invoke_end, parameter, parameter_end, name_end } =
            self.words;
        loop {
            let own: &[&str] = match &self.state {
                State::Outside => &[open, close, invoke],
                State::Name(_) | State::Key(_) => &[name_end],
                State::Call => &[parameter, invoke_end, invoke, close],
                State::Value(_) => &[parameter_end],
            };
            let markers = [own, frames].concat();
            if !matches!(self.state, State::Outside) && input.ends_within(&markers) {
                // Of a marker that was cut off nothing can be said.
                let rest = input.rest().len();
                input.advance(rest);
            }
            match input.next(&markers) {
                Found::More => return Met::More,
                Found::Text { len, special } => self.text(input.take(len), special, said),
                Found::Marker(index) if index >= own.len() => {
                    return Met::Marker(index - own.len());
                }
                Found::Marker(index) => self.marker(own[index], input, said),
            }
        }
    }

    fn text(&mut self, text: &str, special: bool, said: &mut Said<'_>) {
        match &mut self.state {
            _ if special => {}
            State::Outside => self.gap.say(text, said),
            State::Name(name) | State::Key(name) => name.push_str(text),
            State::Value(value) => value.push(text, said),
            State::Call => {}
        }
    }

    fn marker(&mut self, marker: &str, input: &mut Input, said: &mut Said<'_>) {
        match std::mem::replace(&mut self.state, State::Outside) {
            State::Outside | State::Call if marker == self.words.invoke => {
                self.begin(input, said);
                self.end(said);
                self.gap.marker();
                input.mark(marker.len());
                self.state = State::Name(String::new());
            }
            State::Outside => self.gap.marker(),
            State::Name(name) => {
                self.name.clone_from(&name);
                self.waiting = Some(name);
                self.state = State::Call;
            }
            State::Call if marker == self.words.parameter => {
                self.begin(input, said);
                self.state = State::Key(String::new());
            }
            State::Call => {
                self.begin(input, said);
                self.end(said);
            }
            State::Key(key) => {
                self.fields.key(&key, said);
                let kind = Type::of_parameter(&said.calls.tools, &self.name, &key);
                self.state = State::Value(Value::new(kind, said));
            }
            State::Value(value) => {
                value.close(true, said);
                self.state = State::Call;
            }
        }
    }

    fn begin(&mut self, input: &mut Input, said: &mut Said<'_>) {
        if let Some(name) = self.waiting.take() {
            input.unmark();
            said.begin(&name, None);
        }
    }

    fn end(&mut self, said: &mut Said<'_>) {
        self.fields.close(said);
        said.end();
    }

    /// The frame has ended (`whole`) or the output has.
    pub(super) fn leave(self, whole: bool, input: &mut Input, said: &mut Said<'_>) {
        let Self { state, mut fields, waiting, .. } = self;
        match state {
            State::Outside => {}
            State::Name(_) => said.give_up(input),
            State::Call | State::Key(_) if waiting.is_some() => said.give_up(input),
            State::Call | State::Key(_) if whole => fields.close(said),
            State::Call | State::Key(_) => {}
            State::Value(value) => {
                value.close(whole, said);
                if whole {
                    fields.close(said);
                }
            }
        }
        said.end();
    }
}
