//! Writes calls as a declaration has them, and says what may be written.

use overt_rule::{Grammar, Rule};
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Value, json};

use super::content::Content;
use super::delimiter::Delimiter;
use super::load::{Declaration, Field, Role};
use super::source::{CallSource, Source};
use crate::Tool;
use crate::core::typed::Type;
use crate::format::{Many, Written};

/// The fixed text that every match of `hir` begins with.
pub(super) fn prefix(hir: &Hir) -> String {
    fn add(hir: &Hir, out: &mut String) -> bool {
        match hir.kind() {
            HirKind::Literal(literal) => {
                out.push_str(&String::from_utf8_lossy(&literal.0));
                true
            }
            HirKind::Concat(parts) => parts.iter().all(|part| add(part, out)),
            HirKind::Capture(capture) => add(&capture.sub, out),
            // White space that may be absent: a model that calls leaves it out.
            HirKind::Repetition(repetition) => repetition.min == 0 && repetition.max.is_none(),
            _ => false,
        }
    }
    let mut out = String::new();
    add(hir, &mut out);
    out
}

/// A short text that `hir` matches; its named groups hold what `group` says.
fn example(hir: &Hir, group: &dyn Fn(&str) -> Option<String>, out: &mut String) {
    match hir.kind() {
        HirKind::Literal(literal) => out.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Concat(parts) => parts.iter().for_each(|part| example(part, group, out)),
        HirKind::Alternation(parts) => {
            if let Some(part) = parts.first() {
                example(part, group, out);
            }
        }
        HirKind::Repetition(repetition) => {
            (0..repetition.min).for_each(|_| example(&repetition.sub, group, out));
        }
        HirKind::Capture(capture) => match capture.name.as_deref().and_then(group) {
            Some(text) => out.push_str(&text),
            None => example(&capture.sub, group, out),
        },
        HirKind::Class(Class::Unicode(class)) => {
            let usual = ['0', 'a', 'A', ' '];
            let holds =
                |c: &char| class.iter().any(|range| range.start() <= *c && *c <= range.end());
            let other = class.iter().next().map(|range| range.start());
            out.extend(usual.iter().find(|c| holds(c)).copied().or(other));
        }
        HirKind::Class(Class::Bytes(_)) | HirKind::Empty | HirKind::Look(_) => {}
    }
}

fn delimiter(delimiter: Option<&Delimiter>, group: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    match delimiter {
        Some(delimiter) if !delimiter.literals.is_empty() => out.push_str(&delimiter.literals[0]),
        Some(delimiter) => example(&delimiter.hir, group, &mut out),
        None => {}
    }
    out
}

/// The field of calls, and how they are found in it.
fn calls(declaration: &Declaration) -> Option<(&Field, &CallSource)> {
    declaration.fields.iter().find_map(|field| match &field.role {
        Role::Calls(source) => Some((field, source)),
        _ => None,
    })
}

/// What the groups around a call of `name` hold.
fn group(source: &CallSource, name: &str, index: usize) -> impl Fn(&str) -> Option<String> {
    let holds = |place: Option<&Source>| match place {
        Some(Source::Place { root, path }) if path.is_empty() => Some(root.clone()),
        _ => None,
    };
    let (names, ids) = (holds(Some(&source.name)), holds(source.id.as_ref()));
    let name = name.to_owned();
    move |group| match group {
        _ if names.as_deref() == Some(group) => Some(name.clone()),
        _ if ids.as_deref() == Some(group) => Some(format!("call_{index}")),
        _ => None,
    }
}

