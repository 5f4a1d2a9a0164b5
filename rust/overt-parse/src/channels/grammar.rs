//! What may be written when calling.

use overt_rule::{Grammar, Rule};
use serde_json::{Map, Value, json};

use super::write::{attribute, brackets, escaped};
use super::{Calls, Elements, Invokes, Objects, Shape};
use crate::Tool;
use crate::core::typed::{Type, quote};
use crate::format::Many;
use crate::rules::{self, NAME, typed};

/// At least one call of `tools`, from what stands before the first to what stands behind the last.
pub(super) fn grammar(shape: &Shape, tools: &[&Tool], many: Many) -> Grammar {
    let frame = shape.frame;
    let call = Rule::Any(tools.iter().map(|tool| one(shape, tool)).collect());
    let mut rules = Vec::new();
    if !frame.empty.is_empty() {
        let empty = frame.empty.iter().map(|text| Rule::Seq(spelled(shape, text))).collect();
        rules.push(Rule::Any(empty).maybe());
    }
    rules.extend(spelled(shape, frame.open));
    if frame.open.is_empty() {
        rules.push(Rule::Seq(spelled(shape, frame.between)).maybe());
    }
    rules.push(call.clone());
    if many == Many::Some {
        let next = [spelled(shape, frame.between), vec![call]].concat();
        rules.push(Rule::Seq(next).many(0, None));
    }
    rules.extend(spelled(shape, frame.close));
    Rule::Seq(rules).into()
}

fn one(shape: &Shape, tool: &Tool) -> Rule {
    let frame = shape.frame;
    let name = [spelled(shape, frame.before), vec![Rule::text(&tool.name)]].concat();
    let behind = spelled(shape, frame.behind);
    let mut rules = Vec::new();
    match shape.calls {
        _ if frame.behind.is_empty() => {}
        // The name stands in the body as well: a call may begin there.
        Calls::Objects(_) => {
            rules.push(Rule::Seq(name).maybe());
            rules.extend(behind);
        }
        _ => rules.extend([name, behind].concat()),
    }
    rules.push(match shape.calls {
        Calls::Arguments => Rule::Json(rules::arguments(&tool.parameters)),
        Calls::Objects(words) => object(&words, tool),
        Calls::Invokes(words) => invoke(shape, &words, tool),
        Calls::Elements(words) => element(shape, &words, tool),
    });
    rules.extend(spelled(shape, frame.after));
    Rule::Seq(rules)
}

fn object(words: &Objects, tool: &Tool) -> Rule {
    let first = |list: &[&'static str]| list.first().copied().unwrap_or_default();
    let mut start = String::from("{");
    let mut rules = Vec::new();
    if !words.number.is_empty() {
        rules.push(Rule::text(format!("{{\"{}\": \"", words.number)));
        rules.push(Rule::pattern("[0-9]{1,4}"));
        start = String::from("\", ");
    }
    start.push_str(&format!("\"{}\": ", first(words.keys.name)));
    quote(&tool.name, &mut start);
    rules.push(Rule::text(format!("{start}, \"{}\": ", first(words.keys.arguments))));
    rules.push(Rule::Json(rules::arguments(&tool.parameters)));
    rules.push(Rule::text("}"));
    Rule::Seq(rules)
}

/// `text` with the family's markers as such.
pub(super) fn spelled(shape: &Shape, text: &str) -> Vec<Rule> {
    typed::spell(text, &markers(shape))
}

/// Every marker of the family.
fn markers(shape: &Shape) -> Vec<&'static str> {
    let bodies = shape.bodies.iter().map(|opener| opener.marker);
    let lists = [shape.heads, shape.parts, shape.ends, shape.closers];
    lists.into_iter().flatten().copied().chain(bodies).collect()
}

/// The parameters in the schema's order, of which those that are not required may be left out, then any others that
/// the schema allows. `write` is given the name and the schema.
fn parameters(tool: &Tool, write: impl Fn(Rule, &Value) -> Rule) -> Vec<Rule> {
    let root = &tool.parameters;
    let schema = rules::target(root, root).0;
    let declared = rules::properties(schema).map(|(name, schema, required)| {
        let rule = write(Rule::text(name), schema);
        if required { rule } else { rule.maybe() }
    });
    let others = rules::others(schema);
    let others = others.map(|schema| write(Rule::pattern(NAME), &schema).many(0, None));
    declared.chain(others).collect()
}

