//! One call written as pairs: its arguments become JSON as they come.

use std::collections::HashSet;

use crate::core::input::Input;
use crate::core::typed::{self, Type};
use crate::format::Said;

/// The call being read.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) name: String,
    /// Blanks other than line feeds stand around the name.
    pub(super) spaced: bool,
    pub(super) key: String,
    /// Keys whose values have been said.
    keys: HashSet<String>,
    pub(super) kind: String,
    pub(super) begun: bool,
    value: Value,
    /// The text of a value that is said when it has ended.
    pub(super) held: String,
    /// A closing tag and what has come since.
    pub(super) after: String,
}

#[derive(Debug, Default)]
enum Value {
    /// Said as it comes.
    #[default]
    Text,
    /// Said when it has ended.
    Typed(Type),
    /// Not said: its key has come before.
    Mute,
}

impl Call {
    /// True when a value has been said.
    pub(super) fn has_values(&self) -> bool {
        !self.keys.is_empty()
    }

    /// A value begins, and with the first one the call.
    pub(super) fn open(&mut self, input: &mut Input, said: &mut Said<'_>) {
        self.begin(input, said);
        let key = self.key.trim();
        self.held.clear();
        self.after.clear();
        if self.keys.contains(key) {
            self.value = Value::Mute;
            return;
        }
        let mut kind = Type::of_parameter(&said.calls.tools, &self.name, key);
        narrow(&mut kind, self.kind.trim());
        let text = kind.is_text();
        let mut head = if self.keys.is_empty() { "{" } else { ", " }.to_owned();
        typed::quote(key, &mut head);
        head.push_str(if text { ": \"" } else { ": " });
        said.arguments(&head);
        self.value = if text { Value::Text } else { Value::Typed(kind) };
        self.keys.insert(key.to_owned());
    }

    /// The call begins, if it has not.
    pub(super) fn begin(&mut self, input: &mut Input, said: &mut Said<'_>) {
        if !self.begun {
            input.unmark();
            said.begin(&self.name, None);
            self.begun = true;
        }
    }

    /// More text of the value.
    pub(super) fn more(&mut self, text: &str, said: &mut Said<'_>) {
        match self.value {
            Value::Text => {
                let mut json = String::with_capacity(text.len());
                typed::escape(text, &mut json);
                said.arguments(&json);
            }
            Value::Typed(_) => self.held.push_str(text),
            Value::Mute => {}
        }
    }

    /// The value has ended.
    pub(super) fn close(&mut self, said: &mut Said<'_>) {
        match &self.value {
            Value::Text => said.arguments("\""),
            Value::Typed(kind) => {
                let mut json = String::with_capacity(self.held.len());
                kind.write(&self.held, &mut json);
                said.arguments(&json);
            }
            Value::Mute => {}
        }
    }
}

/// What the model says of a value's type counts where the schema allows it.
fn narrow(kind: &mut Type, name: &str) {
    let number = matches!(name, "integer" | "number");
    let allowed = match name {
        "string" => kind.string,
        "integer" | "number" => kind.integer || kind.number,
        "boolean" => kind.boolean,
        "null" => kind.null,
        "object" => kind.object,
        "array" => kind.array,
        _ => false,
    };
    if allowed {
        kind.string &= name == "string";
        kind.integer &= number;
        kind.number &= number;
        kind.boolean &= name == "boolean";
        kind.null &= name == "null";
        kind.object &= name == "object";
        kind.array &= name == "array";
    }
}
