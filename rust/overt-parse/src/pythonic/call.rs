//! One call written as Python's: its arguments become JSON as they come.

use std::collections::HashSet;

use super::literal::Literal;
use crate::core::typed;
use crate::format::Said;

/// The call being read.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) word: String,
    pub(super) key: String,
    pub(super) keys: HashSet<String>,
    /// How many arguments without keys have come.
    pub(super) positions: usize,
    pub(super) literal: Literal,
    pub(super) begun: bool,
    /// A value has been said.
    pub(super) said: bool,
    /// The value's key has been said.
    pub(super) keyed: bool,
    /// The key has come before: its first value counts.
    pub(super) mute: bool,
}

impl Call {
    /// A value begins whose key has been read.
    pub(super) fn start_value(&mut self) {
        self.literal = Literal::default();
        self.keyed = false;
        self.mute = !self.keys.insert(self.key.clone());
    }

    /// Says what has become JSON of the value.
    pub(super) fn say(&mut self, said: &mut Said<'_>) {
        let json = self.literal.ready();
        if json.is_empty() {
            return;
        }
        if !self.begun {
            said.begin(&self.name, None);
            self.begun = true;
        }
        if !self.mute {
            if !self.keyed {
                let mut head = if self.said { ", " } else { "{" }.to_owned();
                typed::quote(&self.key, &mut head);
                head.push_str(": ");
                said.arguments(&head);
                self.said = true;
                self.keyed = true;
            }
            said.arguments(json);
        }
        self.literal.said();
    }
}

/// The schema's property number `index` of tool `name`.
pub(super) fn position(said: &Said<'_>, name: &str, index: usize) -> Option<String> {
    let properties = said.calls.tools.get(name)?.parameters.get("properties")?.as_object()?;
    properties.keys().nth(index).cloned()
}
