//! Reads one JSON object that is a call, `{"name": …, "arguments": …}`, or several, `{NAME: ARGUMENTS, …}`.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::core::value::{Place, Value};
use crate::format::Said;
use crate::leak;

/// What the keys of a call's object are called.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Keys {
    /// Keys of the function's name.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) name: &'static [&'static str],
    /// Keys of its arguments.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) arguments: &'static [&'static str],
    /// Keys of the call's id; it counts where it stands before the arguments.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) id: &'static [&'static str],
    /// The object has no such keys: a key is a function's name, its value the arguments.
    pub(crate) mapped: bool,
}

impl Keys {
    /// As nearly all families have them.
    pub(crate) const USUAL: Self =
        Self { name: &["name"], arguments: &["arguments", "parameters"], id: &[], mapped: false };
}

impl Default for Keys {
    fn default() -> Self {
        Self::USUAL
    }
}

/// Keys that a call may have besides: any other shows that an object which nothing announced is no call.
const HARMLESS: &[&str] = &["id", "type"];

/// What became of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It goes on.
    Goes,
    /// A call of a mapped object has ended; the object goes on.
    Called,
    /// It ended with the last byte that was read, and its call with it.
    Ended,
    /// The next byte has no place here. A call that had begun is ended as it stands.
    Broken,
}

/// Reads an object from its brace on and says its calls.
#[derive(Debug)]
pub(crate) struct Object {
    keys: Keys,
    /// Only a declared tool's name makes it a call.
    declared: bool,
    step: Step,
    /// The string being read: a key, the name or the id, quotes included.
    token: String,
    escape: bool,
    key: Key,
    name: Option<String>,
    /// The name is not the object's own, which counts if it comes before the arguments.
    given: bool,
    id: Option<String>,
    value: Value,
    /// Arguments that came before the name, or a number or word that has not ended yet.
    held: String,
    /// The key of the arguments has come.
    has_key: bool,
    /// Arguments other than null have come.
    has_arguments: bool,
    begun: bool,
    /// A call has ended.
    called: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Before the object.
    Start,
    /// Before a key or the end of the object.
    Key {
        first: bool,
    },
    InKey,
    /// Before the colon.
    Colon,
    /// Before a value.
    Value,
    /// In the name or the id.
    InText,
    InValue,
    /// Behind a value.
    Next,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Name,
    Id,
    Arguments,
    Other,
}

impl Object {
    /// `declared`: nothing announced the object, so only a declared tool's name and arguments make it a call.
    pub(crate) fn new(keys: Keys, declared: bool) -> Self {
        Self {
            keys,
            declared,
            step: Step::Start,
            token: String::new(),
            escape: false,
            key: Key::Other,
            name: None,
            given: false,
            id: None,
            value: Value::default(),
            held: String::new(),
            has_key: false,
            has_arguments: false,
            begun: false,
            called: false,
        }
    }

    /// Of a call whose name is known, unless the object has one itself.
    pub(crate) fn named(keys: Keys, name: Option<String>) -> Self {
        Self { given: name.is_some(), name, ..Self::new(keys, false) }
    }

