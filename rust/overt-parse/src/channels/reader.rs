//! Reads frames one after the other.

use std::sync::Arc;

use super::bodies::{Arguments, Objects};
use super::elements::{Elements, Opened};
use super::gap::Gap;
use super::header;
use super::invokes::{Invokes, Met};
use super::typed::Value;
use super::{Body, Calls, Implied, Shape};
use crate::core::calls::{Calls as Numbers, Ids};
use crate::core::input::{Found, Input};
use crate::core::prose::Prose;
use crate::core::thinking::Reasoning;
use crate::format::{Reading, Said};
use crate::{Events, Piece, Tools};

/// The reader of one choice.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) shape: Shape,
    calls: bool,
    merged: bool,
    /// Markers outside of headers.
    pub(super) markers: Vec<&'static str>,
    /// Markers within headers.
    within: Vec<&'static str>,
    pub(super) state: State,
    pub(super) gap: Gap,
    reasoning: Reasoning,
    elements: Elements,
}

/// Where the reader stands.
#[derive(Debug)]
pub(super) enum State {
    /// Between frames; what came may be a header without a marker before it.
    Between(String),
    /// Between frames, in text.
    Prose,
    Header(String),
    /// Behind a closer.
    Closing(String),
    Text,
    Reasoning,
    /// In a frame that only holds others.
    Wrapper,
    Arguments(Arguments),
    Objects(Objects),
    Invokes(Invokes),
    Value(Value),
}

/// A marker's part in the format.
enum Mark {
    Head { first: bool },
    Part,
    Body(usize),
    End,
    Closer,
}

impl Reader {
    pub(super) fn new(shape: Shape, options: &Reading) -> Self {
        let bodies = shape.bodies.iter().map(|opener| opener.marker);
        let mut markers = shape.heads.to_vec();
        markers.extend(bodies);
        markers.extend(shape.ends);
        markers.extend(shape.closers);
        let within = [markers.as_slice(), shape.parts].concat();
        let mut reader = Self {
            shape,
            calls: options.calls,
            merged: options.merged,
            markers,
            within,
            state: State::Between(String::new()),
            gap: Gap::default(),
            reasoning: Reasoning::default(),
            elements: Elements::default(),
        };
        reader.start(&options.tail);
        reader
    }

    /// Reads the end of the prompt, of which nothing is said.
    fn start(&mut self, tail: &str) {
        if tail.is_empty() {
            return;
        }
        let mut input = Input::default();
        input.push(Piece { text: tail, special: false });
        let mut calls = Numbers::new(Arc::new(Tools::default()), Ids::Plain, 0);
        let (mut prose, mut out) = (Prose::default(), Events::new());
        let mut said = Said { calls: &mut calls, prose: &mut prose, out: &mut out };
        while self.step(&mut input, &mut said) {}
        let role = |header: &str| !header.ends_with(' ') && header.split_whitespace().count() == 1;
        self.state = match std::mem::replace(&mut self.state, State::Prose) {
            // The role stands in the prompt: what comes next belongs to the header only if it fits.
            State::Header(text) if self.shape.implied == Implied::Recipient && role(&text) => {
                State::Between(String::new())
            }
            _ if calls.is_open() => State::Text,
            // The prompt's words are none of the answer's.
            State::Between(_) => State::Between(String::new()),
            State::Objects(objects) => State::Objects(objects.anew()),
            state => state,
        };
        self.gap = Gap::default();
        self.reasoning = Reasoning::default();
    }

    /// Reads what can be told apart now; false when nothing can.
    fn step(&mut self, input: &mut Input, said: &mut Said<'_>) -> bool {
        match std::mem::replace(&mut self.state, State::Prose) {
            State::Arguments(arguments) => self.arguments(arguments, input, said),
            State::Objects(objects) => self.objects(objects, input, said),
            State::Invokes(mut invokes) => {
                let met = invokes.read(input, &self.markers, said);
                match met {
                    Met::More => {
                        self.state = State::Invokes(invokes);
                        false
                    }
                    Met::Marker(index) => {
                        self.before_marker(index, input, |input| invokes.leave(true, input, said));
                        self.marker(index, said);
                        true
                    }
                }
            }
            state => self.plain(state, input, said),
        }
    }

