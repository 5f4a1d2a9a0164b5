//! Numbers that come to an end.
//!
//! JSON sets no bound on the digits of a number, and a weak model may write them until its tokens are spent. Where a
//! schema sets none either, numbers keep to what every reader of JSON holds exactly (RFC 7493, section 2.2), with a few
//! digits behind the point, and integers to 64 bits. Values of which a schema says nothing are spelled out, to be held to the same.
//!
//! llguidance intersects schemas that apply to one value, in 32 bits; where it would, numbers are left as they are.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::Object;
use crate::source::Numbers;

/// The definition of any value; definitions that stand for references are called `d0`, `d1`, ….
const ANY: &str = "any";

/// Keywords whose schemas apply to the value itself, or that fix it.
const FIXED: [&str; 6] = ["$ref", "allOf", "anyOf", "enum", "const", "not"];

/// Those that are intersected with what stands beside them.
const BESIDE: [&str; 4] = ["$ref", "anyOf", "enum", "const"];

/// Bounds the numbers of a prepared schema and of what it refers to.
pub(super) fn bounded(root: &mut Value, defs: &mut Object) {
    let mut narrowed = HashSet::new();
    reach(root, false, defs, &mut narrowed);
    for schema in defs.values() {
        reach(schema, false, defs, &mut narrowed);
    }
    let mut asks = false;
    bound(root, false, &mut asks);
    for (name, schema) in defs.iter_mut() {
        bound(schema, narrowed.contains(name), &mut asks);
    }
    if asks {
        let mut any = json!({"type": ["null", "boolean", "number", "string", "array", "object"]});
        bound(&mut any, false, &mut asks);
        defs.insert(ANY.to_owned(), any);
    }
}

/// Whether other keywords beside this schema's references, alternatives and values apply to the same value.
fn narrows(map: &Object) -> bool {
    let many = |parts: &Value| map.len() > 1 || parts.as_array().is_none_or(|list| list.len() > 1);
    map.get("allOf").is_some_and(many)
        || (map.len() > 1 && BESIDE.iter().any(|keyword| map.contains_key(*keyword)))
        || (map.contains_key("properties") && map.contains_key("patternProperties"))
}

/// The names of definitions that are intersected with something.
fn reach(schema: &Value, narrowed: bool, defs: &Object, names: &mut HashSet<String>) {
    let Value::Object(map) = schema else { return };
    let narrowed = narrowed || narrows(map);
    if narrowed
        && let Some(reference) = map.get("$ref").and_then(Value::as_str)
        && let Some((name, target)) = defs.get_key_value(reference.trim_start_matches("#/$defs/"))
        && names.insert(name.clone())
    {
        reach(target, true, defs, names);
    }
    for (keyword, value) in map {
        for part in parts(keyword, value) {
            reach(part, narrowed, defs, names);
        }
    }
}

fn parts<'v>(keyword: &str, value: &'v Value) -> Vec<&'v Value> {
    match (keyword, value) {
        ("allOf" | "anyOf" | "prefixItems", Value::Array(parts)) => parts.iter().collect(),
        ("properties" | "patternProperties", Value::Object(parts)) => parts.values().collect(),
        ("items" | "additionalProperties", part) => vec![part],
        _ => Vec::new(),
    }
}

fn parts_mut<'v>(keyword: &str, value: &'v mut Value) -> Vec<&'v mut Value> {
    match (keyword, value) {
        ("allOf" | "anyOf" | "prefixItems", Value::Array(parts)) => parts.iter_mut().collect(),
        ("properties" | "patternProperties", Value::Object(parts)) => parts.values_mut().collect(),
        ("items" | "additionalProperties", part) => vec![part],
        _ => Vec::new(),
    }
}

fn bound(schema: &mut Value, narrowed: bool, asks: &mut bool) {
    let unsaid = match schema {
        Value::Bool(allowed) => *allowed,
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    if unsaid && !narrowed {
        *asks = true;
        *schema = json!({"$ref": format!("#/$defs/{ANY}")});
        return;
    }
    let Value::Object(map) = schema else { return };
    let narrowed = narrowed || narrows(map);
    if !narrowed && !FIXED.iter().any(|keyword| map.contains_key(*keyword)) {
        let types = types(map);
        let has = |name: &str| types.iter().any(|kind| kind == name);
        if has("array") && !map.contains_key("items") {
            map.insert("items".to_owned(), json!(true));
        }
        if has("object") && !map.contains_key("additionalProperties") {
            map.insert("additionalProperties".to_owned(), json!(true));
        }
        if has("number") || has("integer") {
            numbers(map, has("number"));
        }
    }
    for (keyword, value) in map.iter_mut() {
        for part in parts_mut(keyword, value) {
            bound(part, narrowed, asks);
        }
    }
}

fn types(map: &Map<String, Value>) -> Vec<String> {
    match map.get("type") {
        Some(Value::Array(types)) => {
            types.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(Value::String(one)) => vec![one.clone()],
        _ => Vec::new(),
    }
}

/// Adds the bounds that a schema leaves out, as far as they exclude nothing that it names.
fn numbers(map: &mut Object, fractions: bool) {
    let largest = if fractions { Numbers::LARGEST } else { Numbers::INTEGER };
    let most = largest as f64;
    let said = |keywords: [&str; 2]| {
        keywords.iter().find_map(|keyword| map.get(*keyword)).and_then(Value::as_f64)
    };
    let low = said(["minimum", "exclusiveMinimum"]);
    let high = said(["maximum", "exclusiveMaximum"]);
    if fractions && !map.contains_key("multipleOf") {
        let step = 10_f64.powi(-i32::from(Numbers::FRACTION));
        // A bound of more digits, or a range of fewer steps, has its own spelling.
        let coarse =
            |bound: f64| bound.abs() >= most || fraction_digits(bound) <= Numbers::FRACTION;
        let wide = match (low, high) {
            (Some(low), Some(high)) => high - low > 2.0 * step,
            _ => true,
        };
        if wide && low.into_iter().chain(high).all(coarse) {
            map.insert("multipleOf".to_owned(), json!(step));
        }
    }
    if low.is_none() && high.is_none_or(|high| high > -most) {
        map.insert("minimum".to_owned(), json!(-largest));
    }
    if high.is_none() && low.is_none_or(|low| low < most) {
        map.insert("maximum".to_owned(), json!(largest));
    }
}

/// Digits behind the point of the shortest decimal that reads as this number.
fn fraction_digits(number: f64) -> u8 {
    let text = number.to_string();
    let digits = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    u8::try_from(digits).unwrap_or(u8::MAX)
}
