//! One call: from behind the first word of its opening tag to its closing tag.

use std::collections::HashSet;

use serde_json::Value;

use crate::core::input::{Found, Input};
use crate::core::typed::{Type, declares, escape, property, quote};
use crate::elements::Shape;
use crate::elements::node::{Node, Page};
use crate::elements::tag::{Tag, peek};
use crate::format::Said;
use crate::tags::{self, Block, Peek, Step, Word, Words};

/// How deep elements may nest; deeper tags are text.
const DEPTH: usize = 100;

/// Reads calls of elements, one after the other.
#[derive(Debug)]
pub(super) struct Invoke {
    shape: Shape,
    state: State,
    declared: bool,
    name: String,
    begun: bool,
    seen: HashSet<String>,
    scratch: String,
}

#[derive(Debug)]
enum State {
    Name,
    Body,
    /// A mark has come; a parameter's tag follows.
    Tag,
    /// Text of the parameter of this name, said as it comes.
    Text(String),
    /// The open elements of a parameter, the parameter itself first.
    Tree(Vec<Node>),
}

/// What a tag behind a mark means to a value.
enum Turn {
    /// The value goes on.
    On,
    /// More must come.
    More,
    /// It has ended, and what ended it is still to be read.
    Done,
    /// The output ended within it.
    Cut,
}

impl Invoke {
    pub(super) fn new(shape: Shape) -> Self {
        Self {
            shape,
            state: State::Name,
            declared: false,
            name: String::new(),
            begun: false,
            seen: HashSet::new(),
            scratch: String::new(),
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
            let step = match &self.state {
                State::Name => self.read_name(input, said),
                State::Body => self.read_body(words, input, said),
                State::Tag => self.read_tag(input, said),
                State::Text(_) | State::Tree(_) => match self.read_value(input, said) {
                    Turn::On => None,
                    Turn::More => Some(Step::More),
                    Turn::Done => {
                        self.finish(false, said);
                        None
                    }
                    Turn::Cut => {
                        self.finish(true, said);
                        said.end();
                        Some(Step::Ended { closed: true })
                    }
                },
            };
            if let Some(step) = step {
                return step;
            }
        }
    }
}

impl Invoke {
    fn read_name(&mut self, input: &mut Input, said: &Said<'_>) -> Option<Step> {
        match tags::peek(input.rest(), true, input.has_ended()) {
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
            let rest = input.rest().len();
            input.advance(rest);
        }
        let (word, len) = match input.next(&words.texts) {
            Found::Marker(index) => words.get(index),
            Found::Text { len, special: true } => {
                input.advance(len);
                return None;
            }
            Found::Text { len, .. } => {
                let run = &input.run().0[..len];
                let blank = len - run.trim_start().len();
                if blank == 0 {
                    return Some(self.stop(said));
                }
                input.advance(blank);
                return None;
            }
            Found::More if !input.has_ended() => return Some(Step::More),
            Found::More if self.begun => {
                said.end();
                return Some(Step::Ended { closed: true });
            }
            Found::More => return Some(Step::Text),
        };
        match word {
            Word::Parameter => self.state = State::Tag,
            Word::InvokeEnd => {
                self.say_begin(input, said);
                return Some(self.stop(said));
            }
            word => {
                input.back(len);
                // The end of the wrapper ends a call, even one without arguments.
                if word == Word::Close {
                    self.say_begin(input, said);
                }
                return Some(self.stop(said));
            }
        }
        None
    }

    fn read_tag(&mut self, input: &mut Input, said: &mut Said<'_>) -> Option<Step> {
        self.state = State::Body;
        match peek(input.rest(), input.has_ended()) {
            Tag::More => {
                self.state = State::Tag;
                return Some(Step::More);
            }
            Tag::Cut if self.begun => {
                let rest = input.rest().len();
                input.advance(rest);
                said.end();
                return Some(Step::Ended { closed: true });
            }
            Tag::Cut | Tag::Text => {
                input.back(self.shape.mark.len());
                // What is behind the mark is text, and so is the mark.
                return Some(self.stop(said));
            }
            // It closes nothing.
            Tag::Close(len, _) => input.advance(len),
            Tag::Open(len, key) => {
                input.advance(len);
                self.open(key, input, said);
            }
        }
        None
    }

    /// A parameter begins.
    fn open(&mut self, key: String, input: &mut Input, said: &mut Said<'_>) {
        self.say_begin(input, said);
        self.scratch.clear();
        self.scratch.push_str(if self.seen.is_empty() { "{" } else { ", " });
        quote(&key, &mut self.scratch);
        self.scratch.push_str(": ");
        let kind = Type::of_parameter(&said.calls.tools, &self.name, &key);
        self.seen.insert(key.clone());
        if kind.is_text() {
            self.scratch.push('"');
            self.state = State::Text(key);
        } else {
            self.state = State::Tree(vec![Node::new(key)]);
        }
        said.arguments(&self.scratch);
    }

