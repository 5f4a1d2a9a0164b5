//! Reads calls written as Python's.

use super::Shape;
use super::call::{Call, position};
use super::echo::Echo;
use super::literal::State;
use crate::core::input::{Found, Input};
use crate::format::{Reader, Reading, Said};
use crate::json::object::{Fate, Keys, Object};

/// Reads the calls of one choice.
#[derive(Debug)]
pub(super) struct Pythonic {
    shape: Shape,
    /// Openers, closers and hidden markers; in a bare format a bracket is the last.
    marks: Vec<&'static str>,
    step: Step,
    /// The last character of the text outside of calls.
    before: char,
    /// Calls stand between markers.
    fenced: bool,
    /// The calls' bracket has come.
    listed: bool,
    /// How many calls have come since the opener.
    count: usize,
    /// Only white space has come since the last call: a closing marker is not text.
    settled: bool,
    /// A call has come behind an opening marker whose closing one has not.
    owed: bool,
    call: Call,
    object: Object,
    echo: Echo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Outside of calls.
    Prose,
    /// Before a call.
    Items,
    Name,
    /// Behind a name.
    Named,
    /// Before an argument.
    Argument,
    /// In a word: a key, or a value without one.
    Word,
    /// Behind a word.
    Worded,
    Value,
    /// Behind a value.
    Next,
    /// Behind the list's last bracket.
    Listed,
    /// In a JSON object.
    Object,
    /// Behind the calls, where they may stand once more.
    Echo,
}

impl Pythonic {
    pub(super) fn new(shape: Shape, options: &Reading) -> Self {
        let mut marks = [shape.open, shape.close, options.hidden].concat();
        if shape.bare {
            marks.push("[");
        }
        Self {
            shape,
            marks,
            step: Step::Prose,
            before: '\n',
            fenced: false,
            listed: false,
            count: 0,
            settled: false,
            owed: false,
            call: Call::default(),
            object: Object::new(Keys::USUAL, false),
            echo: Echo::default(),
        }
    }

    /// The markers but the bracket.
    fn tags(&self) -> &[&'static str] {
        &self.marks[..self.marks.len() - usize::from(self.shape.bare)]
    }

    fn is_open(&self, mark: usize) -> bool {
        mark < self.shape.open.len()
    }

    fn is_close(&self, mark: usize) -> bool {
        !self.is_open(mark) && mark < self.shape.open.len() + self.shape.close.len()
    }

    /// Reads outside of calls; what it answers says whether more can be read.
    fn prose(&mut self, input: &mut Input, said: &mut Said<'_>) -> bool {
        match input.next(&self.marks) {
            Found::More => return false,
            Found::Text { len, special } => {
                let text = input.take(len);
                if !special {
                    self.settled &= text.trim().is_empty();
                    self.before = text.chars().next_back().unwrap_or(self.before);
                }
                said.text(text, special);
            }
            Found::Marker(mark) => {
                let len = self.marks[mark].len();
                let bracket = mark == self.tags().len();
                if self.is_open(mark) || (bracket && may_precede_list(self.before)) {
                    input.mark(len);
                    self.fenced = !bracket;
                    self.listed = bracket;
                    self.count = 0;
                    self.echo = Echo::default();
                    self.step = Step::Items;
                } else if !bracket && (self.settled || self.owed || !self.is_close(mark)) {
                    self.owed &= !self.is_close(mark);
                    said.prose.closed();
                } else {
                    input.mark(len);
                    said.give_up(input);
                    self.before = self.marks[mark].chars().next_back().unwrap_or_default();
                }
            }
        }
        true
    }