/// Writes calls; nothing where the declaration has none.
pub(super) fn write(declaration: &Declaration, written: &[Written<'_>], out: &mut String) {
    let Some((field, source)) = calls(declaration) else { return };
    // A list holds all calls, anything else one.
    let size = if is_list(field, source) { written.len().max(1) } else { 1 };
    for (index, chunk) in written.chunks(size).enumerate() {
        let group = group(source, chunk[0].name, index);
        out.push_str(&delimiter(field.open.as_ref(), &group));
        body(field, source, chunk, out);
        out.push_str(&delimiter(field.close.as_ref(), &group));
    }
}

fn is_list(field: &Field, source: &CallSource) -> bool {
    source.each || matches!(field.content, Content::Calls)
}

fn body(field: &Field, source: &CallSource, calls: &[Written<'_>], out: &mut String) {
    let call = &calls[0];
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let arguments = call.arguments.as_object();
    match &field.content {
        Content::Xml { hir, .. } => {
            for (key, value) in arguments.into_iter().flatten() {
                example(hir, &pair(key, &text(value)), out);
            }
        }
        Content::Lines { line, separator, .. } => {
            for (key, value) in arguments.into_iter().flatten() {
                out.push_str(&format!("{key}{separator}{}{line}", text(value)));
            }
        }
        Content::Calls => {
            let one = |call: &Written<'_>| {
                let pairs = call.arguments.as_object().into_iter().flatten();
                let pairs: Vec<_> = pairs.map(|(key, value)| format!("{key}={value}")).collect();
                format!("{}({})", call.name, pairs.join(", "))
            };
            out.push_str(&format!("[{}]", calls.iter().map(one).collect::<Vec<_>>().join(", ")));
        }
        _ if source.each => {
            let items: Vec<String> = calls.iter().map(|call| json_of(source, call)).collect();
            out.push_str(&format!("[{}]", items.join(", ")));
        }
        _ => out.push_str(&json_of(source, call)),
    }
}

fn pair(key: &str, value: &str) -> impl Fn(&str) -> Option<String> {
    let (key, value) = (key.to_owned(), value.to_owned());
    move |group| match group {
        "key" => Some(key.clone()),
        "value" => Some(value.clone()),
        _ => None,
    }
}

/// The content of one call as JSON.
fn json_of(source: &CallSource, call: &Written<'_>) -> String {
    let mut content = Value::Null;
    let mut put = |place: &Source, value: Value| {
        if let Some(keys) = path(place, source.each) {
            let mut at = &mut content;
            for key in keys {
                if !at.is_object() {
                    *at = json!({});
                }
                at = &mut at[key];
            }
            *at = value;
        }
    };
    put(&source.name, Value::from(call.name));
    put(&source.arguments, call.arguments.clone());
    content.to_string()
}

/// The keys that lead to a place in the content.
fn path(place: &Source, each: bool) -> Option<Vec<&str>> {
    match place {
        Source::Place { root, path } if each => {
            Some([root.as_str()].into_iter().chain(path.iter().map(String::as_str)).collect())
        }
        Source::Place { root, path } if root == "content" => {
            Some(path.iter().map(String::as_str).collect())
        }
        _ => None,
    }
}

/// What may be written when calling; nothing can where the declaration has no calls.
pub(super) fn grammar(declaration: &Declaration, tools: &[&Tool], many: Many) -> Grammar {
    let Some((field, source)) = calls(declaration) else { return Rule::Any(Vec::new()).into() };
    let bodies: Vec<Rule> = tools.iter().map(|tool| content(field, source, tool)).collect();
    let again = |rule: &Rule, between: &str| {
        let next = Rule::Seq(vec![Rule::text(between), rule.clone()]);
        if many == Many::Some { next.many(0, None) } else { Rule::Seq(Vec::new()) }
    };
    if is_list(field, source) {
        let call = Rule::Any(bodies);
        let more = again(&call, ", ");
        let (open, close) =
            (spelled(field.open.as_ref(), source, ""), spelled(field.close.as_ref(), source, ""));
        return Rule::Seq(vec![open, Rule::text("["), call, more, Rule::text("]"), close]).into();
    }
    let one = |(tool, body): (&&Tool, Rule)| {
        let open = spelled(field.open.as_ref(), source, &tool.name);
        Rule::Seq(vec![open, body, spelled(field.close.as_ref(), source, &tool.name)])
    };
    let call = Rule::Any(tools.iter().zip(bodies).map(one).collect());
    let more = again(&call, "");
    Rule::Seq(vec![call, more]).into()
}

/// A delimiter; what looks like a special token in it is one where the vocabulary has it.
fn spelled(found: Option<&Delimiter>, source: &CallSource, name: &str) -> Rule {
    let text = delimiter(found, &group(source, name, 0));
    let mut rules = Vec::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['<', '[']) {
        let close = if rest[at..].starts_with('<') { '>' } else { ']' };
        let inner = |text: &str| !text[1..].contains(['<', '[', ' ', '\n']);
        let end = rest[at..].find(close).map(|end| at + end + 1);
        let Some(end) = end.filter(|end| inner(&rest[at..*end])) else { break };
        rules.extend([Rule::text(&rest[..at]), Rule::marker(&rest[at..end])]);
        rest = &rest[end..];
    }
    rules.push(Rule::text(rest));
    Rule::Seq(rules)
}

