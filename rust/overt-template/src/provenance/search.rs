//! Text of an input looked up in a prompt: the last resort where marks could not be followed.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::input::{Unit, part};
use super::{Origin, Part};
use crate::render::RenderInput;

/// Shorter texts occur everywhere.
const MIN_CHARS: usize = 3;

/// Every text of an input, keys included.
pub(crate) fn texts<'a>(messages: &'a [Json], input: &'a RenderInput) -> Vec<&'a str> {
    let mut out = Vec::new();
    for json in messages.iter().chain(&input.tools).chain(&input.documents) {
        collect(json, &mut out);
    }
    for (name, json) in input.kwargs.iter().chain(&input.special_tokens) {
        out.push(name);
        collect(json, &mut out);
    }
    out
}

fn collect<'a>(json: &'a Json, out: &mut Vec<&'a str>) {
    match json {
        Json::String(text) => out.push(text),
        Json::Array(items) => items.iter().for_each(|item| collect(item, out)),
        Json::Object(object) => object.iter().for_each(|(key, value)| {
            out.push(key);
            collect(value, out);
        }),
        _ => {}
    }
}

/// Bytes that one search may go through; what it does not come to is taken for the template's.
const MAX_READ: usize = 1 << 28;

/// Finds the texts of `units` where nothing is `found` yet, one after the other, and marks them as derived.
pub(crate) fn fill(
    found: &mut [Option<(Origin, bool)>],
    rendered: &str,
    units: &[Unit],
    messages: &[Json],
    input: &RenderInput,
) {
    let (mut from, mut read) = (0, 0usize);
    for unit in units {
        // Reasoning goes by several names.
        let mut seen = HashSet::new();
        for (origin, json) in leaves(unit, messages, input) {
            let mut texts = Vec::new();
            collect(json, &mut texts);
            for text in texts.iter().map(|text| text.trim()).filter(|text| seen.insert(*text)) {
                read = read.saturating_add(rendered.len());
                if read > MAX_READ {
                    return;
                }
                if let Some((start, end)) = locate(rendered, text, from) {
                    let first = rendered[..start].chars().count();
                    let count = rendered[start..end].chars().count();
                    for place in found.iter_mut().skip(first).take(count) {
                        place.get_or_insert_with(|| (origin.clone(), true));
                    }
                    from = end;
                }
            }
        }
    }
}

/// Where `text` is in `rendered`: behind `from` if it is there, else anywhere.
fn locate(rendered: &str, text: &str, from: usize) -> Option<(usize, usize)> {
    if text.chars().count() < MIN_CHARS {
        return None;
    }
    let behind = rendered[from..].find(text).map(|at| from + at);
    let start = behind.or_else(|| rendered.find(text))?;
    Some((start, start + text.len()))
}

/// The values of a unit with their origins.
fn leaves<'a>(
    unit: &Unit,
    messages: &'a [Json],
    input: &'a RenderInput,
) -> Vec<(Origin, &'a Json)> {
    let item = |list: &'a Option<Json>, index: usize| match list {
        Some(Json::Array(items)) => items.get(index),
        other => other.as_ref(),
    };
    let one = |origin: Origin, json: Option<&'a Json>| {
        json.map(|json| (origin, json)).into_iter().collect()
    };
    match unit {
        Unit::Message(index) => {
            let object = messages.get(*index).and_then(Json::as_object).into_iter().flatten();
            object
                .filter(|(key, _)| key.as_str() != "role")
                .flat_map(|(key, json)| parts(*index, key, json))
                .collect()
        }
        Unit::Tool(index) => one(Origin::Tool { index: *index }, item(&input.tools, *index)),
        Unit::Document(index) => {
            one(Origin::Document { index: *index }, item(&input.documents, *index))
        }
        Unit::Kwarg(name) => one(Origin::Kwarg { name: name.clone() }, input.kwargs.get(name)),
        Unit::SpecialToken(name) => {
            one(Origin::SpecialToken { name: name.clone() }, input.special_tokens.get(name))
        }
    }
}

/// The values of one key of a message with their origins.
fn parts<'a>(index: usize, key: &str, json: &'a Json) -> Vec<(Origin, &'a Json)> {
    match json {
        Json::Array(calls) if key == "tool_calls" => {
            let calls = calls.iter().enumerate();
            calls
                .map(|(call, json)| {
                    (Origin::Message { index, part: Part::ToolCall { index: call } }, json)
                })
                .collect()
        }
        _ => vec![(Origin::Message { index, part: part(key) }, json)],
    }
}
