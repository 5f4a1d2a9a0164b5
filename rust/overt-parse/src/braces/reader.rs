//! Reads calls in braces.

use super::Shape;
use crate::core::input::{Found, Input};
use crate::core::typed;
use crate::format::{Reader, Reading, Said};

/// A name or key longer than this, in bytes, is none.
const LONGEST: usize = 1024;

/// Reads the calls of one choice.
#[derive(Debug)]
pub(super) struct Braces {
    pub(super) shape: Shape,
    /// Openers, closers, quotes and hidden markers.
    pub(super) marks: Vec<&'static str>,
    pub(super) step: Step,
    pub(super) name: String,
    /// The key being read.
    pub(super) key: String,
    /// The key of the arguments whose value is being read.
    pub(super) argument: String,
    /// What stands bare.
    pub(super) word: String,
    /// Behind a backslash in a JSON string.
    pub(super) escape: bool,
    pub(super) open: Vec<Open>,
    /// JSON that has not been said.
    pub(super) out: String,
    pub(super) begun: bool,
    /// Only white space has come since the last call.
    pub(super) settled: bool,
    /// The closing marker of a call has not come.
    pub(super) owed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Outside of calls.
    Prose,
    Name,
    /// Behind the name.
    Named,
    /// Before a key.
    Key,
    /// In a bare key.
    BareKey,
    /// In a key between the family's quotes.
    QuotedKey,
    /// In a key between JSON's.
    JsonKey,
    /// Behind a quoted key.
    Colon,
    /// Before a value.
    Value,
    Word,
    /// In a string between the family's quotes.
    Text,
    /// In one between JSON's.
    Json,
    /// Behind a value.
    After,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub(super) list: bool,
    pub(super) items: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Open,
    Close,
    Quote,
    Hidden,
}

impl Braces {
    pub(super) fn new(shape: Shape, options: &Reading) -> Self {
        Self {
            shape,
            marks: [shape.open, shape.close, shape.quote, options.hidden].concat(),
            step: Step::Prose,
            name: String::new(),
            key: String::new(),
            argument: String::new(),
            word: String::new(),
            escape: false,
            open: Vec::new(),
            out: String::new(),
            begun: false,
            settled: false,
            owed: false,
        }
    }

    fn mark(&self, index: usize) -> Mark {
        let shape = &self.shape;
        let ends = [shape.open.len(), shape.close.len(), shape.quote.len()];
        match index {
            _ if index < ends[0] => Mark::Open,
            _ if index < ends[0] + ends[1] => Mark::Close,
            _ if index < ends[0] + ends[1] + ends[2] => Mark::Quote,
            _ => Mark::Hidden,
        }
    }

    /// Reads text.
    fn text(&mut self, len: usize, special: bool, input: &mut Input, said: &mut Said<'_>) {
        if self.step == Step::Prose {
            let text = input.take(len);
            self.settled &= special || text.trim().is_empty();
            return said.text(text, special);
        }
        // Of a marker that was cut off nothing can be said.
        if special || (self.begun && input.ends_within(&self.marks)) {
            return input.advance(len);
        }
        let (run, _) = input.run();
        let text = &run[..len];
        let mut at = 0;
        let mut fits = true;
        while at < len && fits && !self.has_closed() {
            let rest = &text[at..];
            let c = rest.chars().next().unwrap_or_default();
            let read = match self.step {
                Step::Text => {
                    typed::escape(rest, &mut self.out);
                    Some(rest.len())
                }
                Step::QuotedKey => {
                    self.key.push_str(rest);
                    Some(rest.len())
                }
                Step::Json => Some(self.json(rest)),
                Step::JsonKey => self.json_key(c),
                _ => self.character(c, said),
            };
            fits = read.is_some() && self.key.len() <= LONGEST && self.name.len() <= LONGEST;
            at += read.unwrap_or(0);
        }
        input.advance(at);
        self.say(input, said);
        if !fits {
            self.fail(input, said);
        } else if self.has_closed() {
            self.end(input, said);
        }
    }

    /// The arguments' brace has closed.
    fn has_closed(&self) -> bool {
        self.open.is_empty() && self.step == Step::After
    }