    /// Reads within calls.
    fn calls(&mut self, input: &mut Input, said: &mut Said<'_>) -> bool {
        let (run, special) = input.run();
        let Some(first) = run.chars().next() else {
            if input.has_ended() {
                self.cut(input, said);
            }
            return false;
        };
        let inside = self.in_string();
        let tag = self.tags().iter().any(|tag| tag.starts_with(first));
        if special && (inside || !tag) && !self.tags().contains(&run) {
            let len = run.len();
            input.advance(len);
            return true;
        }
        if !inside && tag {
            match input.next(self.tags()) {
                Found::More => return false,
                Found::Marker(mark) => {
                    self.tag(mark, input, said);
                    return true;
                }
                Found::Text { len, special: true } => {
                    input.advance(len);
                    return true;
                }
                // Of a marker that was cut off nothing can be said.
                Found::Text { len, .. }
                    if said.calls.is_open() && input.ends_within(self.tags()) =>
                {
                    input.advance(len);
                    return true;
                }
                Found::Text { .. } => {}
            }
        }
        let before = said.calls.count();
        let (run, _) = input.run();
        let (read, fits) = match self.step {
            Step::Value => self.value(run, said),
            Step::Object => self.object(run, said),
            _ => {
                let read = self.character(first, said);
                (read.unwrap_or(0), read.is_some())
            }
        };
        if self.shape.echo {
            self.echo.text.push_str(&run[..read]);
        }
        input.advance(read);
        if said.calls.count() > before {
            input.unmark();
            self.owed |= self.fenced;
        }
        match self.step {
            _ if !fits => self.fail(input, said),
            Step::Items if self.call.begun => self.end(input, said),
            // What comes between the bracket and a closing marker is text if none comes.
            Step::Listed if first == ']' => input.mark(0),
            _ => {}
        }
        if self.step == Step::Listed && !self.fenced {
            input.unmark();
            self.leave();
        }
        true
    }

    fn in_string(&self) -> bool {
        match self.step {
            Step::Value => self.call.literal.in_string(),
            Step::Object => self.object.in_string(),
            _ => false,
        }
    }

    /// Reads one character outside of values, if it has a place here; how many bytes it took.
    fn character(&mut self, c: char, said: &mut Said<'_>) -> Option<usize> {
        let call = &mut self.call;
        let blank = matches!(c, ' ' | '\t' | '\r' | '\n');
        let read = c.len_utf8();
        match self.step {
            Step::Name if is_name(c) => call.name.push(c),
            Step::Word if is_name(c) => call.word.push(c),
            Step::Name if blank => self.step = Step::Named,
            Step::Word if blank => self.step = Step::Worded,
            _ if blank => {}
            Step::Items => match c {
                ',' if self.count > 0 => {}
                '[' if self.count == 0 && !self.listed => self.listed = true,
                ']' if self.listed && self.count > 0 => self.step = Step::Listed,
                '{' if self.shape.json && self.fenced => {
                    self.object = Object::new(Keys::USUAL, false);
                    self.step = Step::Object;
                    return Some(0);
                }
                _ if c.is_alphabetic() || c == '_' => {
                    *call = Call { name: c.to_string(), ..Call::default() };
                    self.step = Step::Name;
                }
                _ => return None,
            },
            Step::Name | Step::Named => {
                let known = self.fenced || said.calls.tools.get(&call.name).is_some();
                if c != '(' || !known {
                    return None;
                }
                self.step = Step::Argument;
            }
            Step::Argument | Step::Next if c == ')' => {
                if !call.begun {
                    said.begin(&call.name, None);
                    call.begun = true;
                }
                self.step = Step::Items;
            }
            Step::Next if c == ',' => self.step = Step::Argument,
            Step::Argument if c.is_alphabetic() || c == '_' => {
                call.word.clear();
                call.word.push(c);
                self.step = Step::Word;
            }
            Step::Word | Step::Worded if c == '=' => {
                call.key = std::mem::take(&mut call.word);
                self.start_value();
            }
            Step::Argument | Step::Word | Step::Worded => {
                call.key = position(said, &call.name, call.positions)?;
                call.positions += 1;
                self.start_value();
                let word = std::mem::take(&mut self.call.word);
                self.call.literal.feed(&word, |_| false);
                return Some(0);
            }
            _ => return None,
        }
        Some(read)
    }

    fn start_value(&mut self) {
        self.call.start_value();
        self.step = Step::Value;
    }

    /// Reads more of a value; how many bytes, and whether what comes next may have a place here.
    fn value(&mut self, run: &str, said: &mut Said<'_>) -> (usize, bool) {
        let marks = &self.marks[..self.marks.len() - usize::from(self.shape.bare)];
        let stops = |c: char| marks.iter().any(|tag| tag.starts_with(c));
        let (read, state) = self.call.literal.feed(run, stops);
        if state == State::Done {
            self.step = Step::Next;
        }
        if state == State::Done || !self.call.literal.is_open_word() {
            self.call.say(said);
        }
        (read, state != State::Broken)
    }

