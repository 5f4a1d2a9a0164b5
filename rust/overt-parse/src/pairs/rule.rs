//! What calls written as pairs may be.

use overt_rule::{Grammar, Rule};
use serde_json::Value;

use super::Shape;
use crate::Tool;
use crate::format::Many;
use crate::rules::{self, NAME, Names, typed};

pub(super) fn grammar(shape: &Shape, tools: &[&Tool], many: Many) -> Grammar {
    let mut names = Names::default();
    let blanks = &shape.blanks;
    let calls = tools.iter().map(|tool| call(shape, tool, &mut names)).collect();
    let calls = rules::repeated(Rule::Any(calls), blanks.calls, many == Many::Some, &mut names);
    let start = if shape.section.is_empty() {
        calls
    } else {
        let (open, close) = (marker(shape.section), marker(shape.section_end));
        let blank = || Rule::text(blanks.section);
        Rule::Seq(vec![open, blank(), calls, blank(), close])
    };
    names.grammar(start)
}

fn call(shape: &Shape, tool: &Tool, names: &mut Names) -> Rule {
    let blanks = &shape.blanks;
    let mut parts = vec![marker(shape.call), Rule::text(tool.name.as_str())];
    parts.push(marker(shape.name_end));
    parts.push(Rule::text(blanks.name));
    let root = &tool.parameters;
    let schema = rules::target(root, root).0;
    for (name, member, required) in rules::properties(schema) {
        let rule = pair(shape, Rule::text(name), value(root, member, shape));
        parts.push(if required { rule } else { rule.maybe() });
    }
    if let Some(other) = rules::others(schema) {
        let name = Rule::pattern(NAME);
        let rule = pair(shape, name, value(root, &other, shape));
        parts.push(names.name(rule).many(0, None));
    }
    parts.push(Rule::text(blanks.end));
    parts.push(marker(shape.call_end));
    Rule::Seq(parts)
}

fn pair(shape: &Shape, name: Rule, value: Rule) -> Rule {
    let blanks = &shape.blanks;
    Rule::Seq(vec![
        marker(shape.key),
        name,
        marker(shape.key_end),
        Rule::text(blanks.key),
        marker(shape.value),
        value,
        marker(shape.value_end),
        Rule::text(blanks.value),
    ])
}

/// A value of `schema`: text where that is allowed, else JSON.
fn value(root: &Value, schema: &Value, shape: &Shape) -> Rule {
    let ends = &shape.value_end[..shape.value_end.len().min(1)];
    let schema = rules::target(root, schema).0;
    match rules::shape(schema) {
        rules::Shape::Any => typed::string(schema, ends),
        rules::Shape::Values(values) if values.is_empty() => typed::string(schema, ends),
        rules::Shape::Values(values) => {
            let spelled = |value: &Value| match value {
                Value::String(text) => Rule::text(text.as_str()),
                other => Rule::text(other.to_string()),
            };
            Rule::Any(values.into_iter().map(spelled).collect())
        }
        rules::Shape::Branches(branches) => {
            let branch = |branch: &Value| value(root, branch, shape);
            Rule::Any(branches.iter().map(branch).collect())
        }
        rules::Shape::Type("string") => typed::string(schema, ends),
        rules::Shape::Type(_) => Rule::Json(typed::standalone(root, schema)),
    }
}

fn marker(tags: &[&'static str]) -> Rule {
    tags.first().map_or(Rule::Seq(Vec::new()), |tag| Rule::marker(*tag))
}
