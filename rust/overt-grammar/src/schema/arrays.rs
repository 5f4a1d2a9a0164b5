//! Arrays: items, prefix, length, uniqueness of listed values.

use serde_json::{Value, json};

use super::{Object, Place, Walker, keywords};
use crate::source::Refused;

/// Listed values of which every selection is written out, so that none repeats.
const MOST_UNIQUE: usize = 8;

impl Walker<'_> {
    pub(super) fn arrays(
        &mut self,
        map: &Object,
        place: &Place,
        out: &mut Object,
        also: &mut Vec<Value>,
    ) -> Result<(), Refused> {
        let fewest = self.count(map, "minItems", place, out)?.unwrap_or(0);
        let most = self.count(map, "maxItems", place, out)?;
        if let Some(most) = most.filter(|most| *most < fewest) {
            return place
                .at("maxItems")
                .refuse(format!("{most} is below minItems, which is {fewest}"));
        }
        // Until draft 2019-09 the prefix was a list under `items`, and what follows it stood elsewhere.
        let (prefix, rest) = match map.get("items") {
            Some(items @ Value::Array(_)) => (Some(("items", items)), "additionalItems"),
            _ => (map.get("prefixItems").map(|prefix| ("prefixItems", prefix)), "items"),
        };
        if let Some((keyword, items)) = prefix {
            let items = match items {
                Value::Array(items) if items.is_empty() => Vec::new(),
                items => self.walk_list(items, &place.at(keyword))?,
            };
            out.insert("prefixItems".to_owned(), Value::Array(items));
        }
        let unevaluated = match map.get("unevaluatedItems") {
            None | Some(Value::Bool(true)) => None,
            Some(Value::Bool(false)) if !composed(map) => Some(json!(false)),
            Some(_) => {
                return place.at("unevaluatedItems").refuse(
                    "can only be enforced as false, beside no allOf, anyOf, oneOf, $ref, not or if; use items",
                );
            }
        };
        if let Some(items) = map.get(rest) {
            let items = self.walk(items, &place.at(rest))?;
            out.insert("items".to_owned(), items);
        } else if let Some(items) = unevaluated {
            out.insert("items".to_owned(), items);
        }
        match map.get("uniqueItems") {
            None | Some(Value::Bool(false)) => Ok(()),
            Some(Value::Bool(true)) if most.is_some_and(|most| most <= 1) => Ok(()),
            Some(Value::Bool(true)) => {
                let Some(selections) = selections(self.root, map, fewest, most) else {
                    return place.at("uniqueItems").refuse(format!(
                        "{}, unless items is an enum of at most {MOST_UNIQUE} values",
                        keywords::unenforceable("uniqueItems")
                    ));
                };
                also.push(selections);
                Ok(())
            }
            Some(_) => place.at("uniqueItems").refuse("must be true or false"),
        }
    }
}

/// Whether a schema has keywords that apply further schemas to the same value.
pub(super) fn composed(map: &Object) -> bool {
    [
        "allOf",
        "anyOf",
        "oneOf",
        "$ref",
        "not",
        "if",
        "dependentSchemas",
        "dependencies",
        "$dynamicRef",
    ]
    .iter()
    .any(|keyword| map.contains_key(*keyword))
}

/// Every selection of the listed values, in the order of the list.
fn selections(root: &Value, map: &Object, fewest: u64, most: Option<u64>) -> Option<Value> {
    if map.contains_key("prefixItems") {
        return None;
    }
    let items = map.get("items")?;
    let items = match items.get("$ref").and_then(Value::as_str) {
        Some(reference) => root.pointer(&super::refs::pointer(root, reference)?)?,
        None => items,
    };
    let listed = match items.get("enum") {
        Some(Value::Array(values)) => values.clone(),
        _ => vec![items.get("const")?.clone()],
    };
    let mut values: Vec<Value> = Vec::new();
    for value in listed {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    if values.len() > MOST_UNIQUE {
        return None;
    }
    let mut options = Vec::new();
    for chosen in 0..1_u32 << values.len() {
        let count = u64::from(chosen.count_ones());
        if count < fewest || most.is_some_and(|most| count > most) {
            continue;
        }
        let picked: Vec<Value> = (0..values.len())
            .filter(|at| chosen >> at & 1 == 1)
            .map(|at| json!({"const": values[at]}))
            .collect();
        options.push(json!({
            "type": "array", "minItems": count, "maxItems": count, "prefixItems": picked, "items": false,
        }));
    }
    Some(if options.is_empty() { json!(false) } else { json!({"anyOf": options}) })
}
