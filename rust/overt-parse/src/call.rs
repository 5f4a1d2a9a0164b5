//! A call written as one JSON object, `{"name": …, "arguments": …}`, read character by character.

use crate::value::{Place, Value};

/// A call from its opening marker on.
pub(crate) struct Call {
    /// All of it, to be said as text should it turn out to be no call; not kept once it has begun.
    raw: String,
    step: Step,
    /// The string being read: a key or the name, quotes included.
    token: String,
    escape: bool,
    key: Key,
    name: Option<String>,
    value: Value,
    /// Arguments that came before the name, or a number or word not ended yet.
    arguments: String,
    has_arguments: bool,
    begun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Before the object.
    Object,
    /// Before a key or the end of the object.
    Key { first: bool },
    /// In a key.
    InKey,
    /// Before the colon.
    Colon,
    /// Before a value.
    Value,
    /// In the name.
    InName,
    /// In a value.
    InValue,
    /// Behind a value.
    Next,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Name,
    Arguments,
    Other,
}

/// What a byte did to the call.
pub(crate) enum Outcome {
    Goes,
    /// The object ended with this byte.
    Ended,
    /// This byte has no place here.
    Broken,
}

impl Call {
    pub(crate) fn new(raw: String) -> Self {
        Self {
            raw,
            step: Step::Object,
            token: String::new(),
            escape: false,
            key: Key::Other,
            name: None,
            value: Value::default(),
            arguments: String::new(),
            has_arguments: false,
            begun: false,
        }
    }

    /// All of the call, marker included, while it has not begun.
    pub(crate) fn raw(&self) -> &str {
        &self.raw
    }

    /// The function's name; empty while it is not known.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// True once the call was said to begin.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// True once arguments other than null have come.
    pub(crate) fn has_arguments(&self) -> bool {
        self.has_arguments
    }

    /// The call begins: answers the arguments read so far.
    pub(crate) fn begin(&mut self) -> String {
        self.begun = true;
        self.raw = String::new();
        std::mem::take(&mut self.arguments)
    }

    /// The arguments that [`run`](Self::run) read have ended.
    pub(crate) fn arguments_ended(&mut self) {
        self.step = Step::Next;
    }

    /// True within a string, where markers are text.
    pub(crate) fn in_string(&self) -> bool {
        match self.step {
            Step::InKey | Step::InName => true,
            Step::InValue => self.value.in_string(),
            _ => false,
        }
    }

    /// True while arguments go out as they come.
    pub(crate) fn streams(&self) -> bool {
        self.begun && self.step == Step::InValue && self.key == Key::Arguments
    }

    /// True when the call can begin: its name is known, and its arguments have begun or its object `ended`.
    pub(crate) fn ready(&self, ended: bool) -> bool {
        let scalar_open =
            self.step == Step::InValue && self.key == Key::Arguments && self.value.is_scalar();
        !self.begun && self.name.is_some() && (ended || (self.has_arguments && !scalar_open))
    }

    /// Reads arguments up to their end; says how much of `bytes` they take.
    pub(crate) fn run(&mut self, bytes: &[u8]) -> (usize, Place) {
        for (at, byte) in bytes.iter().enumerate() {
            match self.value.step(*byte) {
                Place::Inside => {}
                Place::Last => return (at + 1, Place::Last),
                place => return (at, place),
            }
        }
        (bytes.len(), Place::Inside)
    }

    /// Reads one character.
    pub(crate) fn read(&mut self, text: &str) -> Outcome {
        let byte = text.as_bytes().first().copied().unwrap_or_default();
        let blank = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        let outcome = match (self.step, byte) {
            (Step::InKey | Step::InName, _) => self.in_token(text),
            (Step::InValue, _) => self.in_value(text),
            (_, _) if blank => Outcome::Goes,
            (Step::Object, b'{') => self.go(Step::Key { first: true }),
            (Step::Key { .. }, b'"') => self.start_token(Step::InKey),
            (Step::Key { first: true } | Step::Next, b'}') => self.ended(),
            (Step::Colon, b':') => self.go(Step::Value),
            (Step::Value, b'"') if self.key == Key::Name => self.start_token(Step::InName),
            (Step::Value, _) if self.key != Key::Name => {
                self.value = Value::default();
                self.step = Step::InValue;
                self.in_value(text)
            }
            (Step::Next, b',') => self.go(Step::Key { first: false }),
            _ => Outcome::Broken,
        };
        if !self.begun && !matches!(outcome, Outcome::Broken) {
            self.raw.push_str(text);
        }
        outcome
    }

    fn go(&mut self, step: Step) -> Outcome {
        self.step = step;
        Outcome::Goes
    }

    fn start_token(&mut self, step: Step) -> Outcome {
        self.token.clear();
        self.token.push('"');
        self.escape = false;
        self.go(step)
    }

    fn in_token(&mut self, text: &str) -> Outcome {
        self.token.push_str(text);
        match text {
            _ if self.escape => self.escape = false,
            "\\" => self.escape = true,
            "\"" => {
                let Ok(token) = serde_json::from_str::<String>(&self.token) else {
                    return Outcome::Broken;
                };
                return self.token_read(token);
            }
            _ => {}
        }
        Outcome::Goes
    }

    fn token_read(&mut self, token: String) -> Outcome {
        if self.step == Step::InName {
            if token.is_empty() {
                return Outcome::Broken;
            }
            self.name = Some(token);
            return self.go(Step::Next);
        }
        // Of a key that comes twice the first counts: it may have been said already.
        self.key = match token.as_str() {
            "name" if self.name.is_none() => Key::Name,
            "arguments" if !self.has_arguments => Key::Arguments,
            _ => Key::Other,
        };
        self.go(Step::Colon)
    }

    fn in_value(&mut self, text: &str) -> Outcome {
        let place = self.value.step(text.as_bytes().first().copied().unwrap_or_default());
        let keeps = self.key == Key::Arguments;
        if keeps && matches!(place, Place::Inside | Place::Last) {
            self.arguments.push_str(text);
            self.has_arguments = true;
        }
        match place {
            Place::Inside => Outcome::Goes,
            Place::Last => self.go(Step::Next),
            Place::Behind => {
                if keeps && self.arguments == "null" {
                    self.arguments.clear();
                    self.has_arguments = false;
                }
                // The byte behind a number or a word ends the value and stands for itself.
                match text {
                    "," => self.go(Step::Key { first: false }),
                    "}" => self.ended(),
                    "]" => Outcome::Broken,
                    _ => self.go(Step::Next),
                }
            }
            Place::Invalid => Outcome::Broken,
        }
    }

    fn ended(&mut self) -> Outcome {
        if self.name.is_some() { Outcome::Ended } else { Outcome::Broken }
    }
}
