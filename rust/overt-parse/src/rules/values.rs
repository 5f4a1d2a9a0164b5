//! Rules of nested values that are spelled in another way than JSON's.

use overt_rule::Rule;
use serde_json::{Value, json};

use crate::rules::{self, Member, Names, Shape, typed};

/// How a family spells values.
pub(crate) trait Spelling {
    /// A string that `schema` allows.
    fn string(&self, schema: &Value) -> Rule;
    /// This string.
    fn quoted(&self, text: &str) -> Rule;
    /// A key of a nested object.
    fn key(&self, name: &str) -> Rule;
    /// Any key of a nested object.
    fn any_key(&self) -> Rule;
    /// `null`, `true` and `false`.
    fn words(&self) -> [&'static str; 3];
    /// What stands between members.
    fn comma(&self) -> &'static str;
    /// What stands between a key and its value.
    fn colon(&self) -> &'static str;
}

/// Values that `schema` allows; its local references point into `root`.
pub(crate) fn value(
    root: &Value,
    schema: &Value,
    spelling: &dyn Spelling,
    names: &mut Names,
) -> Rule {
    match rules::target(root, schema) {
        (schema, Some(name)) => {
            // Tools may use one name for different things: the schema tells them apart.
            let key = format!("{name} {schema}");
            names.once(&key, |names| shaped(root, schema, spelling, names))
        }
        (schema, None) => shaped(root, schema, spelling, names),
    }
}

fn shaped(root: &Value, schema: &Value, spelling: &dyn Spelling, names: &mut Names) -> Rule {
    let [null, yes, no] = spelling.words();
    match rules::shape(schema) {
        Shape::Any => any(spelling, names),
        Shape::Values(values) if values.is_empty() => any(spelling, names),
        Shape::Values(values) => {
            Rule::Any(values.into_iter().map(|value| spelled(value, spelling)).collect())
        }
        Shape::Branches(branches) => {
            let branch = |branch: &Value| value(root, branch, spelling, names);
            Rule::Any(branches.iter().map(branch).collect())
        }
        Shape::Type("string") => spelling.string(schema),
        Shape::Type("null") => Rule::text(null),
        Shape::Type("boolean") => Rule::Any(vec![Rule::text(yes), Rule::text(no)]),
        Shape::Type("array") => array(root, schema, spelling, names),
        Shape::Type("object") => object(root, schema, spelling, names),
        Shape::Type(_) => Rule::Json(typed::standalone(root, schema)),
    }
}

fn array(root: &Value, schema: &Value, spelling: &dyn Spelling, names: &mut Names) -> Rule {
    let none = json!({});
    let item = value(root, schema.get("items").unwrap_or(&none), spelling, names);
    let bound = |key: &str| schema.get(key)?.as_u64().and_then(|n| u32::try_from(n).ok());
    let (min, max) = (bound("minItems").unwrap_or(0), bound("maxItems"));
    let mut parts = vec![Rule::text("[")];
    if max != Some(0) {
        let item = names.name(item);
        let more = Rule::Seq(vec![Rule::text(spelling.comma()), item.clone()]);
        let mut list = vec![item];
        if max != Some(1) {
            list.push(more.many(min.saturating_sub(1), max.map(|max| max - 1)));
        }
        let list = Rule::Seq(list);
        parts.push(if min == 0 { list.maybe() } else { list });
    }
    parts.push(Rule::text("]"));
    Rule::Seq(parts)
}

fn object(root: &Value, schema: &Value, spelling: &dyn Spelling, names: &mut Names) -> Rule {
    let entry = |key: Rule, value: Rule| Rule::Seq(vec![key, Rule::text(spelling.colon()), value]);
    let mut list = Vec::new();
    for (name, member, required) in rules::properties(schema) {
        let rule = entry(spelling.key(name), value(root, member, spelling, names));
        list.push(Member { required, rule });
    }
    let others = rules::others(schema)
        .map(|schema| entry(spelling.any_key(), value(root, &schema, spelling, names)));
    let members = rules::members(list, others, spelling.comma(), names);
    Rule::Seq(vec![Rule::text("{"), members, Rule::text("}")])
}

fn any(spelling: &dyn Spelling, names: &mut Names) -> Rule {
    names.once("", |names| {
        let types = ["string", "number", "boolean", "null", "array", "object"];
        let root = Value::Null;
        let of = |name: &&str| shaped(&root, &json!({ "type": name }), spelling, names);
        Rule::Any(types.iter().map(of).collect())
    })
}

/// Exactly this value.
fn spelled(value: &Value, spelling: &dyn Spelling) -> Rule {
    let [null, yes, no] = spelling.words();
    let joined = |open: &str, parts: Vec<Rule>, close: &str| {
        let mut list = vec![Rule::text(open)];
        for (at, part) in parts.into_iter().enumerate() {
            if at > 0 {
                list.push(Rule::text(spelling.comma()));
            }
            list.push(part);
        }
        list.push(Rule::text(close));
        Rule::Seq(list)
    };
    match value {
        Value::String(text) => spelling.quoted(text),
        Value::Null => Rule::text(null),
        Value::Bool(value) => Rule::text(if *value { yes } else { no }),
        Value::Number(number) => Rule::text(number.to_string()),
        Value::Array(values) => {
            joined("[", values.iter().map(|value| spelled(value, spelling)).collect(), "]")
        }
        Value::Object(members) => {
            let entry = |(name, value): (&String, &Value)| {
                let colon = Rule::text(spelling.colon());
                Rule::Seq(vec![spelling.key(name), colon, spelled(value, spelling)])
            };
            joined("{", members.iter().map(entry).collect(), "}")
        }
    }
}
