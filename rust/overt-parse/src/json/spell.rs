//! Writes calls as the model does, and the grammar of what it may write.

use std::io;

use overt_rule::{Grammar, Rule};
use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Value, json};

use super::Shape;
use crate::core::typed::quote;
use crate::format::{Many, Written};
use crate::rules::arguments;
use crate::rules::typed::{spell, standalone};
use crate::{Tool, leak};

/// The texts around calls: `prefix`, then `before NAME middle ARGUMENTS after` for each call with `between` two of
/// them, then `suffix`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Spelling {
    /// Before all calls.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) prefix: leak::Text,
    /// Before a name.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) before: leak::Text,
    /// Between a name and its arguments.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) middle: leak::Text,
    /// Behind arguments.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) after: leak::Text,
    /// Between two calls.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) between: leak::Text,
    /// Behind all calls.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) suffix: leak::Text,
    /// The name stands in a JSON string.
    pub(crate) quoted: bool,
}

impl Spelling {
    /// Nothing but names and arguments.
    pub(crate) const PLAIN: Self = Self {
        prefix: "",
        before: "",
        middle: "",
        after: "",
        between: "",
        suffix: "",
        quoted: false,
    };

    /// The objects of a list, whose markers and brackets are still to be put around them.
    pub(crate) const LIST: Self = Self {
        prefix: "",
        before: "{\"name\": \"",
        middle: "\", \"arguments\": ",
        after: "}",
        between: ", ",
        suffix: "",
        quoted: true,
    };

    pub(super) fn write(&self, shape: &Shape, calls: &[Written<'_>], out: &mut String) {
        if calls.is_empty() {
            return;
        }
        out.push_str(self.prefix);
        for (index, call) in calls.iter().enumerate() {
            if index > 0 {
                out.push_str(self.between);
            }
            out.push_str(self.before);
            out.push_str(&self.name(call.name));
            if is_numbered(shape) {
                out.push(':');
                out.push_str(&index.to_string());
            }
            out.push_str(self.middle);
            out.push_str(&spaced(call.arguments));
            out.push_str(self.after);
        }
        out.push_str(self.suffix);
    }

    fn name(&self, name: &str) -> String {
        if !self.quoted {
            return name.to_owned();
        }
        let mut quoted = String::new();
        quote(name, &mut quoted);
        // The quotation marks are part of the texts around it.
        quoted[1..quoted.len() - 1].to_owned()
    }

    /// A call as one JSON value; none where its texts are none, or where a marker announces it.
    fn value(&self, shape: &Shape, tool: &Tool) -> Option<Rule> {
        if shape.bare.is_empty() || !self.quoted || names_its_parts(&tool.parameters) {
            return None;
        }
        let text =
            format!("{}{}{}{{}}{}", self.before, self.name(&tool.name), self.middle, self.after);
        let Ok(Value::Object(call)) = serde_json::from_str(&text) else { return None };
        let mut parameters = arguments(&tool.parameters);
        parameters = standalone(&parameters, &parameters);
        let definitions = parameters.as_object_mut().and_then(|schema| schema.remove("$defs"));
        let mut schema = json!({"type": "object", "additionalProperties": false});
        schema["required"] = call.keys().map(String::as_str).collect();
        for (key, value) in call {
            schema["properties"][key] = match value {
                Value::Object(_) => parameters.clone(),
                value => json!({"const": value}),
            };
        }
        if let Some(definitions) = definitions {
            schema["$defs"] = definitions;
        }
        Some(Rule::Json(schema))
    }

    /// `values`: calls are JSON values as a whole, where they can be.
    fn rule(&self, shape: &Shape, tools: &[&Tool], many: bool, values: bool) -> Rule {
        let call = |tool: &&Tool| {
            let mut rules = Vec::new();
            rules.push(Rule::text(self.name(&tool.name)));
            if is_numbered(shape) {
                rules.push(Rule::pattern(":(?:0|[1-9][0-9]{0,3})"));
            }
            rules.extend(spell(self.middle, shape.pieces));
            rules.push(Rule::Json(arguments(&tool.parameters)));
            Rule::Seq(rules)
        };
        let values: Option<Vec<Rule>> =
            tools.iter().map(|tool| self.value(shape, tool).filter(|_| values)).collect();
        let one = values.map_or_else(
            || {
                let mut one = spell(self.before, shape.pieces);
                one.push(Rule::Any(tools.iter().map(call).collect()));
                one.extend(spell(self.after, shape.pieces));
                Rule::Seq(one)
            },
            Rule::Any,
        );

        let mut all = Vec::new();
        all.extend(spell(self.prefix, shape.pieces));
        all.push(one.clone());
        if many {
            let mut more = Vec::new();
            more.extend(spell(self.between, shape.pieces));
            more.push(one);
            all.push(Rule::Seq(more).many(0, None));
        }
        all.extend(spell(self.suffix, shape.pieces));
        Rule::Seq(all)
    }
}

/// Whether a schema refers to parts of itself by names that only hold where it stands alone.
fn names_its_parts(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(key, member)| {
            matches!(key.as_str(), "$id" | "$anchor" | "$dynamicAnchor") || names_its_parts(member)
        }),
        Value::Array(members) => members.iter().any(names_its_parts),
        _ => false,
    }
}

fn is_numbered(shape: &Shape) -> bool {
    shape.header.is_some_and(|header| header.numbered)
}

pub(super) fn grammar(shape: &Shape, tools: &[&Tool], many: Many, values: bool) -> Grammar {
    let many = many == Many::Some && !shape.single;
    let mut rules: Vec<Rule> =
        shape.spellings.iter().map(|spelling| spelling.rule(shape, tools, many, values)).collect();
    match rules.len() {
        1 => rules.remove(0).into(),
        _ => Rule::Any(rules).into(),
    }
}

/// JSON as models write it: a space behind each comma and colon.
pub(crate) fn spaced(value: &Value) -> String {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, Spaced);
    // Writing a value into memory cannot fail.
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        Err(_) => value.to_string(),
    }
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::spaced;

    #[test]
    fn json_is_spaced_as_models_write_it() {
        assert_eq!(
            spaced(&json!({"a": [1, {}, []], "b": {"c": "é,:"}})),
            r#"{"a": [1, {}, []], "b": {"c": "é,:"}}"#
        );
    }
}
