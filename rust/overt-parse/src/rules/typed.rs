//! What may stand as a value that is written without quotes: the grammar's side of typed values.

use std::collections::BTreeMap;

use overt_rule::Rule;
use serde_json::{Map, Value, json};

use crate::core::typed::{Type, legal, reference, resolve};

/// A value of `schema`, whose references point into `root`: text without `ends` where it is a string, else JSON.
pub(crate) fn value(root: &Value, schema: &Value, ends: &[&str]) -> Rule {
    let kind = Type::of(root, schema);
    let schema = resolve(root, schema);
    match texts(&kind) {
        Some(texts) => {
            let texts = texts.iter().map(|text| Rule::text(text.as_str()));
            Rule::Any(texts.chain(json(root, schema, &kind)).collect())
        }
        // Whatever else it may be is text as well.
        None if kind.string => string(schema, ends),
        None => Rule::Json(standalone(root, schema)),
    }
}

/// The strings of a type that allows no others.
pub(crate) fn texts(kind: &Type) -> Option<&[String]> {
    (kind.string && !kind.free && !kind.texts.is_empty()).then_some(kind.texts.as_slice())
}

/// What `schema`, of type `kind`, allows beside strings; none where it allows strings alone.
pub(crate) fn json(root: &Value, schema: &Value, kind: &Type) -> Option<Rule> {
    let schema = resolve(root, schema);
    if !kind.string {
        return Some(Rule::Json(standalone(root, schema)));
    }
    if let Some(values) = legal(schema) {
        let rest: Vec<Value> =
            values.into_iter().filter(|value| !value.is_string()).cloned().collect();
        return (!rest.is_empty()).then(|| Rule::Json(json!({ "enum": rest })));
    }
    let names = [
        (kind.integer, "integer"),
        (kind.number, "number"),
        (kind.boolean, "boolean"),
        (kind.null, "null"),
        (kind.object, "object"),
        (kind.array, "array"),
    ];
    let names: Vec<&str> =
        names.into_iter().filter(|(allowed, _)| *allowed).map(|(_, name)| name).collect();
    (!names.is_empty()).then(|| Rule::Json(json!({ "type": names })))
}

/// Text without `ends` of the length and pattern that `schema` asks for.
pub(crate) fn string(schema: &Value, ends: &[&str]) -> Rule {
    let mut rule = Rule::until(ends.iter().copied());
    // A bound beyond any answer says nothing.
    let bound = |key| schema.get(key).and_then(Value::as_u64).filter(|n| *n <= 1 << 20);
    let count = |key| bound(key).and_then(|n| u32::try_from(n).ok());
    let (min, max) = (count("minLength"), count("maxLength"));
    if min.is_some_and(|min| min > 0) || max.is_some() {
        let any = Rule::pattern("(?s:.)");
        rule = rule.both(any.many(min.unwrap_or(0), max));
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        rule = rule.both(Rule::pattern(whole(pattern)));
    }
    rule
}

/// JSON Schema looks for a pattern anywhere in the text, a grammar's pattern is the whole text.
fn whole(pattern: &str) -> String {
    let branch = |branch: &str| {
        let (before, rest) = match branch.strip_prefix('^') {
            Some(rest) => ("", rest),
            None => ("(?s:.*)", branch),
        };
        let escapes = |text: &str| text.len() - text.trim_end_matches('\\').len();
        let (rest, after) = match rest.strip_suffix('$') {
            Some(rest) if escapes(rest) % 2 == 0 => (rest, ""),
            _ => (rest, "(?s:.*)"),
        };
        format!("{before}(?:{rest}){after}")
    };
    branches(pattern).into_iter().map(branch).collect::<Vec<_>>().join("|")
}

/// The alternatives of a regular expression outside of its groups and classes.
fn branches(pattern: &str) -> Vec<&str> {
    let (mut found, mut from) = (Vec::new(), 0);
    let (mut depth, mut class, mut escaped) = (0_u32, false, false);
    for (at, byte) in pattern.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b']' => class = false,
            _ if class => {}
            b'[' => class = true,
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b'|' if depth == 0 => {
                found.push(&pattern[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(&pattern[from..]);
    found
}

/// `schema` with all that its references lead to under its own `$defs`.
pub(crate) fn standalone(root: &Value, schema: &Value) -> Value {
    let mut names = BTreeMap::new();
    let mut waiting = Vec::new();
    let mut copy = rename(schema, &mut names, &mut waiting);
    let mut definitions = Map::new();
    while let Some((pointer, name)) = waiting.pop() {
        // A reference to nothing allows anything.
        let target = reference(root, &json!({ "$ref": pointer }));
        let target = target.map_or(Value::Bool(true), |t| rename(t, &mut names, &mut waiting));
        definitions.insert(name, target);
    }
    if let (Value::Object(copy), false) = (&mut copy, definitions.is_empty()) {
        copy.insert("$defs".to_owned(), Value::Object(definitions));
    }
    copy
}

/// A copy of `schema` whose references go to `$defs` by new names; those met first are added to `waiting`.
fn rename(
    schema: &Value,
    names: &mut BTreeMap<String, String>,
    waiting: &mut Vec<(String, String)>,
) -> Value {
    match schema {
        Value::Object(members) => {
            let mut copy = Map::new();
            for (key, member) in members {
                let member = match member {
                    Value::String(pointer) if key == "$ref" && pointer.starts_with('#') => {
                        let next = names.len();
                        let name = names.entry(pointer.clone()).or_insert_with(|| {
                            let name = format!("r{}", next + 1);
                            waiting.push((pointer.clone(), name.clone()));
                            name
                        });
                        Value::String(format!("#/$defs/{name}"))
                    }
                    _ if key == "$defs" || key == "definitions" => continue,
                    _ => rename(member, names, waiting),
                };
                copy.insert(key.clone(), member);
            }
            Value::Object(copy)
        }
        Value::Array(members) => {
            Value::Array(members.iter().map(|member| rename(member, names, waiting)).collect())
        }
        other => other.clone(),
    }
}

/// `text` as rules: those of `tokens` that stand in it are special tokens where the vocabulary has them.
pub(crate) fn spell(text: &str, tokens: &[&str]) -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let next = tokens.iter().filter_map(|token| Some((rest.find(token)?, *token)));
        match next.min_by_key(|(at, token)| (*at, usize::MAX - token.len())) {
            Some((at, token)) => {
                if at > 0 {
                    rules.push(Rule::text(&rest[..at]));
                }
                rules.push(Rule::marker(token));
                rest = &rest[at + token.len()..];
            }
            None => {
                rules.push(Rule::text(rest));
                break;
            }
        }
    }
    rules
}

#[cfg(test)]
#[path = "typed_tests.rs"]
mod tests;
