//! What calls written as Python's may be.

use overt_rule::{Grammar, Rule};
use serde_json::{Value, json};

use super::{Shape, write};
use crate::Tool;
use crate::format::Many;
use crate::rules::values::{self, Spelling};
use crate::rules::{self, Member, Names, typed};

pub(super) fn grammar(shape: &Shape, tools: &[&Tool], many: Many) -> Grammar {
    let mut names = Names::default();
    let spelling = Python { quote: shape.quote };
    let call = |tool: &&Tool| {
        let schema = rules::target(&tool.parameters, &tool.parameters).0;
        let mut list = Vec::new();
        for (key, member, required) in rules::properties(schema) {
            let value = values::value(&tool.parameters, member, &spelling, &mut names);
            list.push(Member {
                required,
                rule: Rule::Seq(vec![Rule::text(format!("{key}=")), value]),
            });
        }
        let others = rules::others(schema).map(|other| {
            let value = values::value(&tool.parameters, &other, &spelling, &mut names);
            Rule::Seq(vec![Rule::pattern("[A-Za-z_][A-Za-z0-9_]*="), value])
        });
        let arguments = rules::members(list, others, ", ", &mut names);
        Rule::Seq(vec![Rule::text(format!("{}(", tool.name)), arguments, Rule::text(")")])
    };
    let call = Rule::Any(tools.iter().map(call).collect());
    let calls = rules::repeated(call, shape.between, many == Many::Some, &mut names);
    let marker = |markers: &[&'static str]| {
        let marker = markers.first().filter(|_| !shape.bare);
        marker.map_or(Rule::Seq(Vec::new()), |marker| Rule::marker(*marker))
    };
    let bracket = |bracket: &str| Rule::text(if shape.list { bracket } else { "" });
    let start =
        Rule::Seq(vec![marker(shape.open), bracket("["), calls, bracket("]"), marker(shape.close)]);
    names.grammar(start)
}

struct Python {
    quote: char,
}

impl Spelling for Python {
    fn string(&self, schema: &Value) -> Rule {
        let bounded = rules::is_bounded(schema);
        // A JSON string is one of Python's too.
        let json = Rule::Json(if bounded { schema.clone() } else { json!({ "type": "string" }) });
        if self.quote == '"' {
            return json;
        }
        let single = if bounded {
            // What the schema says is said of a text without escapes.
            let text = typed::string(schema, &["'", "\\"]).both(Rule::pattern(r"[^\x00-\x1f]*"));
            Rule::Seq(vec![Rule::text("'"), text, Rule::text("'")])
        } else {
            Rule::pattern(r"'([^'\\\x00-\x1f]|\\['\x22\\nrt])*'")
        };
        Rule::Any(vec![single, json])
    }

    fn quoted(&self, text: &str) -> Rule {
        let mut spelled = String::new();
        write::string(text, self.quote, &mut spelled);
        Rule::text(spelled)
    }

    fn key(&self, name: &str) -> Rule {
        self.quoted(name)
    }

    fn any_key(&self) -> Rule {
        self.string(&Value::Null)
    }

    fn words(&self) -> [&'static str; 3] {
        ["None", "True", "False"]
    }

    fn comma(&self) -> &'static str {
        ", "
    }

    fn colon(&self) -> &'static str {
        ": "
    }
}