    /// Says what has become JSON; the call begins with its first value or its end.
    fn say(&mut self, input: &mut Input, said: &mut Said<'_>) {
        let first =
            matches!(self.step, Step::Text | Step::Json | Step::After) || self.open.len() > 1;
        if !self.begun && first {
            input.unmark();
            said.begin(&self.name, None);
            self.begun = true;
            self.owed = true;
        }
        if self.begun {
            said.arguments(&self.out);
            self.out.clear();
        }
    }

    fn end(&mut self, input: &mut Input, said: &mut Said<'_>) {
        self.say(input, said);
        said.end();
        self.leave();
    }

    fn leave(&mut self) {
        self.step = Step::Prose;
        self.settled = self.begun;
        self.begun = false;
        self.name.clear();
        self.key.clear();
        self.open.clear();
        self.out.clear();
    }

    /// Ends a call whose brackets have not all come.
    fn close_all(&mut self, input: &mut Input, said: &mut Said<'_>) {
        if self.step == Step::Word {
            self.end_word(said);
        }
        let list = self.open.last().is_some_and(|open| open.list);
        if self.step == Step::Value && !list {
            self.out.push_str("null");
        }
        while !self.open.is_empty() {
            self.close();
        }
        self.end(input, said);
    }

    /// What comes next has no place here.
    fn fail(&mut self, input: &mut Input, said: &mut Said<'_>) {
        if self.begun {
            // A key without a value has been read already.
            let key = match self.step {
                Step::BareKey | Step::QuotedKey | Step::JsonKey => std::mem::take(&mut self.key),
                _ => String::new(),
            };
            self.close_all(input, said);
            return said.text(&key, false);
        }
        said.give_up(input);
        self.leave();
    }

    /// A marker has been read.
    fn marker(&mut self, index: usize, input: &mut Input, said: &mut Said<'_>) {
        let (mark, text) = (self.mark(index), self.marks[index]);
        match (self.step, mark) {
            (Step::Prose, Mark::Open) => {
                input.mark(text.len());
                self.owed = false;
                self.step = Step::Name;
            }
            (Step::Prose, Mark::Close) if self.settled || self.owed => {
                self.owed = false;
                said.prose.closed();
            }
            (Step::Prose, Mark::Hidden) => said.prose.closed(),
            (Step::Prose, _) => {
                input.mark(text.len());
                said.give_up(input);
                self.settled = false;
            }
            (Step::Name, Mark::Open) if self.name.is_empty() => {}
            (Step::Key, Mark::Quote) => {
                self.key.clear();
                self.step = Step::QuotedKey;
            }
            (Step::QuotedKey, Mark::Quote) => self.step = Step::Colon,
            (Step::Value, Mark::Quote) => {
                self.item("\"");
                self.step = Step::Text;
                self.say(input, said);
            }
            (Step::Text, Mark::Quote) => {
                self.out.push('"');
                self.step = Step::After;
                self.say(input, said);
            }
            (Step::Text | Step::Json, _) => {
                if self.step == Step::Text {
                    typed::escape(text, &mut self.out);
                } else {
                    self.json(text);
                }
                self.say(input, said);
            }
            (Step::QuotedKey | Step::JsonKey, _) => self.key.push_str(text),
            (Step::Name | Step::Named, _) | (_, Mark::Quote | Mark::Hidden) => {
                input.back(text.len());
                self.fail(input, said);
            }
            (_, Mark::Close) => {
                self.close_all(input, said);
                self.owed = false;
            }
            (_, Mark::Open) => {
                input.back(text.len());
                self.fail(input, said);
            }
        }
    }
}

impl Reader for Braces {
    fn read(&mut self, input: &mut Input, said: &mut Said<'_>) {
        loop {
            match input.next(&self.marks) {
                Found::Text { len, special } => self.text(len, special, input, said),
                Found::Marker(index) => self.marker(index, input, said),
                Found::More => {
                    if input.has_ended() && self.step != Step::Prose {
                        self.cut(input, said);
                    }
                    return;
                }
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.step == Step::Prose
    }
}

impl Braces {
    /// The output has ended within a call: one that has begun ends as it stands.
    fn cut(&mut self, input: &mut Input, said: &mut Said<'_>) {
        said.give_up(input);
        said.end();
        self.leave();
    }
}
