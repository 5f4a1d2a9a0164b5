//! Objects: properties, which must be there, and which others may be.

use serde_json::{Value, json};

use super::{Object, Place, Walker, arrays, keywords};
use crate::pattern;
use crate::source::Refused;

impl Walker<'_> {
    pub(super) fn objects(
        &mut self,
        map: &Object,
        place: &Place,
        out: &mut Object,
        also: &mut Vec<Value>,
    ) -> Result<(), Refused> {
        for keyword in ["properties", "patternProperties"] {
            if let Some(value) = map.get(keyword) {
                let walked =
                    self.property_map(value, &place.at(keyword), keyword == "patternProperties")?;
                out.insert(keyword.to_owned(), Value::Object(walked));
            }
        }
        let mut required = Vec::new();
        match map.get("required") {
            None => {}
            // Draft 3 said it of the property itself.
            Some(Value::Bool(_)) => {
                return place
                    .at("required")
                    .refuse("must be a list of names, in the schema of the object");
            }
            Some(value) => {
                required = names(value, &place.at("required"))?;
                self.properties += required.len();
                self.few_properties(&place.at("required"))?;
                out.insert("required".to_owned(), json!(required));
            }
        }
        self.additional(map, place, out)?;
        self.property_names(map, place, out)?;
        self.property_counts(map, place, out, &required)?;
        self.dependent(map, place, also)
    }

    fn few_properties(&self, here: &Place) -> Result<(), Refused> {
        if self.properties > self.limits.properties {
            return here.refuse(format!(
                "more than {} properties in all of the schema",
                self.limits.properties
            ));
        }
        Ok(())
    }

    fn property_map(
        &mut self,
        value: &Value,
        here: &Place,
        patterns: bool,
    ) -> Result<Object, Refused> {
        let Some(map) = value.as_object() else {
            return here.refuse("must be an object of schemas");
        };
        self.properties += map.len();
        self.few_properties(here)?;
        if map.len() > self.limits.object_properties {
            return here.refuse(format!("more than {} properties", self.limits.object_properties));
        }
        let mut out = Object::new();
        for (name, schema) in map {
            let at = here.at(name);
            if patterns {
                pattern::whole(name, self.limits.regex_bytes).or_else(|error| at.refuse(error))?;
            } else {
                keywords::writable(name, &at)?;
            }
            let schema = self.walk(schema, &at)?;
            out.insert(name.clone(), schema);
        }
        Ok(out)
    }

    fn additional(&mut self, map: &Object, place: &Place, out: &mut Object) -> Result<(), Refused> {
        let closed = match map.get("unevaluatedProperties") {
            None | Some(Value::Bool(true)) => false,
            Some(Value::Bool(false)) if !arrays::composed(map) => true,
            Some(_) => {
                return place.at("unevaluatedProperties").refuse(
                    "can only be enforced as false, beside no allOf, anyOf, oneOf, $ref, not, if or dependencies; use \
                     additionalProperties",
                );
            }
        };
        let named = out.contains_key("properties") || out.contains_key("patternProperties");
        if let Some(schema) = map.get("additionalProperties") {
            let walked = self.walk(schema, &place.at("additionalProperties"))?;
            out.insert("additionalProperties".to_owned(), walked);
        } else if closed || (self.close_objects && named) {
            out.insert("additionalProperties".to_owned(), json!(false));
        }
        Ok(())
    }

    /// `propertyNames` as properties or as a pattern of names.
    fn property_names(
        &mut self,
        map: &Object,
        place: &Place,
        out: &mut Object,
    ) -> Result<(), Refused> {
        let Some(names) = map.get("propertyNames") else { return Ok(()) };
        let here = place.at("propertyNames");
        self.walk(names, &here)?;
        if *names == Value::Bool(true) || names.as_object().is_some_and(only_type_string) {
            return Ok(());
        }
        let resolved = match names.get("$ref").and_then(Value::as_str) {
            Some(reference) => {
                super::refs::pointer(self.root, reference).and_then(|path| self.root.pointer(&path))
            }
            None => Some(names),
        };
        let fixed = out.contains_key("properties") || out.contains_key("patternProperties");
        let value = out.get("additionalProperties").cloned().unwrap_or(json!(true));
        let rewritten = match resolved.and_then(Value::as_object) {
            Some(names) if !fixed => allowed_names(names),
            _ => None,
        };
        match rewritten {
            Some(Names::Listed(listed)) => {
                let properties: Object =
                    listed.into_iter().map(|name| (name, value.clone())).collect();
                out.insert("properties".to_owned(), Value::Object(properties));
            }
            Some(Names::Pattern(pattern)) => {
                out.insert("patternProperties".to_owned(), json!({ pattern: value }));
            }
            None => {
                return here.refuse(
                    "can only be enforced as an enum, a const, a pattern, or a length, and beside no properties or \
                     patternProperties",
                );
            }
        }
        out.insert("additionalProperties".to_owned(), json!(false));
        Ok(())
    }

    /// How many properties there may be, which can only be held to where those with names are all required, or of
    /// optional ones at least or at most one is asked for.
    fn property_counts(
        &mut self,
        map: &Object,
        place: &Place,
        out: &mut Object,
        required: &[String],
    ) -> Result<(), Refused> {
        let fewest = self.count(map, "minProperties", place, out)?;
        let most = self.count(map, "maxProperties", place, out)?;
        let (Some(keyword), needed) = (
            fewest.map(|_| "minProperties").or(most.map(|_| "maxProperties")),
            u64::try_from(required.len()).unwrap_or(u64::MAX),
        ) else {
            return Ok(());
        };
        let here = place.at(keyword);
        let few = fewest.unwrap_or(0).saturating_sub(needed);
        if let Some(most) = most.filter(|most| *most < fewest.unwrap_or(0).max(needed)) {
            return place.at("maxProperties").refuse(format!("{most} is fewer than must be there"));
        }
        let spare = most.map(|most| most - needed);
        let optional = out.get("properties").and_then(Value::as_object).map_or(0, |properties| {
            properties.keys().filter(|name| !required.contains(name)).count()
        });
        let closed = out.get("additionalProperties") == Some(&json!(false))
            && !out.contains_key("patternProperties");
        let enforced = if optional == 0 {
            // A name that comes twice would count twice.
            few <= 1
        } else {
            (few == 0 && spare.is_none())
                || (closed && few <= 1 && spare.is_none_or(|spare| spare == 1))
        };
        if closed && optional > 0 && spare.is_some_and(|spare| spare >= optional as u64) && few == 0
        {
            out.remove("maxProperties");
            out.remove("minProperties");
            return Ok(());
        }
        if !enforced {
            return here.refuse(format!(
                "{}; at most one property more than those required can be counted, and maxProperties only where no \
                 named property is optional",
                keywords::unenforceable(keyword)
            ));
        }
        if few == 0 {
            out.remove("minProperties");
        }
        Ok(())
    }

    /// What one property asks of the others when it is there.
    fn dependent(
        &mut self,
        map: &Object,
        place: &Place,
        also: &mut Vec<Value>,
    ) -> Result<(), Refused> {
        for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
            let Some(value) = map.get(keyword) else { continue };
            let here = place.at(keyword);
            let Some(dependencies) = value.as_object() else {
                return here.refuse("must be an object");
            };
            if dependencies.len() > 8 {
                return here.refuse("at most 8 properties may have dependencies in one object");
            }
            for (name, asked) in dependencies {
                let at = here.at(name);
                keywords::writable(name, &at)?;
                let then = match asked {
                    Value::Array(_) if keyword != "dependentSchemas" => {
                        let mut required = vec![name.clone()];
                        required.extend(names(asked, &at)?);
                        json!({"type": "object", "required": required})
                    }
                    _ if keyword == "dependentRequired" => {
                        return at.refuse("must be a list of names");
                    }
                    schema => {
                        let schema = self.walk(schema, &at)?;
                        json!({"allOf": [{"type": "object", "required": [name]}, schema]})
                    }
                };
                also.push(
                    json!({"anyOf": [then, {"type": "object", "properties": {name: false}}]}),
                );
            }
        }
        Ok(())
    }
}

