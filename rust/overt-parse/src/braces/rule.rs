//! What calls in braces may be.

use overt_rule::{Grammar, Rule};
use serde_json::Value;

use super::Shape;
use crate::Tool;
use crate::format::Many;
use crate::rules::values::{self, Spelling};
use crate::rules::{self, Member, Names, typed};

pub(super) fn grammar(shape: &Shape, tools: &[&Tool], many: Many) -> Grammar {
    let mut names = Names::default();
    let call = |tool: &&Tool| {
        let root = &tool.parameters;
        let schema = rules::target(root, root).0;
        let mut list = Vec::new();
        for (key, member, required) in rules::properties(schema) {
            let value = values::value(root, member, shape, &mut names);
            let rule = Rule::Seq(vec![shape.key(key), Rule::text(":"), value]);
            list.push(Member { required, rule });
        }
        let others = rules::others(schema).map(|other| {
            let value = values::value(root, &other, shape, &mut names);
            Rule::Seq(vec![shape.any_key(), Rule::text(":"), value])
        });
        let arguments = rules::members(list, others, ",", &mut names);
        Rule::Seq(vec![Rule::text(format!("{}{{", tool.name)), arguments, Rule::text("}")])
    };
    let calls = Rule::Any(tools.iter().map(call).collect());
    let marker =
        |markers: &[&'static str]| Rule::marker(markers.first().copied().unwrap_or_default());
    let call =
        Rule::Seq(vec![marker(shape.open), Rule::text(shape.lead), calls, marker(shape.close)]);
    let start = rules::repeated(call, "", many == Many::Some, &mut names);
    names.grammar(start)
}

impl Spelling for Shape {
    fn string(&self, schema: &Value) -> Rule {
        let quote = self.first_quote();
        let text = typed::string(schema, &[quote]);
        Rule::Seq(vec![Rule::marker(quote), text, Rule::marker(quote)])
    }

    fn quoted(&self, text: &str) -> Rule {
        let quote = self.first_quote();
        if text.contains(quote) {
            let mut json = String::new();
            self.write_string(text, &mut json);
            return Rule::text(json);
        }
        Rule::Seq(vec![Rule::marker(quote), Rule::text(text), Rule::marker(quote)])
    }

    fn key(&self, name: &str) -> Rule {
        if super::is_bare(name) { Rule::text(name) } else { self.quoted(name) }
    }

    fn any_key(&self) -> Rule {
        Rule::Any(vec![Rule::pattern(r"[\w.$-]+"), self.string(&Value::Null)])
    }

    fn words(&self) -> [&'static str; 3] {
        ["null", "true", "false"]
    }

    fn comma(&self) -> &'static str {
        ","
    }

    fn colon(&self) -> &'static str {
        ":"
    }
}