    fn object(&mut self, run: &str, said: &mut Said<'_>) -> (usize, bool) {
        let (read, fate) = self.object.read(run, said);
        if fate == Fate::Ended {
            self.step = Step::Items;
            self.call.begun = true;
        }
        (read, fate != Fate::Broken)
    }

    /// A call has ended: what comes behind it is text if it turns out to be no call.
    fn end(&mut self, input: &mut Input, said: &mut Said<'_>) {
        if self.call.said {
            said.arguments("}");
        }
        said.end();
        self.call = Call::default();
        self.count += 1;
        input.mark(0);
    }

    /// What comes next has no place here.
    fn fail(&mut self, input: &mut Input, said: &mut Said<'_>) {
        if said.calls.is_open() {
            if matches!(self.step, Step::Argument | Step::Word | Step::Worded | Step::Next) {
                said.arguments("}");
            }
            said.end();
            // A word that is no value has been read already.
            let word =
                if self.step == Step::Value { self.call.literal.word() } else { &self.call.word };
            said.text(word, false);
        } else {
            said.give_up(input);
        }
        self.leave();
    }

    /// Only what sets calls apart has come since the last one.
    fn is_between(&self) -> bool {
        self.step == Step::Items && self.count > 0
    }

    fn leave(&mut self) {
        self.call = Call::default();
        self.step = Step::Prose;
        self.before = ' ';
        self.settled = self.count > 0;
    }

    /// A marker outside of strings has been read.
    fn tag(&mut self, mark: usize, input: &mut Input, said: &mut Said<'_>) {
        let len = self.marks[mark].len();
        let between = self.is_between() || self.step == Step::Listed;
        if self.is_open(mark) && self.step == Step::Items && self.count == 0 && !self.listed {
            // The opener has come twice.
            return;
        }
        if self.is_close(mark) && between {
            input.unmark();
            said.prose.closed();
            self.owed = false;
            self.leave();
            if self.shape.echo {
                self.step = Step::Echo;
            }
            return;
        }
        input.back(len);
        if self.step == Step::Value && self.call.literal.finish() == State::Done {
            let before = said.calls.count();
            self.call.say(said);
            self.step = Step::Next;
            if said.calls.count() > before {
                input.unmark();
                self.owed |= self.fenced;
            }
        }
        if between {
            input.unmark();
            self.leave();
        } else {
            self.fail(input, said);
        }
    }

    /// The output has ended within calls: one that has begun ends as it stands.
    fn cut(&mut self, input: &mut Input, said: &mut Said<'_>) {
        if said.calls.is_open() {
            if self.step == Step::Value {
                self.call.literal.cut();
                if !self.call.literal.is_open_word() {
                    self.call.say(said);
                }
            }
            said.end();
        } else if self.is_between() || self.step == Step::Listed {
            input.unmark();
        } else {
            said.give_up(input);
        }
        self.leave();
    }

    /// Reads behind calls that may come once more.
    fn again(&mut self, input: &mut Input, said: &mut Said<'_>) -> bool {
        let (open, close) = (self.shape.open.len(), self.shape.close.len());
        let tags = &self.marks[..self.marks.len() - usize::from(self.shape.bare)];
        let closes = |mark: usize| (open..open + close).contains(&mark);
        let mut over = false;
        let goes_on = self.echo.read(tags, closes, input, said, &mut over);
        if over {
            self.step = Step::Prose;
        }
        goes_on
    }
}

impl Reader for Pythonic {
    fn read(&mut self, input: &mut Input, said: &mut Said<'_>) {
        loop {
            let goes_on = match self.step {
                Step::Prose => self.prose(input, said),
                Step::Echo => self.again(input, said),
                _ => self.calls(input, said),
            };
            if !goes_on {
                return;
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.step == Step::Prose || (self.step == Step::Echo && !self.echo.has_begun())
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '-')
}

/// Whether a list of calls may begin behind `c`: elsewhere a bracket is an index, a link, or quoted.
fn may_precede_list(c: char) -> bool {
    !(c.is_alphanumeric() || matches!(c, '_' | ')' | ']' | '"' | '\'' | '`'))
}