    /// Reads up to the next marker.
    fn plain(&mut self, state: State, input: &mut Input, said: &mut Said<'_>) -> bool {
        let header = matches!(state, State::Header(_));
        let within = matches!(state, State::Value(_)) || said.calls.is_open();
        if within && input.ends_within(&self.markers) {
            // Of a marker that was cut off within a call nothing can be said.
            let rest = input.rest().len();
            input.advance(rest);
        }
        self.state = state;
        match input.next(if header { &self.within } else { &self.markers }) {
            Found::More => return false,
            Found::Text { len, special: true } => input.advance(len),
            Found::Text { len, special: false } => self.text(input.take(len), said),
            Found::Marker(index) => self.marker(index, said),
        }
        true
    }

    pub(super) fn text(&mut self, text: &str, said: &mut Said<'_>) {
        match &mut self.state {
            State::Between(header) => {
                header.push_str(text);
                if !header::may_be_implied(&self.shape, header) {
                    let header = std::mem::take(header);
                    self.gap.say(&header, said);
                    self.state = State::Prose;
                }
            }
            State::Header(header) => {
                header.push_str(text);
                if header.len() > header::LIMIT {
                    let header = std::mem::take(header);
                    let words = header::read(&self.shape, &header[..floor(&header)]);
                    self.state = if words.reasoning { State::Reasoning } else { State::Text };
                    self.text(&header, said);
                }
            }
            State::Closing(name) => {
                name.push_str(text);
                if name.len() > header::LIMIT {
                    let name = std::mem::take(name);
                    self.gap.say(&name, said);
                    self.state = State::Prose;
                }
            }
            State::Reasoning if !self.merged => self.reasoning.say(text, said.out),
            State::Text | State::Reasoning => said.text(text, false),
            State::Value(value) => value.push(text, said),
            _ => self.gap.say(text, said),
        }
    }

    fn mark(&self, index: usize) -> Mark {
        let Shape { heads, bodies, ends, closers, .. } = self.shape;
        let bodies = heads.len() + bodies.len();
        match index {
            _ if index < heads.len() => Mark::Head { first: index == 0 },
            _ if index < bodies => Mark::Body(index - heads.len()),
            _ if index < bodies + ends.len() => Mark::End,
            _ if index < bodies + ends.len() + closers.len() => Mark::Closer,
            _ => Mark::Part,
        }
    }

    /// A marker has come; `self.state` is what it ends.
    pub(super) fn marker(&mut self, index: usize, said: &mut Said<'_>) {
        let mark = self.mark(index);
        let state = std::mem::replace(&mut self.state, State::Between(String::new()));
        self.reasoning.close();
        let words = match (state, &mark) {
            (State::Between(words), Mark::Head { first: false } | Mark::Body(_)) => words,
            (State::Header(words), Mark::Head { first: false } | Mark::Part | Mark::Body(_)) => {
                words
            }
            (State::Between(words), _) => {
                self.gap.say(&words, said);
                String::new()
            }
            (State::Header(words), _) => {
                self.unended(&words, said);
                String::new()
            }
            (State::Closing(name), _) => {
                self.gap.marker();
                self.elements_close(name.trim(), said);
                if matches!(mark, Mark::Body(_)) {
                    return;
                }
                String::new()
            }
            (State::Value(value), _) => {
                value.close(true, said);
                String::new()
            }
            (state @ (State::Text | State::Reasoning | State::Wrapper), Mark::Body(body))
                if self.shape.bodies[*body].body == Body::Named =>
            {
                // Without a header it tells nothing.
                self.state = state;
                return;
            }
            _ => String::new(),
        };
        self.gap.marker();
        match mark {
            Mark::Head { first: true } => self.state = State::Header(String::new()),
            Mark::Head { .. } | Mark::Part => self.state = State::Header(words + " "),
            Mark::Body(body) => self.open(self.shape.bodies[body].body, &words, said),
            Mark::End => {}
            Mark::Closer => self.state = State::Closing(String::new()),
        }
    }

