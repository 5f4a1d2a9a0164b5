//! A Python literal, turned into JSON as it comes: strings, numbers of any size, `True`, `False`, `None` (and JSON's
//! words), lists, tuples and dictionaries, nested. Anything else is no literal.

use super::scalar::scalar;
use super::text::{Fed, Text};

/// How deep containers may nest.
const DEPTH: usize = 128;

/// A literal that is being read.
#[derive(Debug, Default)]
pub(super) struct Literal {
    step: Step,
    open: Vec<Open>,
    text: Text,
    /// The number or word being read.
    word: String,
    /// JSON that has not been taken yet.
    out: String,
    /// Open tuples: one without a comma is only a value in parentheses, so that nothing of it can be said before
    /// it ends.
    tuples: u32,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Before a value, or before the end of a container.
    #[default]
    Value,
    Word,
    Text,
    /// Behind a value.
    After,
}

#[derive(Debug)]
struct Open {
    kind: Kind,
    items: u32,
    commas: u32,
    /// Where a tuple's bracket stands in what has not been said.
    at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    List,
    Tuple,
    /// A dictionary before or in a key.
    Key,
    /// A dictionary before or in a value.
    Entry,
}

/// How far a literal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// More belongs to it.
    Goes,
    /// It has ended.
    Done,
    /// It is no literal.
    Broken,
}

impl Literal {
    /// True where markers are text of a string.
    pub(super) fn in_string(&self) -> bool {
        self.step == Step::Text && self.text.is_inside()
    }

    /// True while it may still turn out to be no literal: a number or a word that has not ended, or nothing yet.
    pub(super) fn is_open_word(&self) -> bool {
        self.open.is_empty() && matches!(self.step, Step::Word | Step::Value)
    }

    /// The number or word that has come and has not ended, or is none.
    pub(super) fn word(&self) -> &str {
        &self.word
    }

    /// JSON that may be said now, up to the first open tuple; call [`said`](Self::said) when it was.
    pub(super) fn ready(&self) -> &str {
        &self.out[..self.settled()]
    }

    pub(super) fn said(&mut self) {
        let len = self.settled();
        self.out.drain(..len);
        for open in &mut self.open {
            open.at = open.at.saturating_sub(len);
        }
    }

    fn settled(&self) -> usize {
        let tuple = self.open.iter().find(|open| self.tuples > 0 && open.kind == Kind::Tuple);
        tuple.map_or(self.out.len(), |open| open.at)
    }

    /// Reads from the start of `text`: how many bytes were read, and how far the literal is. What ends a literal is
    /// not read, nor what `stops` outside of strings, but at the start.
    pub(super) fn feed(&mut self, text: &str, stops: impl Fn(char) -> bool) -> (usize, State) {
        let mut at = 0;
        while at < text.len() {
            if self.step == Step::Text {
                at += self.text.run(&text[at..], &mut self.out);
            }
            let Some(c) = text[at..].chars().next() else { break };
            if at > 0 && stops(c) && !self.in_string() {
                break;
            }
            let (read, state) = self.character(c);
            if read {
                at += c.len_utf8();
            }
            if state != State::Goes {
                return (at, state);
            }
        }
        (at, State::Goes)
    }

    /// The output has ended: a string whose quote has come is whole, of a number or a word nothing is known.
    pub(super) fn cut(&mut self) {
        if self.step == Step::Text && self.text.finish(&mut self.out) {
            self.end_text();
        }
    }

    /// Nothing more belongs to it.
    pub(super) fn finish(&mut self) -> State {
        let whole = match self.step {
            Step::Word => self.end_word(),
            Step::Text => {
                let whole = self.text.finish(&mut self.out);
                if whole {
                    self.end_text();
                }
                whole
            }
            Step::Value => false,
            Step::After => true,
        };
        if whole && self.open.is_empty() { State::Done } else { State::Broken }
    }

    /// Reads `c`, if it belongs to the literal.
    fn character(&mut self, c: char) -> (bool, State) {
        match self.step {
            Step::Value => (true, self.value(c)),
            Step::Word if is_word(c) => {
                self.word.push(c);
                (true, State::Goes)
            }
            Step::Word if matches!(c, '\'' | '"') => match prefix(&self.word) {
                Some(raw) => {
                    self.word.clear();
                    self.start_text(c, raw);
                    (true, State::Goes)
                }
                None => (false, State::Broken),
            },
            Step::Word => (false, if self.end_word() { self.reached() } else { State::Broken }),
            Step::Text => match self.text.feed(c, &mut self.out) {
                Fed::Goes => (true, State::Goes),
                Fed::Ended => {
                    self.end_text();
                    (false, self.reached())
                }
            },
            Step::After => self.after(c),
        }
    }

