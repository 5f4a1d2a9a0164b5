//! Calls of a declared region whose content is plain JSON: they are read as they come.

use super::delimiter::{Delimiter, Match};
use crate::core::input::Input;
use crate::core::value::{Place, Value};
use crate::format::Said;
use crate::json::Keys;
use crate::json::object::{Fate, Object};

/// One region's calls.
#[derive(Debug)]
pub(super) struct Stream {
    kind: Kind,
    /// A call has begun, so that the region is no text.
    begun: bool,
    /// The JSON has ended: the region's closing is looked for.
    over: bool,
    /// It is not what was declared: the region is text.
    failed: bool,
}

#[derive(Debug)]
enum Kind {
    /// Objects of name and arguments, maybe in a list.
    Objects { keys: Keys, object: Option<Box<Object>>, list: bool },
    /// The arguments of a call whose name is known.
    Arguments { name: String, value: Option<Value> },
}

impl Stream {
    pub(super) fn objects(keys: Keys) -> Self {
        Self::new(Kind::Objects { keys, object: None, list: false })
    }

    pub(super) fn arguments(name: String) -> Self {
        Self::new(Kind::Arguments { name, value: None })
    }

    fn new(kind: Kind) -> Self {
        Self { kind, begun: false, over: false, failed: false }
    }

    /// True while it reads what comes.
    pub(super) fn goes_on(&self) -> bool {
        !self.over && !self.failed
    }

    /// True when it turned out to be text.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// True once a call has begun: what is left of the region is no part of what was declared.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Reads what can be told apart now; false when nothing can.
    pub(super) fn read(
        &mut self,
        close: Option<&Delimiter>,
        input: &mut Input,
        said: &mut Said<'_>,
    ) -> bool {
        let (run, special) = input.run();
        if run.is_empty() {
            return false;
        }
        if special {
            if close.is_some_and(|close| may_close(close, run)) {
                self.over = true;
            } else {
                let length = run.len();
                input.advance(length);
            }
            return true;
        }
        let read = match &mut self.kind {
            Kind::Objects { keys, object: None, list } => {
                // A list opens once, and is over where it closes.
                let blank = match run.as_bytes().first() {
                    Some(b'[') if !*list => {
                        *list = true;
                        1
                    }
                    Some(b']') if *list => {
                        self.over = true;
                        1
                    }
                    Some(b',') => 1,
                    _ => run.len() - run.trim_start().len(),
                };
                if blank == 0 && run.starts_with('{') {
                    if self.begun {
                        input.mark(0);
                    }
                    let object = Some(Box::new(Object::new(*keys, false)));
                    self.kind = Kind::Objects { keys: *keys, object, list: *list };
                    return true;
                }
                self.over |= blank == 0;
                blank
            }
            Kind::Objects { object: slot @ Some(_), .. } => {
                let Some(object) = slot else { return false };
                let (read, outcome) = object.read(run, said);
                self.begun |= object.has_begun();
                let begun = object.has_begun();
                match outcome {
                    Fate::Goes | Fate::Called => {}
                    Fate::Ended => *slot = None,
                    Fate::Broken if self.begun => {
                        said.end();
                        self.over = true;
                    }
                    Fate::Broken => self.failed = true,
                }
                input.advance(read);
                if begun {
                    input.unmark();
                }
                0
            }
            Kind::Arguments { name, value: None } => {
                let blank = run.len() - run.trim_start().len();
                if blank == 0 && run.starts_with('{') {
                    said.begin(name, None);
                    input.unmark();
                    self.begun = true;
                    self.kind =
                        Kind::Arguments { name: String::new(), value: Some(Value::default()) };
                    return true;
                }
                self.over |= blank == 0;
                blank
            }
            Kind::Arguments { value: Some(value), .. } => {
                let (mut end, mut place) = (0, Place::Inside);
                for byte in run.bytes() {
                    place = value.step(byte);
                    end += usize::from(matches!(place, Place::Inside | Place::Last));
                    if place != Place::Inside {
                        break;
                    }
                }
                said.arguments(&run[..end]);
                if place != Place::Inside {
                    self.over = true;
                    said.end();
                }
                end
            }
        };
        input.advance(read);
        true
    }

    /// The region has ended; false when it was text. A call that has begun is ended as it stands.
    pub(super) fn leave(self, input: &mut Input, said: &mut Said<'_>) -> bool {
        match self.kind {
            Kind::Arguments { name, value: None } => {
                input.unmark();
                said.begin(&name, None);
            }
            Kind::Objects { object: None, list: true, .. } if self.over => input.unmark(),
            _ if !self.begun => return false,
            _ => said.give_up(input),
        }
        said.end();
        true
    }
}

/// True when a special token closes the region, or begins what does.
fn may_close(close: &Delimiter, token: &str) -> bool {
    let mut found = Match::new(close);
    for byte in token.bytes() {
        if !found.is_alive() {
            break;
        }
        found.step(close, byte);
    }
    found.is_alive() || found.found.is_some()
}