    /// A body begins.
    fn open(&mut self, body: Body, header: &str, said: &mut Said<'_>) {
        let name = Some(header.trim()).filter(|name| !name.is_empty()).map(str::to_owned);
        self.state = match body {
            Body::Reasoning => State::Reasoning,
            Body::Calls if self.calls => State::Objects(Objects::new(name)),
            Body::Text | Body::Calls => State::Text,
            Body::Named => self.named(header, said),
        };
    }

    fn named(&mut self, header: &str, said: &mut Said<'_>) -> State {
        let words = header::read(&self.shape, header);
        let prose = if words.reasoning { State::Reasoning } else { State::Text };
        match self.shape.calls {
            Calls::Elements(elements) => {
                let calls = [elements.call, elements.parameter, elements.object];
                let tag = header::tag(header);
                if !self.calls && calls.contains(&tag) {
                    return State::Text;
                }
                match self.elements.open(&elements, header, said) {
                    Opened::Call => State::Wrapper,
                    Opened::Value(value) => State::Value(value),
                    Opened::Object => {
                        State::Arguments(Arguments::new(self.elements.take_name(), false))
                    }
                    Opened::Other if words.reasoning => State::Reasoning,
                    Opened::Other if self.shape.text.contains(&tag) => State::Text,
                    Opened::Other => State::Wrapper,
                }
            }
            _ if !self.calls || words.name.is_none() => prose,
            Calls::Invokes(invokes) => State::Invokes(Invokes::new(invokes)),
            _ => State::Arguments(Arguments::new(words.name, words.reasoning)),
        }
    }

    fn elements_close(&mut self, name: &str, said: &mut Said<'_>) {
        if let Calls::Elements(elements) = self.shape.calls {
            self.elements.close(&elements, name, said);
        }
    }

    /// A header was cut short: only what is no word of headers is text.
    fn unended(&mut self, words: &str, said: &mut Said<'_>) {
        if !header::is_header(&self.shape, words) {
            self.gap.say(words.trim_start(), said);
        }
    }

    /// `text` without the beginning of a marker at its end.
    fn without_partial<'a>(&self, text: &'a str) -> &'a str {
        let begins = |end: &str| self.within.iter().any(|marker| marker.starts_with(end));
        let start = text.char_indices().map(|(at, _)| at).find(|at| begins(&text[*at..]));
        &text[..start.unwrap_or(text.len())]
    }

    fn finish(&mut self, input: &mut Input, said: &mut Said<'_>) {
        match std::mem::replace(&mut self.state, State::Prose) {
            State::Between(words) => self.gap.say(&words, said),
            State::Header(words) => self.unended(self.without_partial(&words), said),
            // What was to be closed stays open: its name was cut off.
            State::Closing(name) => self.unended(self.without_partial(&name), said),
            State::Arguments(mut body) => body.leave(said),
            State::Objects(body) => body.leave(input, said),
            State::Invokes(body) => body.leave(false, input, said),
            State::Value(value) => value.close(false, said),
            State::Prose | State::Text | State::Reasoning | State::Wrapper => {}
        }
        self.elements.finish();
        said.end();
        self.gap.finish(said);
        self.reasoning.finish(said.out);
    }
}

impl crate::format::Reader for Reader {
    fn read(&mut self, input: &mut Input, said: &mut Said<'_>) {
        while self.step(input, said) {}
        if input.has_ended() {
            self.finish(input, said);
        }
    }

    fn is_idle(&self) -> bool {
        matches!(self.state, State::Between(_) | State::Prose | State::Text)
    }

    fn is_reasoning(&self) -> bool {
        matches!(self.state, State::Reasoning)
    }
}

/// The last boundary of characters within a header's greatest length.
fn floor(text: &str) -> usize {
    (0..=header::LIMIT.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
