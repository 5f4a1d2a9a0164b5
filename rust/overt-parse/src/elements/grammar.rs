//! What the model may write when it calls: elements in elements, as the tools' schemas nest.

use std::collections::BTreeMap;

use overt_rule::{Grammar, Rule};
use serde_json::{Map, Value};

use crate::Tool;
use crate::core::typed::{Type, reference, resolve};
use crate::elements::Shape;
use crate::format::Many;
use crate::rules::typed::{spell, standalone, value};
use crate::rules::{NAME, others};

/// How deep schemas may nest before the rest is JSON.
const DEPTH: u32 = 32;

pub(super) fn calls(shape: &Shape, tools: &[&Tool], many: Many) -> Grammar {
    let word = |words: &'static [&'static str]| words.first().copied().unwrap_or_default();
    let spell = |text: String| spell(&text, &[shape.mark]);
    let mut rules = Vec::new();
    let mut options = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let root = &tool.parameters;
        let mut writer = Writer { shape, root, index, names: BTreeMap::new(), rules: Vec::new() };
        let mut call = spell(format!("{}\"{}\">", word(shape.invoke), tool.name));
        call.extend(writer.members(resolve(root, root), DEPTH));
        call.extend(spell(format!("{}\n", word(shape.invoke_end))));
        options.push(Rule::Seq(call));
        rules.extend(writer.rules);
    }
    let mut all = spell(format!("{}\n", word(shape.open)));
    all.push(Rule::Any(options).many(1, (many == Many::One).then_some(1)));
    all.extend(spell(word(shape.close).to_owned()));
    Grammar { start: Rule::Seq(all), rules }
}

struct Writer<'a> {
    shape: &'a Shape,
    root: &'a Value,
    /// The tool's number, for names of rules.
    index: usize,
    /// Names of the rules of what references point at.
    names: BTreeMap<String, String>,
    rules: Vec<(String, Rule)>,
}

impl<'a> Writer<'a> {
    /// The members of an object: those required, and maybe the others, in the schema's order.
    fn members(&mut self, schema: &'a Value, depth: u32) -> Vec<Rule> {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |key: &str| required.is_some_and(|list| list.iter().any(|name| name == key));
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut rules = Vec::new();
        for (key, property) in properties.into_iter().flatten() {
            let member = self.element(key, property, depth);
            rules.push(if is_required(key) { member } else { member.maybe() });
        }
        if let Some(other) = others(schema) {
            let content = match other.as_object().is_some_and(Map::is_empty) {
                true => self.any(),
                false => value(self.root, &other, &[self.shape.mark]),
            };
            rules.push(self.other(content).many(0, None));
        }
        rules
    }

    /// An element of any name. That its two tags have one name is more than a grammar can say.
    fn other(&self, content: Rule) -> Rule {
        let tag = |open: &str| spell(&format!("{}{open}", self.shape.mark), &[self.shape.mark]);
        let mut rules = tag("<");
        rules.extend([Rule::pattern(NAME), Rule::text(">"), content]);
        rules.extend(tag("</"));
        rules.extend([Rule::pattern(NAME), Rule::text(">")]);
        Rule::Seq(rules)
    }

    /// Text, or elements of any names.
    fn any(&mut self) -> Rule {
        let name = format!("{}#any", self.index);
        let rule = Rule::named(name.as_str());
        if self.rules.iter().all(|(known, _)| *known != name) {
            let nested = self.other(rule.clone()).many(1, None);
            let any = Rule::Any(vec![Rule::until([self.shape.mark]), nested]);
            self.rules.push((name, any));
        }
        rule
    }

    fn element(&mut self, name: &str, schema: &'a Value, depth: u32) -> Rule {
        let mark = self.shape.mark;
        let mut rules = spell(&format!("{mark}<{name}>"), &[mark]);
        rules.push(self.content(schema, depth));
        rules.extend(spell(&format!("{mark}</{name}>"), &[mark]));
        Rule::Seq(rules)
    }

    /// What may stand in an element of `schema`.
    fn content(&mut self, schema: &'a Value, depth: u32) -> Rule {
        let pointer = schema.get("$ref").and_then(Value::as_str);
        let (Some(pointer), Some(target)) = (pointer, reference(self.root, schema)) else {
            return self.inside(schema, depth);
        };
        if Type::of(self.root, target).string {
            // Text is written where it stands: the marker that ends it must be in sight.
            return self.inside(resolve(self.root, target), depth);
        }
        if let Some(name) = self.names.get(pointer) {
            return Rule::named(name.as_str());
        }
        let name = format!("{}{pointer}", self.index);
        self.names.insert(pointer.to_owned(), name.clone());
        let rule = self.content(target, depth.saturating_sub(1));
        self.rules.push((name.clone(), rule));
        Rule::named(name)
    }

    fn inside(&mut self, schema: &'a Value, depth: u32) -> Rule {
        let kind = Type::of(self.root, schema);
        if kind.string {
            return value(self.root, schema, &[self.shape.mark]);
        }
        let scalar = kind.integer || kind.number || kind.boolean || kind.null;
        let depth = depth.saturating_sub(1);
        let count =
            |key| schema.get(key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        match (schema.get("properties"), schema.get("items")) {
            (Some(_), _) | (None, None) if depth > 0 && kind.object && !kind.array && !scalar => {
                Rule::Seq(self.members(schema, depth))
            }
            (_, Some(items)) if depth > 0 && kind.array && !kind.object && !scalar => self
                .element(self.shape.item, items, depth)
                .many(count("minItems").unwrap_or(0), count("maxItems")),
            _ => Rule::Json(standalone(self.root, schema)),
        }
    }
}
