//! Whether no value can satisfy two schemas at once, where that is plain to see.

use serde_json::{Map, Value};

use super::refs;

/// Comparisons made for a schema before giving up.
pub(super) const EFFORT: u32 = 20_000;
/// What it costs to look for a reference by name: the whole schema is searched.
const SEARCH: u32 = 50;

/// True only when it is certain. `effort`: comparisons that are left, of which this takes some.
pub(super) fn are(root: &Value, left: &Value, right: &Value, effort: &mut u32) -> bool {
    let mut search = Search { root, left: *effort };
    let apart = search.apart(left, right, 12);
    *effort = search.left;
    apart
}

/// True of a reference that is no pointer.
fn is_named(schema: &Value) -> bool {
    let reference = schema.get("$ref").and_then(Value::as_str);
    reference.is_some_and(|reference| reference != "#" && !reference.starts_with("#/"))
}

struct Search<'a> {
    root: &'a Value,
    /// Comparisons left.
    left: u32,
}

impl<'a> Search<'a> {
    fn apart(&mut self, left: &'a Value, right: &'a Value, depth: usize) -> bool {
        if depth == 0 || self.left == 0 {
            return false;
        }
        let cost = 1 + SEARCH * u32::from(is_named(left)) + SEARCH * u32::from(is_named(right));
        self.left = self.left.saturating_sub(cost);
        let (Some(left), Some(right)) = (resolved(self.root, left), resolved(self.root, right))
        else {
            return false;
        };
        let (a, b) = match (left, right) {
            (Value::Bool(false), _) | (_, Value::Bool(false)) => return true,
            (Value::Object(a), Value::Object(b)) => (a, b),
            _ => return false,
        };
        if let (Some(a), Some(b)) = (values(a), values(b)) {
            return !a.iter().any(|value| b.iter().any(|other| same(value, other)));
        }
        if let (Some(a), Some(b)) = (types(a), types(b))
            && !a.iter().any(|name| b.contains(name))
        {
            return true;
        }
        self.branches_apart(a, right, depth)
            || self.branches_apart(b, left, depth)
            || (only_object(a)
                && only_object(b)
                && (self.objects_apart(a, b, depth) || lacks(a, b) || lacks(b, a)))
    }

    /// Alternatives are apart from something when each of them is; parts, when one of them is.
    fn branches_apart(
        &mut self,
        map: &'a Map<String, Value>,
        other: &'a Value,
        depth: usize,
    ) -> bool {
        ["anyOf", "oneOf"].iter().any(|keyword| match map.get(*keyword) {
            Some(Value::Array(options)) => {
                options.iter().all(|option| self.apart(option, other, depth - 1))
            }
            _ => false,
        }) || match map.get("allOf") {
            Some(Value::Array(parts)) => {
                parts.iter().any(|part| self.apart(part, other, depth - 1))
            }
            _ => false,
        }
    }

    /// Objects are apart when a property that both must have differs.
    fn objects_apart(
        &mut self,
        a: &'a Map<String, Value>,
        b: &'a Map<String, Value>,
        depth: usize,
    ) -> bool {
        required(a).filter(|name| required(b).any(|other| other == *name)).any(|name| {
            match (property(a, name), property(b, name)) {
                (Some(left), Some(right)) => self.apart(left, right, depth - 1),
                _ => false,
            }
        })
    }
}

/// Whether `b` must have a property that `a` has no room for.
fn lacks(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    let closed = a.get("additionalProperties") == Some(&Value::Bool(false))
        && !a.contains_key("patternProperties");
    closed && required(b).any(|name| property(a, name).is_none())
}

fn resolved<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    let mut schema = schema;
    for _ in 0..16 {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
            return Some(schema);
        };
        schema = root.pointer(&refs::pointer(root, reference)?)?;
    }
    None
}

/// The values a schema is limited to, if they are listed.
fn values(map: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (map.get("const"), map.get("enum")) {
        (Some(value), _) => Some(vec![value]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}

fn same(left: &Value, right: &Value) -> bool {
    left == right || left.as_f64().is_some_and(|left| right.as_f64() == Some(left))
}

/// The types a schema is limited to; integers count as numbers.
fn types(map: &Map<String, Value>) -> Option<Vec<&'static str>> {
    let name = |value: &Value| {
        Some(match value.as_str()? {
            "null" => "null",
            "boolean" => "boolean",
            "integer" | "number" => "number",
            "string" => "string",
            "array" => "array",
            _ => "object",
        })
    };
    match map.get("type") {
        Some(Value::Array(types)) => types.iter().map(name).collect(),
        Some(one) => name(one).map(|name| vec![name]),
        None => values(map).map(|values| {
            values
                .into_iter()
                .map(|value| match value {
                    Value::Null => "null",
                    Value::Bool(_) => "boolean",
                    Value::Number(_) => "number",
                    Value::String(_) => "string",
                    Value::Array(_) => "array",
                    Value::Object(_) => "object",
                })
                .collect()
        }),
    }
}

/// Whether nothing but objects is allowed, be it by a type or by keywords that imply it.
fn only_object(map: &Map<String, Value>) -> bool {
    match map.get("type") {
        Some(name) => name == "object",
        None => map.contains_key("properties") && types(map).is_none(),
    }
}

fn required(map: &Map<String, Value>) -> impl Iterator<Item = &str> {
    map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn property<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    map.get("properties").and_then(|properties| properties.get(name))
}
