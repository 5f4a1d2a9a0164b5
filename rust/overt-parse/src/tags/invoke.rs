//! One call: from behind the first word of its opening tag to its closing tag.

use std::collections::HashSet;

use crate::core::input::{Found, Input};
use crate::core::typed::{self, Type, quote};
use crate::core::value::{Place, Value as Json};
use crate::format::Said;
use crate::tags::head::{Peek, peek};
use crate::tags::reader::{Block, Step};
use crate::tags::value::{How, Turn, Value};
use crate::tags::{Shape, Word, Words};

/// Reads calls of tagged parameters, one after the other; [`Block`] tells how it is driven.
#[derive(Debug)]
pub(crate) struct Invoke {
    shape: Shape,
    state: State,
    /// Only a declared tool's name is a call.
    declared: bool,
    name: String,
    begun: bool,
    /// Parameters that have come.
    seen: HashSet<String>,
}

#[derive(Debug)]
enum State {
    Name,
    Body,
    /// A parameter's opening tag, whose first word of this length has been read.
    Key(usize),
    Value(Box<Value>),
    /// The arguments stand as one object.
    Object(Json),
}

impl Invoke {
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            shape,
            state: State::Name,
            declared: false,
            name: String::new(),
            begun: false,
            seen: HashSet::new(),
        }
    }
}

impl Block for Invoke {
    fn begin(&mut self, declared: bool) {
        self.state = State::Name;
        self.declared = declared;
        self.begun = false;
        self.seen.clear();
    }

