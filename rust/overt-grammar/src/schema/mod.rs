//! JSON Schemas: what each keyword becomes, and which are refused by name.
//!
//! llguidance enforces the keywords that come out of here, and these alone: annotations are left out, references are
//! gathered under `$defs`, and keywords that another can express are written with it. What cannot be enforced is
//! refused with its path. Where a schema leaves a choice that costs nothing, the output keeps to one: properties come
//! in the schema's order, and a schema without a type that only speaks of one type means that type.

mod arrays;
mod conditions;
mod disjoint;
mod endless;
mod finite;
mod formats;
mod keywords;
mod numbers;
mod objects;
mod refs;
mod size;
mod strings;

use serde_json::{Map, Value, json};

use crate::limits::Limits;
use crate::source::{Options, Refused, Whitespace};

/// Keywords that describe and do not constrain, and containers that only references look into.
const ANNOTATIONS: [&str; 23] = [
    "title",
    "description",
    "default",
    "example",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "discriminator",
    "contentMediaType",
    "contentEncoding",
    "contentSchema",
    "$comment",
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$vocabulary",
    "$defs",
    "definitions",
    "externalDocs",
];

type Object = Map<String, Value>;

/// Where a keyword stands, from the schema's root: `.properties.a`.
#[derive(Clone, Debug)]
pub(crate) struct Place(String);

impl Place {
    fn at(&self, step: impl std::fmt::Display) -> Self {
        Self(format!("{}.{step}", self.0))
    }

    fn refuse<T>(&self, message: impl Into<String>) -> Result<T, Refused> {
        Err(Refused::new(self.0.clone(), message))
    }
}

struct Walker<'a> {
    root: &'a Value,
    limits: Limits,
    close_objects: bool,
    depth: usize,
    properties: usize,
    enum_values: usize,
    /// Comparisons of alternatives that are left.
    effort: u32,
    refs: refs::Refs,
}

/// A schema as llguidance takes it, with the white space that the options ask for.
///
/// # Errors
/// [`Refused`], whose `param` is the path within the schema, beginning with a dot, or empty.
pub(crate) fn prepared(schema: &Value, options: &Options<'_>) -> Result<Value, Refused> {
    let top = Place(String::new());
    let bytes = schema.to_string().len();
    if bytes > options.limits.schema_bytes {
        return top.refuse(format!(
            "the schema has {bytes} bytes; at most {} are allowed",
            options.limits.schema_bytes
        ));
    }
    let mut walker = Walker {
        root: schema,
        limits: options.limits,
        close_objects: options.disable_additional_properties,
        depth: 0,
        properties: 0,
        enum_values: 0,
        effort: disjoint::EFFORT,
        refs: refs::Refs::default(),
    };
    let mut root = walker.walk(schema, &top)?;
    let mut defs = Object::new();
    while let Some((name, pointer)) = walker.refs.next() {
        let place = Place(pointer.replace('/', "."));
        let Some(target) = schema.pointer(&pointer) else {
            return place.refuse("the schema has nothing here");
        };
        if defs.len() >= options.limits.definitions {
            return place.refuse(format!(
                "more than {} definitions are referred to",
                options.limits.definitions
            ));
        }
        let walked = walker.walk(target, &place)?;
        defs.insert(name, walked);
    }
    if root == Value::Bool(false) {
        return top.refuse("the schema allows nothing");
    }
    if !finite::has_value(&root, &defs) {
        return top
            .refuse("no finite value satisfies the schema: it always requires another of itself");
    }
    let most = options.limits.written_out;
    if size::written_out(&root, &defs, most) > most {
        return top.refuse(format!(
            "more than {most} schemas once references that stand beside other keywords, or under allOf, are written out"
        ));
    }
    endless::bounded(&mut root, &mut defs);
    let mut out = match root {
        Value::Object(map) => map,
        _ => Object::new(),
    };
    if !defs.is_empty() {
        out.insert("$defs".to_owned(), Value::Object(defs));
    }
    out.insert("x-guidance".to_owned(), guidance(&options.whitespace));
    Ok(Value::Object(out))
}

/// How llguidance is to write JSON: which white space, and no `\u` escapes, since a property's name spelled with one
/// would pass for another name.
fn guidance(whitespace: &Whitespace) -> Value {
    let pattern = match whitespace {
        Whitespace::Bounded => Some(Whitespace::BOUNDED),
        Whitespace::None => None,
        Whitespace::Pattern(pattern) => Some(pattern.as_str()),
    };
    json!({
        "whitespace_flexible": pattern.is_some(),
        "whitespace_pattern": pattern,
        "json_allowed_escapes": ESCAPES,
    })
}

/// What may follow a backslash in a string.
const ESCAPES: &str = "nrbtf\\\"";

impl Walker<'_> {
    fn walk(&mut self, schema: &Value, place: &Place) -> Result<Value, Refused> {
        match schema {
            Value::Bool(_) => Ok(schema.clone()),
            Value::Object(map) => {
                self.depth += 1;
                if self.depth > self.limits.schema_depth {
                    return place.refuse(format!(
                        "nested more than {} levels deep",
                        self.limits.schema_depth
                    ));
                }
                let walked = self.object_or_null(map, place);
                self.depth -= 1;
                walked
            }
            _ => place.refuse("a schema must be an object or a boolean"),
        }
    }

    /// OpenAPI 3.0 says of a schema that null is allowed beside it.
    fn object_or_null(&mut self, map: &Object, place: &Place) -> Result<Value, Refused> {
        match map.get("nullable") {
            None => self.object(map, place).map(Value::Object),
            Some(Value::Bool(nullable)) => {
                let mut rest = map.clone();
                rest.remove("nullable");
                let walked = self.object(&rest, place).map(Value::Object)?;
                Ok(if *nullable { json!({"anyOf": [walked, {"type": "null"}]}) } else { walked })
            }
            Some(_) => place.at("nullable").refuse("must be true or false"),
        }
    }

    fn walk_list(&mut self, value: &Value, place: &Place) -> Result<Vec<Value>, Refused> {
        match value {
            Value::Array(items) if !items.is_empty() => {
                items.iter().enumerate().map(|(at, item)| self.walk(item, &place.at(at))).collect()
            }
            _ => place.refuse("must be a list of one schema or more"),
        }
    }
}
