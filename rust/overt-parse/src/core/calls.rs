//! The calls of one choice: their numbers, ids and events.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;

use crate::{Events, Tools};

/// How a family spells call ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ids {
    /// `call_` and 24 hexadecimal digits, as OpenAI's.
    #[default]
    Plain,
    /// Nine of `a-zA-Z0-9`: Mistral's templates refuse others.
    Nine,
    /// `functions.NAME:INDEX`: Kimi K2's template prints the id and nothing else names the function.
    Functions,
}

/// Numbers the calls of a choice and says their events.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) tools: Arc<Tools>,
    ids: Ids,
    seed: u64,
    count: u32,
    /// The ids that were said, where the model has a part in them: no two calls have the same.
    said: HashSet<String>,
    open: bool,
    has_arguments: bool,
}

impl Calls {
    pub(crate) fn new(tools: Arc<Tools>, ids: Ids, seed: u64) -> Self {
        let said = HashSet::new();
        Self { tools, ids, seed, count: 0, said, open: false, has_arguments: false }
    }

    /// How many calls have begun.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// True between a call's start and its end.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// A call begins; an open one is ended first. `id`: the model's own, where its format has one; it is not kept
    /// when another call of the answer has it.
    pub(crate) fn begin(&mut self, name: &str, id: Option<&str>, out: &mut Events) {
        self.end(out);
        let index = self.count;
        let id = match id.filter(|id| !self.said.contains(*id)) {
            Some(id) => id.to_owned(),
            None => self.id(index, name),
        };
        out.tool_start(index, &id, name);
        self.said.insert(id);
        self.count += 1;
        self.open = true;
        self.has_arguments = false;
    }

    /// More of the open call's arguments.
    pub(crate) fn arguments(&mut self, text: &str, out: &mut Events) {
        if self.open && !text.is_empty() {
            self.has_arguments = true;
            out.tool_args(self.count - 1, text);
        }
    }

    /// Ends the open call, if there is one; its arguments are `{}` when none came.
    pub(crate) fn end(&mut self, out: &mut Events) {
        if !self.open {
            return;
        }
        if !self.has_arguments {
            out.tool_args(self.count - 1, "{}");
        }
        out.tool_end(self.count - 1);
        self.open = false;
    }

    fn id(&self, index: u32, name: &str) -> String {
        let first = mix(self.seed ^ u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        match self.ids {
            Ids::Plain => {
                let second = mix(first ^ self.seed.rotate_left(32)) >> 32;
                format!("call_{first:016x}{second:08x}")
            }
            Ids::Nine => nine(first),
            Ids::Functions => {
                let mut number = index;
                loop {
                    let id = format!("functions.{name}:{number}");
                    if !self.said.contains(&id) {
                        return id;
                    }
                    number += 1;
                }
            }
        }
    }
}

/// Nine letters and digits; 62^9 is a little less than 2^54.
fn nine(mut value: u64) -> String {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut letter = || {
        let at = usize::try_from(value % 62).unwrap_or(0);
        value /= 62;
        char::from(LETTERS[at])
    };
    (0..9).map(|_| letter()).collect()
}

/// SplitMix64's finaliser: a bijection, so that ids of one parser do not repeat.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use super::{Calls, Ids};
    use crate::{Event, Events, Tools};

    #[test]
    fn ids_follow_the_family_and_never_repeat() {
        for (ids, length) in [(Ids::Plain, 29), (Ids::Nine, 9)] {
            let mut seen = HashSet::new();
            for seed in 0..50 {
                let mut calls = Calls::new(Arc::new(Tools::default()), ids, seed);
                let mut out = Events::new();
                for _ in 0..20 {
                    calls.begin("f", None, &mut out);
                }
                for event in out.iter() {
                    if let Event::ToolStart { id, .. } = event {
                        assert_eq!(id.len(), length, "{id}");
                        assert!(seen.insert(id.to_owned()));
                    }
                }
            }
            assert_eq!(seen.len(), 1000);
        }
        let mut calls = Calls::new(Arc::new(Tools::default()), Ids::Functions, 7);
        let mut out = Events::new();
        calls.begin("a.b", None, &mut out);
        calls.begin("a.b", Some("mine"), &mut out);
        calls.end(&mut out);
        let ids: Vec<String> = out
            .iter()
            .filter_map(|event| match event {
                Event::ToolStart { id, .. } => Some(id.to_owned()),
                _ => None,
            })
            .collect();
        assert_eq!(ids, ["functions.a.b:0", "mine"]);
        let mut out = Events::new();
        for id in ["mine", "functions.f:3", "functions.f:3"] {
            calls.begin("f", Some(id), &mut out);
        }
        let ids: Vec<String> = out
            .iter()
            .filter_map(|event| match event {
                Event::ToolStart { id, .. } => Some(id.to_owned()),
                _ => None,
            })
            .collect();
        assert_eq!(ids, ["functions.f:2", "functions.f:3", "functions.f:4"]);
        assert_eq!(
            out.iter().filter(|event| matches!(event, Event::ToolArgs { text: "{}", .. })).count(),
            2
        );
    }
}
