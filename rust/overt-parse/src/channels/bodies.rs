//! Bodies that are JSON: one call's arguments, or objects of calls.

use super::Calls;
use super::reader::{Reader, State};
use crate::core::input::{Found, Input};
use crate::core::value::{Place, Value};
use crate::format::Said;
use crate::json::object::{Fate, Object};

/// A body that is one call's arguments.
#[derive(Debug)]
pub(super) struct Arguments {
    /// The tool's name, while the call has not begun.
    name: Option<String>,
    value: Value,
    /// White space before them.
    blank: String,
    step: Step,
    /// What the body is when it holds no arguments.
    reasoning: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Before,
    Inside,
    Behind,
}

impl Arguments {
    pub(super) fn new(name: Option<String>, reasoning: bool) -> Self {
        let (value, blank) = (Value::default(), String::new());
        Self { name, value, blank, step: Step::Before, reasoning }
    }

    /// Reads bytes of the object: how many.
    fn read(&mut self, run: &str, said: &mut Said<'_>) -> usize {
        let mut end = 0;
        for byte in run.bytes() {
            let place = self.value.step(byte);
            end += usize::from(matches!(place, Place::Inside | Place::Last));
            if place != Place::Inside {
                self.step = Step::Behind;
                break;
            }
        }
        said.arguments(&run[..end]);
        if self.step == Step::Behind {
            said.end();
        }
        end
    }

    /// The body has ended; without any arguments it is a call without arguments.
    pub(super) fn leave(&mut self, said: &mut Said<'_>) {
        self.begin(said);
        said.end();
    }

    fn begin(&mut self, said: &mut Said<'_>) {
        if let Some(name) = self.name.take() {
            said.begin(&name, None);
        }
    }
}

/// A body of JSON objects.
#[derive(Debug, Default)]
pub(super) struct Objects {
    /// The name that the header gave.
    name: Option<String>,
    object: Option<Object>,
}

impl Objects {
    pub(super) fn new(name: Option<String>) -> Self {
        Self { name, object: None }
    }

    /// The same body before its first object.
    pub(super) fn anew(self) -> Self {
        Self { object: None, ..self }
    }

    /// The body has ended: an object that has begun is ended as it stands, any other was text.
    pub(super) fn leave(self, input: &mut Input, said: &mut Said<'_>) {
        said.give_up(input);
        said.end();
    }
}

impl Reader {
    pub(super) fn arguments(
        &mut self,
        mut body: Arguments,
        input: &mut Input,
        said: &mut Said<'_>,
    ) -> bool {
        let (run, special) = input.run();
        if !special && !run.is_empty() && body.step != Step::Behind {
            let blank = run.len() - run.trim_start().len();
            if body.step == Step::Inside {
                let read = body.read(run, said);
                input.advance(read);
                self.state = State::Arguments(body);
                return true;
            }
            if blank > 0 {
                body.blank.push_str(input.take(blank));
                self.state = State::Arguments(body);
                return true;
            }
            if run.starts_with('{') {
                body.begin(said);
                body.step = Step::Inside;
                self.state = State::Arguments(body);
                return true;
            }
        }
        match input.next(&self.markers) {
            Found::More => {
                self.state = State::Arguments(body);
                return false;
            }
            Found::Marker(index) => {
                body.leave(said);
                self.marker(index, said);
            }
            Found::Text { len, special: true } => {
                input.advance(len);
                self.state = State::Arguments(body);
            }
            Found::Text { len, special: false } if body.step == Step::Behind => {
                self.gap.say(input.take(len), said);
                self.state = State::Arguments(body);
            }
            Found::Text { .. } => {
                // No object: the body is what it would be if nothing were called.
                self.state = if body.reasoning { State::Reasoning } else { State::Text };
                self.text(&body.blank, said);
            }
        }
        true
    }

    pub(super) fn objects(
        &mut self,
        mut body: Objects,
        input: &mut Input,
        said: &mut Said<'_>,
    ) -> bool {
        let (run, special) = input.run();
        if let (Some(object), false, false) = (&mut body.object, special, run.is_empty()) {
            let (read, outcome) = object.read(run, said);
            input.advance(read);
            if object.has_begun() {
                input.unmark();
            }
            self.state = match outcome {
                Fate::Goes | Fate::Called => State::Objects(body),
                Fate::Ended => State::Objects(Objects::default()),
                Fate::Broken => {
                    body.leave(input, said);
                    State::Text
                }
            };
            return true;
        }
        let structure = run.bytes().take_while(|byte| b" \t\r\n[],".contains(byte)).count();
        if !special && structure > 0 {
            input.advance(structure);
            self.state = State::Objects(body);
            return true;
        }
        if let (false, Calls::Objects(words), true) =
            (special, self.shape.calls, run.starts_with('{'))
        {
            input.mark(0);
            body.object = Some(Object::named(words.keys, body.name.take()));
            self.state = State::Objects(body);
            return true;
        }
        match input.next(&self.markers) {
            Found::More => {
                self.state = State::Objects(body);
                return false;
            }
            Found::Marker(index) => {
                self.before_marker(index, input, |input| body.leave(input, said));
                self.marker(index, said);
            }
            Found::Text { len, special: true } => {
                input.advance(len);
                self.state = State::Objects(body);
            }
            Found::Text { .. } => self.state = State::Text,
        }
        true
    }

    /// Does what comes before the marker that was read just now.
    pub(super) fn before_marker(
        &self,
        index: usize,
        input: &mut Input,
        act: impl FnOnce(&mut Input),
    ) {
        let len = self.markers[index].len();
        input.back(len);
        act(input);
        input.advance(len);
    }
}