/// Names that `propertyNames` allows.
enum Names {
    Listed(Vec<String>),
    Pattern(String),
}

fn allowed_names(schema: &Object) -> Option<Names> {
    let kept: Vec<&str> = schema
        .keys()
        .map(String::as_str)
        .filter(|keyword| *keyword != "type" && !super::ANNOTATIONS.contains(keyword))
        .collect();
    match kept[..] {
        ["enum"] => {
            let values = schema.get("enum")?.as_array()?;
            Some(Names::Listed(
                values.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            ))
        }
        ["const"] => Some(Names::Listed(vec![schema.get("const")?.as_str()?.to_owned()])),
        ["pattern"] => Some(Names::Pattern(schema.get("pattern")?.as_str()?.to_owned())),
        _ if kept.iter().all(|keyword| ["minLength", "maxLength"].contains(keyword)) => {
            let fewest = schema.get("minLength").map_or(Some(0), Value::as_u64)?;
            let most = schema
                .get("maxLength")
                .map_or(Some(String::new()), |most| Some(most.as_u64()?.to_string()))?;
            Some(Names::Pattern(format!("^(?s:.){{{fewest},{most}}}$")))
        }
        _ => None,
    }
}

fn only_type_string(schema: &Object) -> bool {
    schema.iter().all(|(keyword, value)| {
        (keyword == "type" && value == "string") || super::ANNOTATIONS.contains(&keyword.as_str())
    })
}

fn names(value: &Value, here: &Place) -> Result<Vec<String>, Refused> {
    let Some(items) = value.as_array() else { return here.refuse("must be a list of names") };
    let mut names = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let Some(name) = item.as_str() else { return here.at(at).refuse("must be a name") };
        keywords::writable(name, &here.at(at))?;
        if !names.iter().any(|other| other == name) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}
