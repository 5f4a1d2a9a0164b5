//! `not`, and `if` with `then` and `else`, where the opposite of a schema is itself a schema.
//!
//! That is so for types, for listed values where all values are listed around them, and for properties that are there
//! or have such values.

use serde_json::{Value, json};

use super::{Object, Place, Walker, refs};
use crate::source::Refused;

const OTHERS: [&str; 6] = ["null", "boolean", "number", "string", "array", "object"];

impl Walker<'_> {
    /// What `not` becomes; `around` is the schema it stands in.
    pub(super) fn negated(
        &mut self,
        schema: &Value,
        around: &Object,
        here: &Place,
    ) -> Result<Value, Refused> {
        let mut options = self.opposite(schema, around, here)?;
        Ok(match options.len() {
            0 => json!(false),
            1 => options.remove(0),
            _ => json!({"anyOf": options}),
        })
    }

    /// What `if`, `then` and `else` become; nothing when neither of the two is there.
    pub(super) fn condition(
        &mut self,
        condition: &Value,
        around: &Object,
        place: &Place,
    ) -> Result<Option<Value>, Refused> {
        if !around.contains_key("then") && !around.contains_key("else") {
            return Ok(None);
        }
        let here = place.at("if");
        let branch = |walker: &mut Self, keyword: &str| match around.get(keyword) {
            Some(schema) => walker.walk(schema, &place.at(keyword)),
            None => Ok(json!(true)),
        };
        let met = self.walk(condition, &here)?;
        let then = branch(self, "then")?;
        let otherwise = branch(self, "else")?;
        let mut options = vec![json!({"allOf": [met, then]})];
        for unmet in self.opposite(condition, around, &here)? {
            options.push(json!({"allOf": [unmet, otherwise]}));
        }
        Ok(Some(json!({"anyOf": options})))
    }

    /// Schemas of which at least one holds exactly where `schema` does not.
    fn opposite(
        &mut self,
        schema: &Value,
        around: &Object,
        here: &Place,
    ) -> Result<Vec<Value>, Refused> {
        let map = match schema {
            Value::Bool(true) => return Ok(Vec::new()),
            Value::Bool(false) => return Ok(vec![json!(true)]),
            Value::Object(map) => map,
            _ => return here.refuse("a schema must be an object or a boolean"),
        };
        let mut options = Vec::new();
        let mut said = false;
        for (keyword, value) in map {
            match keyword.as_str() {
                keyword if super::ANNOTATIONS.contains(&keyword) => continue,
                "type" if map.contains_key("properties") || map.contains_key("required") => {
                    // An object all around: the type says nothing new.
                    if value != "object" || around.get("type").is_some_and(|kind| kind != "object")
                    {
                        return unknown(here);
                    }
                    continue;
                }
                "type" => options.extend(other_types(value)),
                "const" | "enum" => {
                    let Some(rest) = self.other_values(map, around) else { return unknown(here) };
                    options.extend(rest);
                }
                "required" => {
                    for name in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
                        options.push(json!({"type": "object", "properties": {name: false}}));
                    }
                }
                "properties" => {
                    for (name, inner) in value.as_object().into_iter().flatten() {
                        let base =
                            around.get("properties").and_then(|properties| properties.get(name));
                        let base = base.and_then(Value::as_object).cloned().unwrap_or_default();
                        let base = self.resolved(&base).unwrap_or(base);
                        for other in self.opposite(inner, &base, &here.at("properties").at(name))? {
                            options.push(
                                json!({"type": "object", "required": [name], "properties": {name: other}}),
                            );
                        }
                    }
                }
                "not" => {
                    let inner = self.walk(value, &here.at("not"))?;
                    options.push(inner);
                }
                _ => return unknown(here),
            }
            said = true;
        }
        if !said && !map.contains_key("type") {
            return Ok(Vec::new());
        }
        Ok(options)
    }

    /// The values listed around a schema that it does not list.
    fn other_values(&self, map: &Object, around: &Object) -> Option<Option<Value>> {
        let listed = |map: &Object| match (map.get("const"), map.get("enum")) {
            (Some(value), _) => Some(vec![value.clone()]),
            (None, Some(Value::Array(values))) => Some(values.clone()),
            _ => None,
        };
        let around = self.resolved(around).unwrap_or_else(|| around.clone());
        let all = listed(&around).or_else(|| match around.get("type")?.as_str()? {
            "boolean" => Some(vec![json!(true), json!(false)]),
            "null" => Some(vec![json!(null)]),
            _ => None,
        })?;
        let listed = listed(map)?;
        let rest: Vec<Value> = all.into_iter().filter(|value| !listed.contains(value)).collect();
        Some((!rest.is_empty()).then(|| json!({"enum": rest})))
    }

    fn resolved(&self, map: &Object) -> Option<Object> {
        let reference = map.get("$ref")?.as_str()?;
        self.root.pointer(&refs::pointer(self.root, reference)?)?.as_object().cloned()
    }
}

/// A schema of all types but these; nothing when these are all. Integers alone have no opposite among types, so that
/// numbers are left out with them.
fn other_types(value: &Value) -> Option<Value> {
    let named = |name: &str| match value {
        Value::Array(types) => {
            types.iter().any(|kind| kind == name || (name == "number" && kind == "integer"))
        }
        kind => kind == name || (name == "number" && kind == "integer"),
    };
    let rest: Vec<&str> = OTHERS.into_iter().filter(|name| !named(name)).collect();
    (!rest.is_empty()).then(|| json!({"type": rest}))
}

fn unknown<T>(here: &Place) -> Result<T, Refused> {
    here.refuse(
        "can only be enforced for types, for required properties, and for const or enum where the schema around it \
         lists all values; write the alternatives out with anyOf",
    )
}