fn schema(tool: &Tool) -> Value {
    if tool.parameters.is_object() { tool.parameters.clone() } else { json!({"type": "object"}) }
}

/// A parameter's schema with the definitions it may refer to.
fn alone(tool: &Tool, schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(fields) = &mut schema {
        for key in ["$defs", "definitions"] {
            if let Some(definitions) = tool.parameters.get(key) {
                fields.entry(key).or_insert_with(|| definitions.clone());
            }
        }
    }
    schema
}

fn content(field: &Field, source: &CallSource, tool: &Tool) -> Rule {
    match &field.content {
        Content::Xml { hir, .. } => Rule::Seq(parameters(tool, |key, schema| {
            let mut text = String::new();
            example(hir, &pair(key, "\u{0}"), &mut text);
            let (before, behind) = text.split_once('\u{0}').unwrap_or((&text, ""));
            let value = value(tool, schema, behind);
            Rule::Seq(vec![Rule::text(before), value, Rule::text(behind)])
        })),
        Content::Lines { line, separator, .. } => Rule::Seq(parameters(tool, |key, schema| {
            let value = value(tool, schema, line);
            Rule::Seq(vec![Rule::text(format!("{key}{separator}")), value, Rule::text(line)])
        })),
        Content::Calls => {
            let list = parameters_of(tool);
            let call = arguments(tool, &list, true);
            Rule::Seq(vec![Rule::text(format!("{}(", tool.name)), call, Rule::text(")")])
        }
        _ => {
            // The arguments' place is found by writing a call whose arguments are a mark.
            let mark = Value::from("\u{0}");
            let text = json_of(source, &Written { name: &tool.name, arguments: &mark, tool: None });
            let (before, behind) = text.split_once("\"\\u0000\"").unwrap_or((&text, ""));
            let arguments = Rule::Json(schema(tool));
            Rule::Seq(vec![Rule::text(before), arguments, Rule::text(behind)])
        }
    }
}

/// Name, schema, and whether it must be given.
fn parameters_of(tool: &Tool) -> Vec<(&String, &Value, bool)> {
    let required = |name: &str| {
        let list = tool.parameters.get("required").and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|item| item == name))
    };
    let properties = tool.parameters.get("properties").and_then(Value::as_object);
    let all = properties.into_iter().flatten();
    all.map(|(name, schema)| (name, schema, required(name))).collect()
}

fn parameters(tool: &Tool, write: impl Fn(&str, &Value) -> Rule) -> Vec<Rule> {
    let rule = |(name, schema, required): (&String, &Value, bool)| {
        let rule = write(name, schema);
        if required { rule } else { rule.maybe() }
    };
    parameters_of(tool).into_iter().map(rule).collect()
}

/// Keyword arguments with commas between; `first`: none came before.
fn arguments(tool: &Tool, list: &[(&String, &Value, bool)], first: bool) -> Rule {
    let Some(((name, schema, required), rest)) = list.split_first() else {
        return Rule::Seq(Vec::new());
    };
    let comma = if first { "" } else { ", " };
    let own = vec![Rule::text(format!("{comma}{name}=")), Rule::Json(alone(tool, schema))];
    let with = Rule::Seq([own, vec![arguments(tool, rest, false)]].concat());
    if *required { with } else { Rule::Any(vec![with, arguments(tool, rest, first)]) }
}

/// One value in text that ends before `behind`.
fn value(tool: &Tool, schema: &Value, behind: &str) -> Rule {
    let kind = Type::of(&tool.parameters, schema);
    let texts = |key: &str| schema.get(key).and_then(Value::as_array);
    match texts("enum") {
        Some(values) if values.iter().all(Value::is_string) && !values.is_empty() => {
            Rule::Any(values.iter().filter_map(Value::as_str).map(Rule::text).collect())
        }
        _ if kind.string && behind.is_empty() => Rule::until(Vec::<String>::new()),
        _ if kind.string => Rule::until([behind]),
        _ => Rule::Json(alone(tool, schema)),
    }
}
