//! One schema object, keyword by keyword.

use serde_json::{Value, json};

use super::{ANNOTATIONS, Object, Place, Walker, disjoint};
use crate::source::Refused;

/// Keywords of JSON Schema that cannot be enforced while text is written.
const UNENFORCEABLE: [&str; 7] = [
    "contains",
    "minContains",
    "maxContains",
    "$dynamicRef",
    "$recursiveRef",
    "extends",
    "disallow",
];

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// Which type a keyword speaks of.
fn type_of(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "properties"
        | "required"
        | "additionalProperties"
        | "patternProperties"
        | "propertyNames"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "dependencies"
        | "unevaluatedProperties" => "object",
        "items" | "prefixItems" | "additionalItems" | "minItems" | "maxItems" | "uniqueItems"
        | "unevaluatedItems" => "array",
        "pattern" | "format" | "minLength" | "maxLength" => "string",
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => "number",
        _ => return None,
    })
}

impl Walker<'_> {
    pub(super) fn object(&mut self, map: &Object, place: &Place) -> Result<Object, Refused> {
        let mut out = Object::new();
        // Further constraints that the same value must satisfy.
        let mut also = Vec::new();
        self.types(map, place, &mut out)?;
        for (keyword, value) in map {
            let here = place.at(keyword);
            match keyword.as_str() {
                "type" => {}
                "enum" => self.enumeration(value, &here, &mut out)?,
                "const" => {
                    self.literal(value, &here)?;
                    out.insert("const".to_owned(), value.clone());
                }
                "$ref" => {
                    out.insert("$ref".to_owned(), self.reference(value, &here)?);
                }
                "anyOf" => {
                    let options = self.walk_list(value, &here)?;
                    put(&mut out, &mut also, "anyOf", Value::Array(options));
                }
                "oneOf" => {
                    let options = self.one_of(value, &here)?;
                    put(&mut out, &mut also, "anyOf", Value::Array(options));
                }
                "allOf" => also.extend(self.walk_list(value, &here)?),
                "not" => {
                    let negated = self.negated(value, map, &here)?;
                    also.push(negated);
                }
                "if" => {
                    let condition = self.condition(value, map, place)?;
                    also.extend(condition);
                }
                // With `if`; without it they say nothing.
                "then" | "else" => {}
                "contains"
                    if map.get("minContains") == Some(&json!(0))
                        && !map.contains_key("maxContains") => {}
                "minContains" | "maxContains" if !map.contains_key("contains") => {}
                keyword if UNENFORCEABLE.contains(&keyword) => {
                    return here.refuse(unenforceable(keyword));
                }
                keyword if ANNOTATIONS.contains(&keyword) || type_of(keyword).is_none() => {}
                _ => {}
            }
        }
        self.numbers(map, place, &mut out)?;
        self.strings(map, place, &mut out, &mut also)?;
        self.arrays(map, place, &mut out, &mut also)?;
        self.objects(map, place, &mut out, &mut also)?;
        also.retain(|schema| *schema != Value::Bool(true));
        if !also.is_empty() {
            out.insert("allOf".to_owned(), Value::Array(also));
        }
        Ok(out)
    }

    /// The types as given, or as the keywords imply.
    fn types(&mut self, map: &Object, place: &Place, out: &mut Object) -> Result<(), Refused> {
        if let Some(types) = map.get("type") {
            let here = place.at("type");
            let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
            let valid = match types {
                Value::Array(types) => !types.is_empty() && types.iter().all(known),
                one => known(one),
            };
            if !valid {
                return here
                    .refuse(format!("must be one of {}, or a list of such", TYPES.join(", ")));
            }
            out.insert("type".to_owned(), types.clone());
            return Ok(());
        }
        if ["const", "enum", "$ref", "anyOf", "oneOf", "allOf", "not", "if"]
            .iter()
            .any(|key| map.contains_key(*key))
        {
            return Ok(());
        }
        let mut implied: Vec<&str> = map.keys().filter_map(|keyword| type_of(keyword)).collect();
        implied.sort_unstable();
        implied.dedup();
        match implied[..] {
            [] => {}
            [one] => {
                out.insert("type".to_owned(), json!(one));
            }
            _ => {
                out.insert("type".to_owned(), json!(implied));
            }
        }
        Ok(())
    }

    fn enumeration(
        &mut self,
        value: &Value,
        here: &Place,
        out: &mut Object,
    ) -> Result<(), Refused> {
        let Some(values) = value.as_array().filter(|values| !values.is_empty()) else {
            return here.refuse("must be a list of one value or more");
        };
        self.enum_values += values.len();
        if self.enum_values > self.limits.enum_values {
            return here.refuse(format!(
                "more than {} values in all of the schema",
                self.limits.enum_values
            ));
        }
        for (at, value) in values.iter().enumerate() {
            self.literal(value, &here.at(at))?;
        }
        out.insert("enum".to_owned(), value.clone());
        Ok(())
    }

    /// A value that must be written as it stands.
    pub(super) fn literal(&mut self, value: &Value, here: &Place) -> Result<(), Refused> {
        match value {
            Value::Null | Value::Bool(_) => Ok(()),
            Value::Number(number) => super::numbers::literal(number, here),
            Value::String(text) => writable(text, here),
            Value::Array(items) => self.deeper(here, |walker| {
                items
                    .iter()
                    .enumerate()
                    .try_for_each(|(at, item)| walker.literal(item, &here.at(at)))
            }),
            Value::Object(map) => self.deeper(here, |walker| {
                map.iter().try_for_each(|(name, value)| {
                    writable(name, here)?;
                    walker.literal(value, &here.at(name))
                })
            }),
        }
    }

    fn deeper(
        &mut self,
        here: &Place,
        inner: impl FnOnce(&mut Self) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        self.depth += 1;
        if self.depth > self.limits.schema_depth {
            return here
                .refuse(format!("nested more than {} levels deep", self.limits.schema_depth));
        }
        let done = inner(self);
        self.depth -= 1;
        done
    }

    /// Alternatives of which exactly one holds are any of them where no two can hold at once.
    fn one_of(&mut self, value: &Value, here: &Place) -> Result<Vec<Value>, Refused> {
        let options = self.walk_list(value, here)?;
        let originals = value.as_array().map(Vec::as_slice).unwrap_or_default();
        for (at, left) in originals.iter().enumerate() {
            for (other, right) in originals.iter().enumerate().skip(at + 1) {
                if !disjoint::are(self.root, left, right, &mut self.effort) {
                    return here.refuse(format!(
                        "cannot be enforced: a value may satisfy both {at} and {other}; tell them apart by type or by \
                         a required property with a const, or use anyOf"
                    ));
                }
            }
        }
        Ok(options)
    }
}

/// Inserts a keyword, or adds it as a further constraint where the keyword is taken.
pub(super) fn put(out: &mut Object, also: &mut Vec<Value>, keyword: &str, value: Value) {
    if out.contains_key(keyword) {
        also.push(json!({ keyword: value }));
    } else {
        out.insert(keyword.to_owned(), value);
    }
}

/// A text that JSON can write with the escapes that are allowed.
pub(super) fn writable(text: &str, here: &Place) -> Result<(), Refused> {
    let odd = |char: char| (char < ' ' && !"\u{8}\t\n\u{c}\r".contains(char)) || char == '\u{7f}';
    if text.contains(odd) {
        return here.refuse(
            "a text with control characters other than \\b, \\t, \\n, \\f and \\r is not supported",
        );
    }
    Ok(())
}

pub(super) fn unenforceable(keyword: &str) -> String {
    format!("{keyword} cannot be enforced while the output is written; leave it out of the schema")
}
