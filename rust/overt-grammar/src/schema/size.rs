//! How large a schema becomes where references must be written out.
//!
//! A reference alone stays one. Beside other keywords, or under `allOf`, its target is copied and narrowed, with all
//! that was copied into the target: a few lines can grow without bound.

use std::collections::HashMap;

use serde_json::Value;

use super::Object;

/// Schemas in `root` and `defs` once written out; at most a little over `most`.
pub(super) fn written_out(root: &Value, defs: &Object, most: u64) -> u64 {
    let mut measure = Measure { defs, most, sizes: HashMap::new() };
    let mut total = measure.size(root, false);
    for name in defs.keys() {
        total = total.saturating_add(measure.definition(name));
        if total > most {
            break;
        }
    }
    total
}

struct Measure<'a> {
    defs: &'a Object,
    most: u64,
    sizes: HashMap<&'a str, Option<u64>>,
}

impl<'a> Measure<'a> {
    fn definition(&mut self, name: &str) -> u64 {
        let Some((name, schema)) = self.defs.get_key_value(name) else { return 1 };
        match self.sizes.get(name.as_str()) {
            Some(Some(size)) => *size,
            // Copied into itself.
            Some(None) => self.most.saturating_add(1),
            None => {
                self.sizes.insert(name, None);
                let size = self.size(schema, false);
                self.sizes.insert(name, Some(size));
                size
            }
        }
    }

    /// `narrowed`: other keywords apply to the same value, so that a reference cannot stay one.
    fn size(&mut self, schema: &Value, narrowed: bool) -> u64 {
        let Value::Object(map) = schema else { return 1 };
        let mut size: u64 = 1;
        for (keyword, value) in map {
            let more = match (keyword.as_str(), value) {
                ("$ref", Value::String(reference)) if narrowed || map.len() > 1 => {
                    self.definition(reference.trim_start_matches("#/$defs/"))
                }
                ("allOf", Value::Array(parts)) => {
                    let narrowed = narrowed || parts.len() > 1 || map.len() > 1;
                    self.sum(parts.iter(), narrowed)
                }
                ("anyOf", Value::Array(parts)) => self.sum(parts.iter(), narrowed || map.len() > 1),
                ("prefixItems", Value::Array(parts)) => self.sum(parts.iter(), false),
                ("properties" | "patternProperties", Value::Object(parts)) => {
                    self.sum(parts.values(), false)
                }
                ("items" | "additionalProperties", part) => self.size(part, false),
                ("enum", Value::Array(values)) => values.len() as u64,
                _ => 0,
            };
            size = size.saturating_add(more);
            if size > self.most {
                break;
            }
        }
        size
    }

    fn sum<'v>(&mut self, parts: impl Iterator<Item = &'v Value>, narrowed: bool) -> u64 {
        let mut total: u64 = 0;
        for part in parts {
            total = total.saturating_add(self.size(part, narrowed));
            if total > self.most {
                break;
            }
        }
        total
    }
}