    /// True once a call has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun || self.called
    }

    /// True within a string, where markers are text.
    pub(crate) fn in_string(&self) -> bool {
        match self.step {
            Step::InKey | Step::InText => true,
            Step::InValue => self.value.in_string(),
            _ => false,
        }
    }

    /// Reads as much of `text` as belongs to the object; answers how many bytes, and what became of it.
    pub(crate) fn read(&mut self, text: &str, said: &mut Said<'_>) -> (usize, Fate) {
        let mut at = 0;
        while at < text.len() {
            let (read, fate) = match self.step {
                Step::InKey | Step::InText => self.in_token(&text[at..], said),
                Step::InValue => self.in_value(&text[at..], said),
                _ => self.between(text.as_bytes()[at], said),
            };
            at += read;
            if fate != Fate::Goes {
                if fate == Fate::Broken {
                    self.stop(said);
                }
                return (at, fate);
            }
        }
        (at, Fate::Goes)
    }

    /// No more of the object comes: a call that has begun ends as it stands.
    pub(crate) fn stop(&mut self, said: &mut Said<'_>) {
        if std::mem::take(&mut self.begun) {
            self.called = true;
            said.end();
        }
    }

    /// Reads one byte outside of keys and values.
    fn between(&mut self, byte: u8, said: &mut Said<'_>) -> (usize, Fate) {
        self.step = match (self.step, byte) {
            (_, b' ' | b'\t' | b'\r' | b'\n') => self.step,
            (Step::Start, b'{') => Step::Key { first: true },
            (Step::Key { .. }, b'"') => self.start_token(Step::InKey),
            (Step::Key { first: true } | Step::Next, b'}') => return (1, self.ended(said)),
            (Step::Colon, b':') => Step::Value,
            (Step::Value, b'"') if matches!(self.key, Key::Name | Key::Id) => {
                self.start_token(Step::InText)
            }
            (Step::Value, b'n' | b'{') if self.key == Key::Arguments => return self.start_value(),
            // What nothing announced, and what stands for a name, has an object as arguments.
            (Step::Value, _) if self.key == Key::Arguments && self.wants_object() => {
                return (0, Fate::Broken);
            }
            (Step::Value, _) if self.key != Key::Name => return self.start_value(),
            (Step::Next, b',') => Step::Key { first: false },
            _ => return (0, Fate::Broken),
        };
        (1, Fate::Goes)
    }

    fn wants_object(&self) -> bool {
        self.declared || self.keys.mapped
    }

    fn start_token(&mut self, step: Step) -> Step {
        self.token.clear();
        self.token.push('"');
        self.escape = false;
        step
    }

    fn start_value(&mut self) -> (usize, Fate) {
        self.value = Value::default();
        self.step = Step::InValue;
        (0, Fate::Goes)
    }

    fn in_token(&mut self, text: &str, said: &Said<'_>) -> (usize, Fate) {
        let mut end = None;
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if self.escape => self.escape = false,
                b'\\' => self.escape = true,
                b'"' => {
                    end = Some(at + 1);
                    break;
                }
                _ => {}
            }
        }
        let read = end.unwrap_or(text.len());
        self.token.push_str(&text[..read]);
        if end.is_none() {
            return (read, Fate::Goes);
        }
        match serde_json::from_str::<String>(&self.token) {
            Ok(token) => (read, self.token_read(token, said)),
            Err(_) => (read, Fate::Broken),
        }
    }

    fn token_read(&mut self, token: String, said: &Said<'_>) -> Fate {
        if self.step == Step::InKey {
            return self.key_read(token, said);
        }
        self.step = Step::Next;
        if self.key == Key::Id {
            self.id = Some(token).filter(|id| !id.is_empty());
            return Fate::Goes;
        }
        self.name_read(token, said)
    }

    fn name_read(&mut self, name: String, said: &Said<'_>) -> Fate {
        if name.is_empty() || (self.declared && said.calls.tools.get(&name).is_none()) {
            return Fate::Broken;
        }
        self.name = Some(name);
        self.given = false;
        Fate::Goes
    }

    fn key_read(&mut self, key: String, said: &Said<'_>) -> Fate {
        self.step = Step::Colon;
        if self.keys.mapped {
            self.key = Key::Arguments;
            self.has_key = true;
            return self.name_read(key, said);
        }
        let is = |keys: &[&str]| keys.contains(&key.as_str());
        // Of a key that comes twice the first counts: it may have been said already.
        let unnamed = self.name.is_none() || (self.given && !self.begun);
        self.key = if is(self.keys.name) && unnamed {
            Key::Name
        } else if is(self.keys.arguments) && !self.has_arguments {
            self.has_key = true;
            Key::Arguments
        } else if is(self.keys.id) && self.id.is_none() {
            Key::Id
        } else if self.declared && !self.begun && !is(HARMLESS) {
            return Fate::Broken;
        } else {
            Key::Other
        };
        Fate::Goes
    }

    fn in_value(&mut self, text: &str, said: &mut Said<'_>) -> (usize, Fate) {
        let (read, place) = self.value.read(text.as_bytes());
        if self.key == Key::Arguments && read > 0 {
            self.has_arguments = true;
            if self.begun {
                said.arguments(&text[..read]);
            } else {
                self.held.push_str(&text[..read]);
                // A number or a word is not said before it has ended: it may be null. A string may hold an object.
                if self.value.is_container() {
                    self.begin(said);
                }
            }
        }
        let fate = match place {
            Place::Inside => Fate::Goes,
            Place::Last | Place::Behind => self.value_read(said),
            Place::Invalid => Fate::Broken,
        };
        (read, fate)
    }

    fn value_read(&mut self, said: &mut Said<'_>) -> Fate {
        self.step = Step::Next;
        if self.key != Key::Arguments {
            return Fate::Goes;
        }
        if !self.begun
            && let Ok(inner) = serde_json::from_str::<String>(&self.held)
            && serde_json::from_str::<HashMap<String, IgnoredAny>>(&inner).is_ok()
        {
            self.held = inner;
        }
        if self.value.is_scalar() && !self.begun && self.held == "null" {
            self.held.clear();
            self.has_arguments = false;
        } else if self.value.is_scalar() && self.wants_object() {
            return Fate::Broken;
        }
        if !self.keys.mapped {
            return Fate::Goes;
        }
        self.begin_anyway(said);
        self.end(said);
        Fate::Called
    }

    /// The call begins once its name is known and its arguments have begun.
    fn begin(&mut self, said: &mut Said<'_>) {
        if self.name.is_some() && self.has_arguments {
            self.begin_anyway(said);
        }
    }

    fn begin_anyway(&mut self, said: &mut Said<'_>) {
        if !self.begun {
            said.begin(self.name.as_deref().unwrap_or_default(), self.id.as_deref());
            said.arguments(&self.held);
            self.held = String::new();
            self.begun = true;
        }
    }

    fn end(&mut self, said: &mut Said<'_>) {
        said.end();
        self.called = true;
        self.begun = false;
        self.name = None;
        self.has_arguments = false;
    }

    fn ended(&mut self, said: &mut Said<'_>) -> Fate {
        if self.keys.mapped {
            return if self.called { Fate::Ended } else { Fate::Broken };
        }
        if self.name.is_none() || (self.declared && !self.has_key) {
            return Fate::Broken;
        }
        self.begin_anyway(said);
        self.end(said);
        Fate::Ended
    }
}