    fn reached(&self) -> State {
        if self.open.is_empty() { State::Done } else { State::Goes }
    }

    fn value(&mut self, c: char) -> State {
        let kind = self.open.last().map(|open| open.kind);
        match (c, kind) {
            (' ' | '\t' | '\r' | '\n', _) => {}
            (']', Some(Kind::List)) | (')', Some(Kind::Tuple)) | ('}', Some(Kind::Key)) => {
                self.close();
                return self.reached();
            }
            ('[' | '(' | '{', Some(Kind::Key)) => return State::Broken,
            ('[', _) => return self.push(Kind::List, '['),
            ('(', _) => return self.push(Kind::Tuple, '['),
            ('{', _) => return self.push(Kind::Key, '{'),
            ('\'' | '"', _) => self.start_text(c, false),
            _ if is_word(c) => {
                self.step = Step::Word;
                self.word.push(c);
            }
            _ => return State::Broken,
        }
        State::Goes
    }

    fn after(&mut self, c: char) -> (bool, State) {
        let Some(open) = self.open.last_mut() else { return (false, State::Done) };
        match (c, open.kind) {
            (' ' | '\t' | '\r' | '\n', _) => {}
            (',', Kind::List | Kind::Tuple) => {
                open.commas += 1;
                self.step = Step::Value;
            }
            (':', Kind::Key) => {
                open.kind = Kind::Entry;
                self.out.push_str(": ");
                self.step = Step::Value;
            }
            (',', Kind::Entry) => {
                open.kind = Kind::Key;
                self.step = Step::Value;
            }
            (']', Kind::List) | (')', Kind::Tuple) | ('}', Kind::Entry) => {
                self.close();
                return (true, self.reached());
            }
            _ => return (false, State::Broken),
        }
        (true, State::Goes)
    }

    /// A value begins: says the comma before it.
    fn item(&mut self) {
        if let Some(open) = self.open.last_mut().filter(|open| open.kind != Kind::Entry) {
            if open.items > 0 {
                self.out.push_str(", ");
            }
            open.items += 1;
        }
    }

    fn push(&mut self, kind: Kind, bracket: char) -> State {
        if self.open.len() == DEPTH {
            return State::Broken;
        }
        self.item();
        let at = self.out.len();
        self.out.push(bracket);
        self.tuples += u32::from(kind == Kind::Tuple);
        self.open.push(Open { kind, items: 0, commas: 0, at });
        State::Goes
    }

    fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        self.step = Step::After;
        match open.kind {
            Kind::Key | Kind::Entry => self.out.push('}'),
            Kind::List => self.out.push(']'),
            Kind::Tuple => {
                self.tuples -= 1;
                if open.items == 1 && open.commas == 0 {
                    // Only parentheses: white space stands in the bracket's place.
                    self.out.replace_range(open.at..=open.at, " ");
                } else {
                    self.out.push(']');
                }
            }
        }
    }

    fn start_text(&mut self, quote: char, raw: bool) {
        self.item();
        self.out.push('"');
        self.text = Text::open(quote, raw);
        self.step = Step::Text;
    }

    fn end_text(&mut self) {
        self.out.push('"');
        self.step = Step::After;
    }

    /// Says the word as JSON; false when it is none.
    fn end_word(&mut self) -> bool {
        let Some(json) = scalar(&self.word) else { return false };
        self.word.clear();
        self.item();
        let key = self.open.last().is_some_and(|open| open.kind == Kind::Key);
        if key {
            self.out.push('"');
        }
        self.out.push_str(&json);
        if key {
            self.out.push('"');
        }
        self.step = Step::After;
        true
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-')
}

/// Whether `word` is a string's prefix, and if so whether the string is raw.
fn prefix(word: &str) -> Option<bool> {
    let letters = |c: char| matches!(c, 'r' | 'R' | 'b' | 'B' | 'u' | 'U' | 'f' | 'F');
    (word.len() <= 2 && word.chars().all(letters)).then(|| word.contains(['r', 'R']))
}

#[cfg(test)]
#[path = "literal_tests.rs"]
mod tests;