    fn read(&mut self, words: &Words, input: &mut Input, said: &mut Said<'_>) -> Step {
        loop {
            let step = match self.state {
                State::Name => self.read_name(input, said),
                State::Body => self.read_body(words, input, said),
                State::Key(len) => self.read_key(len, input, said),
                State::Value(_) => self.read_value(words, input, said),
                State::Object(_) => self.read_object(input, said),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }
}

impl Invoke {
    fn read_name(&mut self, input: &mut Input, said: &Said<'_>) -> Option<Step> {
        match peek(input.rest(), self.shape.quoted, input.has_ended()) {
            Peek::More => Some(Step::More),
            Peek::Text | Peek::Cut => Some(Step::Text),
            Peek::Head(head) => {
                input.advance(head.len);
                self.name = head.name;
                self.state = State::Body;
                let known = !self.declared || said.calls.tools.get(&self.name).is_some();
                (!known).then_some(Step::Text)
            }
        }
    }

    /// Between parameters.
    fn read_body(&mut self, words: &Words, input: &mut Input, said: &mut Said<'_>) -> Option<Step> {
        if self.begun && words.is_cut(input) {
            return Some(self.cut(input, said));
        }
        let (word, len) = match input.next(&words.texts) {
            Found::Marker(index) => words.get(index),
            Found::Text { len, special: true } => {
                input.advance(len);
                return None;
            }
            Found::Text { len, .. } => {
                let run = input.run().0;
                let blank = len - run[..len].trim_start().len();
                if blank > 0 {
                    input.advance(blank);
                    return None;
                }
                if self.shape.json && self.seen.is_empty() && run.starts_with('{') {
                    self.say_begin(input, said);
                    self.state = State::Object(Json::default());
                    return None;
                }
                return Some(self.stop(said));
            }
            Found::More if !input.has_ended() => return Some(Step::More),
            Found::More if self.begun => return Some(self.cut(input, said)),
            Found::More => return Some(Step::Text),
        };
        match word {
            // Behind an object of arguments nothing more can be said of the call.
            Word::Parameter if self.begun && !said.calls.is_open() => {
                input.back(len);
                return Some(self.stop(said));
            }
            Word::Parameter => self.state = State::Key(len),
            Word::InvokeEnd => {
                self.say_begin(input, said);
                return Some(self.end(said));
            }
            Word::ParameterEnd | Word::Noise => {}
            Word::Close | Word::Open | Word::Invoke => {
                input.back(len);
                // The end of the wrapper ends a call, even one without arguments.
                if word == Word::Close {
                    self.say_begin(input, said);
                }
                return Some(self.stop(said));
            }
            Word::Cdata | Word::CdataEnd | Word::Hidden => {
                input.back(len);
                return Some(self.stop(said));
            }
        }
        None
    }

    fn read_key(&mut self, len: usize, input: &mut Input, said: &mut Said<'_>) -> Option<Step> {
        let head = match peek(input.rest(), self.shape.quoted, input.has_ended()) {
            Peek::Head(head) => head,
            Peek::More => return Some(Step::More),
            Peek::Cut if self.begun => return Some(self.cut(input, said)),
            Peek::Cut | Peek::Text => {
                input.back(len);
                return Some(self.stop(said));
            }
        };
        input.advance(head.len);
        self.say_begin(input, said);
        let mut text = String::from(if self.seen.is_empty() { "{" } else { ", " });
        quote(&head.name, &mut text);
        text.push_str(": ");
        said.arguments(&text);
        let kind = Type::of_parameter(&said.calls.tools, &self.name, &head.name);
        self.seen.insert(head.name);
        let how = How { feeds: self.shape.feeds, quoted: self.shape.quoted };
        let value = Value::new(kind, how, head.string);
        value.begin(said);
        self.state = State::Value(Box::new(value));
        None
    }

    fn read_value(
        &mut self,
        words: &Words,
        input: &mut Input,
        said: &mut Said<'_>,
    ) -> Option<Step> {
        let State::Value(value) = &mut self.state else { return None };
        let (name, seen) = (&self.name, &self.seen);
        let missing = |said: &Said<'_>, key: &str| {
            let tool = said.calls.tools.get(name).map(|tool| &tool.parameters);
            !seen.contains(key) && tool.is_some_and(|root| typed::declares(root, root, key))
        };
        match value.read(words, input, said, &missing) {
            Turn::More => return Some(Step::More),
            Turn::Done => self.state = State::Body,
            Turn::Last { closed } => {
                said.arguments("}");
                said.end();
                return Some(Step::Ended { closed });
            }
            Turn::Cut => {
                said.end();
                return Some(Step::Ended { closed: true });
            }
        }
        None
    }

    /// The object's own bytes are the arguments.
    fn read_object(&mut self, input: &mut Input, said: &mut Said<'_>) -> Option<Step> {
        let State::Object(json) = &mut self.state else { return None };
        let (run, special) = input.run();
        if run.is_empty() {
            return Some(if input.has_ended() { self.end(said) } else { Step::More });
        }
        if special {
            let len = run.len();
            input.advance(len);
            return None;
        }
        let (mut len, mut ended) = (0, false);
        for byte in run.bytes() {
            let place = json.step(byte);
            ended = place != Place::Inside;
            len += usize::from(matches!(place, Place::Inside | Place::Last));
            if ended {
                break;
            }
        }
        said.arguments(input.take(len));
        if ended {
            self.seen.insert(String::new());
            said.end();
            self.state = State::Body;
        }
        None
    }

    /// The call has begun for good: what was read of it is no text.
    fn say_begin(&mut self, input: &mut Input, said: &mut Said<'_>) {
        if !self.begun {
            self.begun = true;
            input.unmark();
            said.begin(&self.name, None);
        }
    }

    /// What comes is no part of the call: it ends as it stands, if it has begun.
    fn stop(&mut self, said: &mut Said<'_>) -> Step {
        if self.begun { self.end(said) } else { Step::Text }
    }

    /// The output ended within the call: a tag that was cut off is no text.
    fn cut(&mut self, input: &mut Input, said: &mut Said<'_>) -> Step {
        let rest = input.rest().len();
        input.advance(rest);
        said.end();
        Step::Ended { closed: true }
    }

    fn end(&mut self, said: &mut Said<'_>) -> Step {
        if !self.seen.is_empty() && said.calls.is_open() && !matches!(self.state, State::Object(_))
        {
            said.arguments("}");
        }
        said.end();
        Step::Ended { closed: false }
    }
}
