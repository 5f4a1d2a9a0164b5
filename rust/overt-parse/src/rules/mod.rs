//! Rules that argument grammars share: lists with optional members, what a schema asks for, and in [`typed`] and
//! [`values`] what may stand as a value.

pub(crate) mod typed;
pub(crate) mod values;

use overt_rule::{Grammar, Rule};
use serde_json::{Value, json};

use crate::core::typed::reference;

/// Names of parameters of which nothing is declared.
pub(crate) const NAME: &str = "[A-Za-z_][A-Za-z0-9_.-]*";

/// The schema of a tool's arguments, which are an object.
pub(crate) fn arguments(parameters: &Value) -> Value {
    let Value::Object(schema) = parameters else {
        return json!({"type": "object"});
    };
    let mut schema = schema.clone();
    if !["type", "$ref", "anyOf", "oneOf", "allOf"].iter().any(|key| schema.contains_key(*key)) {
        schema.insert("type".to_owned(), Value::String("object".to_owned()));
    }
    Value::Object(schema)
}

/// Named rules of a grammar that is being built.
#[derive(Debug, Default)]
pub(crate) struct Names {
    rules: Vec<(String, Rule)>,
    /// Rules that are being built or have been, by what they are for.
    known: Vec<(String, String)>,
}

impl Names {
    /// Names `rule`, so that it can be used more than once without being written out again.
    pub(crate) fn name(&mut self, rule: Rule) -> Rule {
        let name = format!("r{}", self.rules.len());
        self.rules.push((name.clone(), rule));
        Rule::Named(name)
    }

    /// The rule that `key` stands for; `build` makes it, and may need it itself.
    pub(crate) fn once(&mut self, key: &str, build: impl FnOnce(&mut Self) -> Rule) -> Rule {
        if let Some((_, name)) = self.known.iter().find(|(known, _)| known == key) {
            return Rule::Named(name.clone());
        }
        let name = format!("r{}", self.rules.len());
        self.rules.push((name.clone(), Rule::Seq(Vec::new())));
        self.known.push((key.to_owned(), name.clone()));
        let at = self.rules.len() - 1;
        let rule = build(self);
        self.rules[at].1 = rule;
        Rule::Named(name)
    }

    pub(crate) fn grammar(self, start: Rule) -> Grammar {
        Grammar { start, rules: self.rules }
    }
}

/// A member of a list: whether it must come, and what it is.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) required: bool,
    pub(crate) rule: Rule,
}

/// Members in their order with `comma` between them, then any number of `others`.
pub(crate) fn members(
    list: Vec<Member>,
    others: Option<Rule>,
    comma: &str,
    names: &mut Names,
) -> Rule {
    let comma = || Rule::text(comma);
    // From the end on: what may come behind a member, and what may come as the first.
    let (mut behind, mut first) = match others {
        Some(rule) => {
            let rule = names.name(rule);
            let more = Rule::Seq(vec![comma(), rule.clone()]).many(0, None);
            (more.clone(), Rule::Seq(vec![rule, more]).maybe())
        }
        None => (Rule::Seq(Vec::new()), Rule::Seq(Vec::new())),
    };
    for Member { required, rule } in list.into_iter().rev() {
        let rule = names.name(rule);
        let rest = names.name(behind);
        let here = Rule::Seq(vec![rule.clone(), rest.clone()]);
        let after = Rule::Seq(vec![comma(), rule]);
        (behind, first) = if required {
            (Rule::Seq(vec![after, rest]), here)
        } else {
            (Rule::Seq(vec![after.maybe(), rest]), Rule::Any(vec![here, first]))
        };
    }
    first
}

/// `rule`, or as many of them as are wanted with `between` between them.
pub(crate) fn repeated(rule: Rule, between: &str, some: bool, names: &mut Names) -> Rule {
    if !some {
        return rule;
    }
    let rule = names.name(rule);
    Rule::Seq(vec![rule.clone(), Rule::Seq(vec![Rule::text(between), rule]).many(0, None)])
}

/// True where a string's schema says more than that it is one.
pub(crate) fn is_bounded(schema: &Value) -> bool {
    ["pattern", "minLength", "maxLength", "format"].iter().any(|key| schema.get(key).is_some())
}

/// What a schema asks for.
#[derive(Debug)]
pub(crate) enum Shape<'a> {
    /// Anything.
    Any,
    /// One of these values.
    Values(Vec<&'a Value>),
    /// One of these.
    Branches(Vec<Value>),
    /// A value of this type.
    Type(&'a str),
}

/// What `schema` asks for; local references are followed.
pub(crate) fn shape<'a>(schema: &'a Value) -> Shape<'a> {
    if let Some(Value::Array(values)) = schema.get("enum") {
        return Shape::Values(values.iter().collect());
    }
    if let Some(value) = schema.get("const") {
        return Shape::Values(vec![value]);
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(branches) =
            schema.get(key).and_then(Value::as_array).filter(|list| !list.is_empty())
        {
            return Shape::Branches(branches.clone());
        }
    }
    match schema.get("type") {
        Some(Value::String(name)) => Shape::Type(name),
        Some(Value::Array(types)) if !types.is_empty() => {
            let of = |name: &Value| {
                let mut branch = schema.as_object().cloned().unwrap_or_default();
                branch.insert("type".to_owned(), name.clone());
                Value::Object(branch)
            };
            Shape::Branches(types.iter().map(of).collect())
        }
        _ if schema.get("properties").is_some() => Shape::Type("object"),
        _ if schema.get("items").is_some() => Shape::Type("array"),
        _ => match schema.get("allOf") {
            Some(Value::Array(parts)) if parts.len() == 1 => Shape::Branches(parts.clone()),
            _ => Shape::Any,
        },
    }
}

/// The schema behind `schema`'s local references, and what stands for it as a name.
pub(crate) fn target<'a>(root: &'a Value, mut schema: &'a Value) -> (&'a Value, Option<&'a str>) {
    let mut name = None;
    for _ in 0..16 {
        let Some(found) = reference(root, schema) else { break };
        name = schema.get("$ref").and_then(Value::as_str);
        schema = found;
    }
    (schema, name)
}

/// An object's members: name, schema, and whether it must come.
pub(crate) fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value, bool)> {
    let required = schema.get("required").and_then(Value::as_array);
    let members = schema.get("properties").and_then(Value::as_object);
    members.into_iter().flatten().map(move |(name, member)| {
        let must = required.is_some_and(|names| names.iter().any(|n| n == name.as_str()));
        (name.as_str(), member, must)
    })
}

/// What an object's members that have no schema of their own must be; none where there may be none.
///
/// Members that nothing is said of are ruled out where others are declared: a model that may invent names does.
pub(crate) fn others(schema: &Value) -> Option<Value> {
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => None,
        Some(Value::Bool(true)) => Some(json!({})),
        Some(own @ Value::Object(_)) => Some(own.clone()),
        _ if schema.get("properties").is_none() => Some(json!({})),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::arguments;

    #[test]
    fn arguments_are_objects() {
        let typed = json!({"properties": {}, "type": "object"});
        assert_eq!(arguments(&json!(null)), json!({"type": "object"}));
        assert_eq!(arguments(&json!({"properties": {}})), typed);
        assert_eq!(arguments(&json!({"$ref": "#/$defs/a"})), json!({"$ref": "#/$defs/a"}));
    }
}
