//! Whether a schema has a finite value at all, or always requires another of itself.

use std::collections::HashSet;

use serde_json::Value;

use super::Object;

/// Whether something finite satisfies the root. Only recursion is looked at: contradictions are found by compiling.
pub(super) fn has_value(root: &Value, defs: &Object) -> bool {
    // A definition has a value once all that it requires has one: repeat until nothing is gained.
    let mut have: HashSet<&str> = HashSet::new();
    loop {
        let gained: Vec<&str> = defs
            .iter()
            .filter(|(name, schema)| !have.contains(name.as_str()) && holds(schema, &have))
            .map(|(name, _)| name.as_str())
            .collect();
        if gained.is_empty() {
            return holds(root, &have);
        }
        have.extend(gained);
    }
}

fn holds(schema: &Value, have: &HashSet<&str>) -> bool {
    let Value::Object(map) = schema else { return true };
    let listed = |keyword: &str| map.get(keyword).and_then(Value::as_array);
    if let Some(name) = map.get("$ref").and_then(Value::as_str)
        && !have.contains(name.trim_start_matches("#/$defs/"))
    {
        return false;
    }
    if listed("anyOf").is_some_and(|options| !options.iter().any(|option| holds(option, have))) {
        return false;
    }
    if listed("allOf").is_some_and(|parts| !parts.iter().all(|part| holds(part, have))) {
        return false;
    }
    match map.get("type").and_then(Value::as_str) {
        Some("object") => {
            let property = |name: &str| {
                let named = map.get("properties").and_then(|properties| properties.get(name));
                named.or_else(|| map.get("additionalProperties"))
            };
            listed("required").is_none_or(|names| {
                names
                    .iter()
                    .filter_map(Value::as_str)
                    .all(|name| property(name).is_none_or(|schema| holds(schema, have)))
            })
        }
        Some("array") => {
            let fewest = map.get("minItems").and_then(Value::as_u64).unwrap_or(0);
            let prefix = listed("prefixItems").map(Vec::as_slice).unwrap_or_default();
            let fewest = usize::try_from(fewest).unwrap_or(usize::MAX);
            prefix.iter().take(fewest).all(|item| holds(item, have))
                && (prefix.len() >= fewest
                    || map.get("items").is_none_or(|items| holds(items, have)))
        }
        _ => true,
    }
}