    /// Text up to a mark, and the tag behind it.
    fn read_value(&mut self, input: &mut Input, said: &mut Said<'_>) -> Turn {
        let mark = self.shape.mark;
        let rest = input.rest();
        if input.has_ended() && rest.len() < mark.len() && mark.starts_with(rest) {
            let rest = rest.len();
            input.advance(rest);
            return Turn::Cut;
        }
        match input.next(&[mark]) {
            Found::More => return Turn::More,
            Found::Text { len, special } => {
                let text = input.take(len);
                if !special {
                    self.put(text, said);
                }
                return Turn::On;
            }
            Found::Marker(_) => {}
        }
        let tag = peek(input.rest(), input.has_ended());
        let turn = match &tag {
            Tag::More => {
                input.back(mark.len());
                return Turn::More;
            }
            Tag::Cut => {
                let rest = input.rest().len();
                input.advance(rest);
                return Turn::Cut;
            }
            Tag::Text => None,
            Tag::Open(_, name) => self.opens(name, said),
            Tag::Close(_, name) => self.closes(name),
        };
        match (turn, tag) {
            (Some(Turn::On), Tag::Open(len, _) | Tag::Close(len, _)) => {
                input.advance(len);
                Turn::On
            }
            (Some(Turn::Done), Tag::Close(len, name)) if self.is_open(&name) => {
                input.advance(len);
                Turn::Done
            }
            (Some(turn), _) => {
                input.back(mark.len());
                turn
            }
            (None, _) => {
                self.put(mark, said);
                Turn::On
            }
        }
    }

    /// An opening tag within a value; none: it is text.
    fn opens(&mut self, name: &str, said: &Said<'_>) -> Option<Turn> {
        if self.is_outer(name) || name.starts_with("invoke name=") {
            return Some(Turn::Done);
        }
        let leaf = match &self.state {
            State::Tree(stack) => {
                stack.len() == 1 && stack.iter().all(|node| node.children.is_empty())
            }
            _ => true,
        };
        if leaf && self.may_follow(name, said) {
            return Some(Turn::Done);
        }
        match &mut self.state {
            State::Tree(stack) if stack.len() < DEPTH => {
                stack.push(Node::new(name.to_owned()));
                Some(Turn::On)
            }
            _ => None,
        }
    }

    /// A declared parameter that has not come yet may follow a value that holds no elements.
    fn may_follow(&self, name: &str, said: &Said<'_>) -> bool {
        let Some(tool) = said.calls.tools.get(&self.name) else { return false };
        let root = &tool.parameters;
        let holds = match &self.state {
            State::Tree(stack) => {
                let kind = stack.first().and_then(|node| property(root, root, &node.name));
                let kind = kind.map_or_else(Type::any, |schema| Type::of(root, schema));
                kind.object || kind.array
            }
            _ => false,
        };
        !holds && !self.seen.contains(name) && declares(root, root, name)
    }

    /// A closing tag within a value; none: it is text.
    fn closes(&mut self, name: &str) -> Option<Turn> {
        if let State::Tree(stack) = &mut self.state {
            let at = stack.iter().rposition(|node| node.name == name);
            if let Some(at) = at.filter(|at| *at > 0) {
                fold(stack, at);
                return Some(Turn::On);
            }
        }
        (self.is_open(name) || self.is_outer(name) || name == "invoke").then_some(Turn::Done)
    }

    /// True of the parameter's own name.
    fn is_open(&self, name: &str) -> bool {
        match &self.state {
            State::Text(key) => key == name,
            State::Tree(stack) => stack.first().is_some_and(|node| node.name == name),
            _ => false,
        }
    }

    /// True of the name of the tags around calls.
    fn is_outer(&self, name: &str) -> bool {
        let inside = |tag: &'static str| tag.strip_prefix('<')?.strip_suffix('>');
        self.shape.open.iter().any(|tag| inside(tag) == Some(name))
    }

    fn put(&mut self, text: &str, said: &mut Said<'_>) {
        match &mut self.state {
            State::Tree(stack) => {
                if let Some(node) = stack.last_mut() {
                    node.text.push_str(text);
                }
            }
            _ => {
                self.scratch.clear();
                escape(text, &mut self.scratch);
                said.arguments(&self.scratch);
            }
        }
    }

    /// The value is whole, or (`open`) the output was cut off in it.
    fn finish(&mut self, open: bool, said: &mut Said<'_>) {
        self.scratch.clear();
        match std::mem::replace(&mut self.state, State::Body) {
            State::Tree(mut stack) => {
                fold(&mut stack, 1);
                let tool = said.calls.tools.get(&self.name);
                let root = tool.map_or(&Value::Null, |tool| &tool.parameters);
                if let Some(node) = stack.first() {
                    let on = Page { root, item: self.shape.item };
                    node.write(on, property(root, root, &node.name), open, &mut self.scratch);
                }
            }
            _ if open => {}
            _ => self.scratch.push('"'),
        }
        said.arguments(&self.scratch);
    }

    fn say_begin(&mut self, input: &mut Input, said: &mut Said<'_>) {
        if !self.begun {
            self.begun = true;
            input.unmark();
            said.begin(&self.name, None);
        }
    }

    /// The call ends as it stands, if it has begun.
    fn stop(&mut self, said: &mut Said<'_>) -> Step {
        if !self.begun {
            return Step::Text;
        }
        if !self.seen.is_empty() {
            said.arguments("}");
        }
        said.end();
        Step::Ended { closed: false }
    }
}

/// Closes the elements from `at` on: each becomes a child of the one around it.
fn fold(stack: &mut Vec<Node>, at: usize) {
    while stack.len() > at.max(1) {
        if let (Some(node), Some(parent)) = (stack.pop(), stack.last_mut()) {
            parent.children.push(node);
        }
    }
}
