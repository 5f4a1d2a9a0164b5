//! Calls written as frames within frames: `<|open|>call tool="N"<|sep|>`, in it
//! `<|open|>argument key="K" type="string"<|sep|>V<|close|>argument<|sep|>` or one `json` frame with all arguments.
//!
//! - An argument is of the type that its frame says, or else of the schema's; a text of another type is a text.
//! - A call begins with its first argument, or ends without any.
//! - A frame of another kind, or the end of one, ends a call that was not closed.

use super::Elements as Words;
use super::header::{attribute, tag};
use super::typed::{Fields, Value};
use crate::core::typed::Type;
use crate::format::Said;

/// The call that is open.
#[derive(Debug, Default)]
pub(super) struct Elements {
    /// Its name, while it has not begun.
    waiting: Option<String>,
    name: String,
    fields: Fields,
}

/// What a header opens.
#[derive(Debug)]
pub(super) enum Opened {
    /// No frame of calls.
    Other,
    /// A call: frames of arguments follow.
    Call,
    /// A value.
    Value(Value),
    /// All arguments as an object.
    Object,
}

impl Elements {
    /// A frame with this header opens.
    pub(super) fn open(&mut self, words: &Words, header: &str, said: &mut Said<'_>) -> Opened {
        let inside = self.waiting.is_some() || said.calls.is_open();
        match tag(header) {
            word if word == words.call => {
                self.end(said);
                self.waiting = attribute(header, words.name).filter(|name| !name.is_empty());
                if let Some(name) = &self.waiting {
                    self.name.clone_from(name);
                }
                Opened::Call
            }
            word if word == words.parameter && inside => {
                let Some(key) = attribute(header, words.key) else { return Opened::Other };
                self.begin(said);
                self.fields.key(&key, said);
                let kind = match attribute(header, words.kind) {
                    Some(kind) => named(&kind),
                    None => Type::of_parameter(&said.calls.tools, &self.name, &key),
                };
                Opened::Value(Value::new(kind, said))
            }
            word if word == words.object && self.waiting.is_some() => Opened::Object,
            _ => {
                self.end(said);
                Opened::Other
            }
        }
    }

    /// The name of a call that has not begun, which now does.
    pub(super) fn take_name(&mut self) -> Option<String> {
        self.waiting.take()
    }

    /// A frame of this name was closed.
    pub(super) fn close(&mut self, words: &Words, name: &str, said: &mut Said<'_>) {
        if name != words.parameter && name != words.object {
            self.end(said);
        }
    }

    fn begin(&mut self, said: &mut Said<'_>) {
        if let Some(name) = self.waiting.take() {
            said.begin(&name, None);
        }
    }

    fn end(&mut self, said: &mut Said<'_>) {
        self.begin(said);
        if said.calls.is_open() {
            self.fields.close(said);
        }
        self.fields = Fields::default();
        said.end();
    }

    /// The output has ended: a call of which no argument has come has not begun.
    pub(super) fn finish(&mut self) {
        *self = Self::default();
    }
}

/// The type of this name; anything where it is unknown.
fn named(kind: &str) -> Type {
    let none = Type::default();
    match kind {
        "string" => Type { string: true, ..none },
        "integer" | "number" => Type { integer: true, number: true, ..none },
        "boolean" => Type { boolean: true, ..none },
        "null" => Type { null: true, ..none },
        "object" => Type { object: true, ..none },
        "array" => Type { array: true, ..none },
        _ => Type::any(),
    }
}
