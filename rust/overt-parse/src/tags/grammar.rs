//! What the model may write when it calls: its own spelling, with the values that the tools' schemas allow.

use overt_rule::Rule;
use serde_json::Value;

use crate::Tool;
use crate::core::typed::{Type, resolve};
use crate::format::Many;
use crate::rules::typed::{self as rules, spell};
use crate::tags::Shape;
use crate::tags::write::{self, opening};

pub(super) fn calls(shape: &Shape, tools: &[&Tool], many: Many) -> Rule {
    let line = if shape.lines { "\n" } else { "" };
    let word = |words: &'static [&'static str]| words.first().copied().unwrap_or_default();
    let (open, close) = (word(shape.open), word(shape.close));
    let call = Rule::Any(tools.iter().map(|tool| invoke(shape, tool, line)).collect());
    let wrapped = !open.is_empty();
    let mut first =
        if wrapped { spell(&format!("{open}{line}"), shape.tokens) } else { Vec::new() };
    let last = if wrapped { spell(close, shape.tokens) } else { Vec::new() };
    let behind = if wrapped { spell(line, &[]) } else { Vec::new() };
    let call = Rule::Seq([vec![call], behind].concat());
    if shape.each || !wrapped {
        let one = Rule::Seq([first, vec![call], last].concat());
        return match many {
            Many::One => one,
            Many::Some => {
                let next = Rule::Seq(vec![Rule::text("\n"), one.clone()]);
                Rule::Seq(vec![one, next.many(0, None)])
            }
        };
    }
    first.push(call.many(1, (many == Many::One).then_some(1)));
    first.extend(last);
    Rule::Seq(first)
}

/// One call of `tool`: required parameters in the schema's order, the others where they stand in it.
fn invoke(shape: &Shape, tool: &Tool, line: &str) -> Rule {
    let words = |text: String| spell(&text, shape.tokens);
    let word = |words: &'static [&'static str]| words.first().copied().unwrap_or_default();
    let name = opening(shape, word(shape.invoke), &tool.name, None);
    let mut rules = words(format!("{}{name}{line}", shape.before));
    let root = &tool.parameters;
    let schema = resolve(root, root);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    match schema.get("properties").and_then(Value::as_object) {
        Some(properties) => {
            for (key, property) in properties {
                let rule = parameter(shape, Some(key), root, property, line);
                rules.push(if required.contains(&key.as_str()) { rule } else { rule.maybe() });
            }
        }
        // Nothing is declared: any parameter may come.
        None => {
            let any = schema.get("additionalProperties").unwrap_or(&Value::Null);
            if any != &Value::Bool(false) {
                rules.push(parameter(shape, None, root, any, line).many(0, None));
            }
        }
    }
    rules.extend(words(format!("{}{}", word(shape.invoke_end), shape.after)));
    Rule::Seq(rules)
}

/// A parameter and the line feed behind it; `key` none: of any name.
fn parameter(shape: &Shape, key: Option<&str>, root: &Value, schema: &Value, line: &str) -> Rule {
    let kind = Type::of(root, schema);
    let with = |string: Option<bool>, values: Vec<Rule>| {
        Rule::Seq([head(shape, key, string), vec![Rule::Any(values)]].concat())
    };
    let text = || text(shape, resolve(root, schema), &kind, line);
    let json = || {
        let json = rules::json(root, schema, &kind);
        json.map(|json| [feed(shape), vec![json], tail(shape, line)].concat()).map(Rule::Seq)
    };
    let enumerated = rules::texts(&kind).is_some();
    if !shape.typed {
        // Of free text whatever else it may be is text as well.
        let others = if kind.string && !enumerated { None } else { json() };
        let texts = if kind.string { text() } else { Vec::new() };
        return with(None, texts.into_iter().chain(others).collect());
    }
    let texts = kind.string.then(|| with(Some(true), text()));
    let others = json().map(|json| with(Some(false), vec![json]));
    Rule::Any(texts.into_iter().chain(others).collect())
}

fn head(shape: &Shape, key: Option<&str>, string: Option<bool>) -> Vec<Rule> {
    let word = shape.parameter.first().copied().unwrap_or_default();
    let Some(key) = key else {
        // Any name stands between the two halves of a tag.
        let tag = opening(shape, word, "\0", string);
        let (before, after) = tag.split_once('\0').unwrap_or((&tag, ""));
        let name = vec![Rule::pattern("[^<>\"'\\s]+")];
        return [spell(before, shape.tokens), name, spell(after, shape.tokens)].concat();
    };
    spell(&opening(shape, word, key, string), shape.tokens)
}

/// The line feed before a value.
fn feed(shape: &Shape) -> Vec<Rule> {
    if shape.feeds { vec![Rule::text("\n")] } else { Vec::new() }
}

/// What stands behind a value.
fn tail(shape: &Shape, line: &str) -> Vec<Rule> {
    let end = shape.parameter_end.first().copied().unwrap_or_default();
    let feed = if shape.feeds { "\n" } else { "" };
    spell(&format!("{feed}{end}{line}"), shape.tokens)
}

/// The ways to write a string of `schema`, each with what stands behind it.
fn text(shape: &Shape, schema: &Value, kind: &Type, line: &str) -> Vec<Rule> {
    let tail = tail(shape, line);
    if let Some(texts) = rules::texts(kind) {
        let spelled = |text: &String| {
            let mut out = String::new();
            write::value(shape, &Value::String(text.clone()), &mut out);
            let out = if shape.feeds { out[..out.len() - 1].to_owned() } else { out };
            Rule::Seq([vec![Rule::text(out)], tail.clone()].concat())
        };
        return texts.iter().map(spelled).collect();
    }
    let end = shape.parameter_end.first().copied().unwrap_or_default();
    if shape.cdata {
        let section = rules::string(schema, &["]]>"]);
        let section = vec![Rule::text("<![CDATA["), section, Rule::text(format!("]]>{end}{line}"))];
        let plain = rules::string(schema, &["<", "&", "\n"]);
        return vec![Rule::Seq(section), Rule::Seq([vec![plain], tail].concat())];
    }
    let until = |ends: &[&str]| rules::string(schema, ends);
    let value = match tail.as_slice() {
        // The end of the text is the special token: the text before it in the closing tag may stand in the value.
        [Rule::Text(before), Rule::Marker(token), ..] => match until(&[before, token]) {
            until @ Rule::Until(_) => {
                let piece = Rule::Seq(vec![until, Rule::text(before)]).many(1, None);
                return vec![Rule::Seq([feed(shape), vec![piece], tail[1..].to_vec()].concat())];
            }
            bounded => bounded,
        },
        [Rule::Text(first), ..] if first != end => until(&[first, end]),
        _ => until(&[end]),
    };
    vec![Rule::Seq([feed(shape), vec![value], tail].concat())]
}
