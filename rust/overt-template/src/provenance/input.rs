//! The variables of a render with their text marked.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Object, Value};
use serde_json::{Map, Value as Json};

use super::taint::Taint;
use super::value::{item_of, list, map, of, tree};
use super::{Origin, Part};
use crate::render::{REASONING, RenderInput};

/// A part of the input that is marked as a whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Unit {
    Message(usize),
    Tool(usize),
    Document(usize),
    Kwarg(String),
    SpecialToken(String),
}

/// The units of an input.
pub(crate) fn units(messages: &[Json], input: &RenderInput) -> Vec<Unit> {
    let count = |list: &Option<Json>| match list {
        Some(Json::Array(items)) => items.len(),
        Some(_) => 1,
        None => 0,
    };
    let tokens = input.special_tokens.keys().filter(|name| !input.kwargs.contains_key(*name));
    let messages = (0..messages.len()).map(Unit::Message);
    messages
        .chain((0..count(&input.tools)).map(Unit::Tool))
        .chain((0..count(&input.documents)).map(Unit::Document))
        .chain(input.kwargs.keys().cloned().map(Unit::Kwarg))
        .chain(tokens.cloned().map(Unit::SpecialToken))
        .collect()
}

/// The variables `plain` of a render with the text of `units` marked.
pub(crate) fn mark(
    taint: &Arc<Taint>,
    units: &[Unit],
    messages: &[Json],
    input: &RenderInput,
    plain: &[(&str, Value)],
) -> Vec<(String, Value)> {
    let units: HashSet<&Unit> = units.iter().collect();
    let is_marked = |unit: Unit| units.contains(&unit);
    let marked = |name: &str, plain: &Value| match name {
        "messages" => {
            let items = messages.iter().enumerate().map(|(index, message)| {
                let plain = item_of(plain, index);
                match message {
                    Json::Object(object) if is_marked(Unit::Message(index)) => {
                        self::message(taint, index, object, &plain)
                    }
                    _ => plain,
                }
            });
            list(plain.clone(), items.collect(), None)
        }
        "tools" => each(taint, input.tools.as_ref(), plain, |index| {
            is_marked(Unit::Tool(index)).then_some(Origin::Tool { index })
        }),
        "documents" => each(taint, input.documents.as_ref(), plain, |index| {
            is_marked(Unit::Document(index)).then_some(Origin::Document { index })
        }),
        _ => {
            let owned = || name.to_owned();
            let (json, unit, origin) =
                match (input.kwargs.get(name), input.special_tokens.get(name)) {
                    (Some(json), _) => {
                        (json, Unit::Kwarg(owned()), Origin::Kwarg { name: owned() })
                    }
                    (None, Some(json)) => {
                        (json, Unit::SpecialToken(owned()), Origin::SpecialToken { name: owned() })
                    }
                    (None, None) => return plain.clone(),
                };
            match is_marked(unit) {
                true => tree(taint, json, plain, taint.tag(origin)),
                false => plain.clone(),
            }
        }
    };
    plain.iter().map(|(name, value)| ((*name).to_owned(), marked(name, value))).collect()
}

/// A list of which each item has an origin, or none.
fn each(
    taint: &Arc<Taint>,
    json: Option<&Json>,
    plain: &Value,
    origin: impl Fn(usize) -> Option<Origin>,
) -> Value {
    let item = |index: usize, json: &Json, plain: Value| match origin(index) {
        Some(origin) => tree(taint, json, &plain, taint.tag(origin)),
        None => plain,
    };
    match json {
        Some(Json::Array(items)) => {
            let items = items.iter().enumerate();
            let items = items.map(|(index, json)| item(index, json, item_of(plain, index)));
            list(plain.clone(), items.collect(), None)
        }
        Some(json) => item(0, json, plain.clone()),
        None => plain.clone(),
    }
}

fn message(taint: &Arc<Taint>, index: usize, object: &Map<String, Json>, plain: &Value) -> Value {
    let tag = |part: Part| taint.tag(Origin::Message { index, part });
    let mut entries = Vec::with_capacity(object.len());
    for (key, json) in object {
        let own = tag(part(key));
        let plain = of(plain, key);
        let value = match json {
            Json::Array(calls) if key == "tool_calls" => {
                let calls = calls.iter().enumerate().map(|(call, json)| {
                    tree(taint, json, &item_of(&plain, call), tag(Part::ToolCall { index: call }))
                });
                list(plain.clone(), calls.collect(), Some(own))
            }
            _ => tree(taint, json, &plain, own),
        };
        entries.push((key.as_str(), own, value));
    }
    map(taint, plain.clone(), entries, tag(Part::Other(String::new())))
}

/// What of a message a key names.
pub(crate) fn part(key: &str) -> Part {
    match key {
        "role" => Part::Role,
        "content" => Part::Content,
        "tool_call_id" => Part::ToolCallId,
        "name" => Part::Name,
        _ if REASONING.contains(&key) => Part::Reasoning,
        _ => Part::Other(key.to_owned()),
    }
}

/// Variables that remember which of them were looked up.
#[derive(Debug)]
pub(crate) struct Context {
    variables: HashMap<String, Value>,
    used: Mutex<BTreeSet<String>>,
}

impl Context {
    pub(crate) fn new(variables: impl Iterator<Item = (String, Value)>) -> Arc<Self> {
        Arc::new(Self { variables: variables.collect(), used: Mutex::default() })
    }

    /// The names looked up so far that there are.
    pub(crate) fn used(&self) -> BTreeSet<String> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Object for Context {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, name: &str) -> Option<Value> {
        let value = self.variables.get(name)?.clone();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if !used.contains(name) {
            used.insert(name.to_owned());
        }
        Some(value)
    }
}