fn invoke(shape: &Shape, words: &Invokes, tool: &Tool) -> Rule {
    let Invokes { open, close, invoke, invoke_end, parameter, parameter_end, name_end } = *words;
    let ends = [&[parameter_end], markers(shape).as_slice()].concat();
    let mut rules = vec![Rule::text(format!("{open}\n{invoke}{}{name_end}\n", tool.name))];
    rules.extend(parameters(tool, |name, schema| {
        let value = typed::value(&tool.parameters, schema, &ends);
        let (start, end) = (Rule::text(parameter), Rule::text(format!("{parameter_end}\n")));
        Rule::Seq(vec![start, name, Rule::text(name_end), value, end])
    }));
    rules.push(Rule::text(format!("{invoke_end}\n{close}")));
    Rule::Seq(rules)
}

fn element(shape: &Shape, words: &Elements, tool: &Tool) -> Rule {
    let [open, sep, close] = brackets(shape);
    let Elements { call, name, parameter, key, kind: kind_name, .. } = *words;
    let start = |text: String| [Rule::marker(open), Rule::text(text)];
    let end = |tag: &str| [Rule::marker(close), Rule::text(tag), Rule::marker(sep)];
    let mut rules = Vec::from(start(format!("{call} {} index=\"", attribute(name, &tool.name))));
    rules.extend([Rule::pattern("[1-9][0-9]{0,3}"), Rule::text("\""), Rule::marker(sep)]);
    let root = &tool.parameters;
    rules.extend(parameters(tool, |name, schema| {
        let name = match name {
            Rule::Text(name) => Rule::text(escaped(&name)),
            any => any,
        };
        let value = |kind: &str, values: Vec<Rule>| {
            let mut rules = Vec::from(start(format!("{parameter} {key}=\"")));
            rules.push(name.clone());
            rules.push(Rule::text(format!("\" {}", attribute(kind_name, kind))));
            rules.extend([Rule::marker(sep), Rule::Any(values)]);
            rules.extend(end(parameter));
            Rule::Seq(rules)
        };
        let kind = Type::of(root, schema);
        let texts = match typed::texts(&kind) {
            Some(texts) => texts.iter().map(Rule::text).collect(),
            None => vec![typed::string(rules::target(root, schema).0, &markers(shape))],
        };
        let alone = typed::standalone(root, rules::target(root, schema).0);
        let json = |kind: &str| vec![Rule::Json(of_type(&alone, kind))];
        let number = if kind.number { "number" } else { "integer" };
        let kinds = [
            kind.string.then(|| value("string", texts)),
            (kind.integer || kind.number).then(|| value("number", json(number))),
            kind.boolean.then(|| value("boolean", json("boolean"))),
            kind.null.then(|| value("null", json("null"))),
            kind.object.then(|| value("object", json("object"))),
            kind.array.then(|| value("array", json("array"))),
        ];
        Rule::Any(kinds.into_iter().flatten().collect())
    }));
    rules.extend(end(call));
    Rule::Seq(rules)
}

/// `schema` narrowed to one type.
fn of_type(schema: &Value, kind: &str) -> Value {
    let mut narrowed = schema.clone();
    match &mut narrowed {
        Value::Object(fields) if fields.get("type").is_some_and(Value::is_string) => {}
        Value::Object(fields) if ["anyOf", "oneOf"].iter().any(|key| fields.contains_key(*key)) => {
            return branch(schema, kind).unwrap_or_else(|| json!({"type": kind}));
        }
        Value::Object(fields) if !fields.contains_key("$ref") => {
            fields.insert("type".to_owned(), Value::from(kind));
        }
        Value::Object(_) => {}
        _ => return json!({"type": kind}),
    }
    narrowed
}

/// The branch of a choice that is of this type.
fn branch(schema: &Value, kind: &str) -> Option<Value> {
    let branches = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(key)?.as_array())?;
    let found = branches.iter().find(|branch| branch.get("type").is_some_and(|t| t == kind))?;
    let mut found = found.as_object().cloned().unwrap_or_else(Map::new);
    for key in ["$defs", "definitions"] {
        if let Some(definitions) = schema.get(key) {
            found.insert(key.to_owned(), definitions.clone());
        }
    }
    Some(Value::Object(found))
}
