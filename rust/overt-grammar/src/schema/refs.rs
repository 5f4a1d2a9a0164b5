//! References within a schema.

use std::collections::{HashMap, VecDeque};

use serde_json::{Value, json};

use super::{Place, Walker};
use crate::source::Refused;

/// The targets of references that were met: each becomes one definition.
#[derive(Default)]
pub(super) struct Refs {
    names: HashMap<String, String>,
    waiting: VecDeque<(String, String)>,
}

impl Refs {
    /// The next definition to be written: its name, and the JSON pointer of its schema.
    pub(super) fn next(&mut self) -> Option<(String, String)> {
        self.waiting.pop_front()
    }

    fn name(&mut self, pointer: String) -> String {
        if let Some(name) = self.names.get(&pointer) {
            return name.clone();
        }
        let name = format!("d{}", self.names.len());
        self.waiting.push_back((name.clone(), pointer.clone()));
        self.names.insert(pointer, name.clone());
        name
    }
}

impl Walker<'_> {
    /// What a `$ref` becomes.
    pub(super) fn reference(&mut self, value: &Value, here: &Place) -> Result<Value, Refused> {
        let Some(reference) = value.as_str() else { return here.refuse("must be a text") };
        let Some(pointer) = pointer(self.root, reference) else {
            return here.refuse(format!(
                "{reference} is not within the schema; only references into it are followed (\"#\", \"#/$defs/name\", \
                 \"#anchor\", or the $id of a schema in it)"
            ));
        };
        Ok(json!(format!("#/$defs/{}", self.refs.name(pointer))))
    }
}

/// The JSON pointer that a reference stands for, if there is something at it.
pub(super) fn pointer(root: &Value, reference: &str) -> Option<String> {
    let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let base = if base.is_empty() { String::new() } else { found(root, &["$id", "id"], base)? };
    let rest = match decoded(fragment) {
        empty if empty.is_empty() => String::new(),
        path if path.starts_with('/') => path,
        anchor => {
            let within = root.pointer(&base)?;
            found(within, &["$anchor", "$dynamicAnchor"], &anchor)?
        }
    };
    let pointer = format!("{base}{rest}");
    root.pointer(&pointer).is_some().then_some(pointer)
}

/// The pointer of the schema in which one of these keywords has this value.
fn found(value: &Value, keywords: &[&str], wanted: &str) -> Option<String> {
    match value {
        Value::Object(map) => {
            let named = |keyword: &&str| {
                map.get(*keyword)
                    .and_then(Value::as_str)
                    .is_some_and(|text| text.trim_end_matches('#') == wanted)
            };
            if keywords.iter().any(named) {
                return Some(String::new());
            }
            map.iter().find_map(|(key, inner)| {
                let step = key.replace('~', "~0").replace('/', "~1");
                found(inner, keywords, wanted).map(|rest| format!("/{step}{rest}"))
            })
        }
        Value::Array(items) => items.iter().enumerate().find_map(|(at, inner)| {
            found(inner, keywords, wanted).map(|rest| format!("/{at}{rest}"))
        }),
        _ => None,
    }
}

/// Percent escapes of a fragment, undone; a broken one is left as it is.
fn decoded(fragment: &str) -> String {
    let bytes = fragment.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if bytes[at] == b'%' => {
                out.push(byte);
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| fragment.to_owned())
}
