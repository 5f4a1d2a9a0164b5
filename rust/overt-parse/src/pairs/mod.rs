//! Calls written as a name and pairs of keys and values:
//! `<tool_call>NAME<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>`.
//!
//! - The tool's schema says what a value is: a string is said as it comes, byte for byte; anything else when it ends.
//! - A call begins with its first value, or where its closing tag stands behind the name. What breaks before that is
//!   text, from the section's opener on; what breaks later is ended, its object closed. Where the output ends within
//!   a call nothing is made up to close it.
//! - A value's closing tag ends it only if a tag that may follow comes next, else it is text of the value.
//! - Read as meant: tags of a section that are missing, a tag that comes twice, a key's closing tag or a value's
//!   opening tag that is missing, a call whose closing tag is missing before the next call or the section's end.
//! - Of a key that comes twice the first value counts.
//! - A closing tag that follows a call is dropped; any other is text.

mod call;
mod reader;
mod rule;
mod words;

use overt_rule::Grammar;
use serde::Deserialize;
use serde_json::Value;

use crate::format::{Dialect, Many, Reader, Reading, Written};
use crate::{Tool, leak};

/// A family's words. Of a list of tags the first is the one the model writes.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shape {
    /// Before all calls; empty where there is no such tag.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) section: &'static [&'static str],
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) section_end: &'static [&'static str],
    /// Before a call.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) call: &'static [&'static str],
    #[serde(deserialize_with = "leak::list")]
    pub(crate) call_end: &'static [&'static str],
    /// Behind the name.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) name_end: &'static [&'static str],
    #[serde(deserialize_with = "leak::list")]
    pub(crate) key: &'static [&'static str],
    #[serde(deserialize_with = "leak::list")]
    pub(crate) key_end: &'static [&'static str],
    /// Before the name of the value's type, where the model writes one.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) kind: &'static [&'static str],
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) kind_end: &'static [&'static str],
    #[serde(deserialize_with = "leak::list")]
    pub(crate) value: &'static [&'static str],
    #[serde(deserialize_with = "leak::list")]
    pub(crate) value_end: &'static [&'static str],
    /// White space as the model writes it.
    pub(crate) blanks: Blanks,
    /// A call may be a JSON object instead.
    #[serde(default)]
    pub(crate) json: bool,
}

/// White space as the model writes it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Blanks {
    /// Behind the section's opener and before its end.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) section: leak::Text,
    /// Between calls.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) calls: leak::Text,
    /// Behind the name.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) name: leak::Text,
    /// Between a key and its value.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) key: leak::Text,
    /// Behind a value.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) value: leak::Text,
    /// Before the call's end.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) end: leak::Text,
}

impl Blanks {
    /// None at all.
    pub(crate) const NONE: Self =
        Self { section: "", calls: "", name: "", key: "", value: "", end: "" };
    /// Everything on a line of its own.
    pub(crate) const LINES: Self =
        Self { section: "\n", calls: "\n", name: "\n", key: "\n", value: "\n", end: "" };
}

impl Dialect for Shape {
    fn engine(&self) -> &'static str {
        "pairs"
    }

    fn reader(&self, options: &Reading) -> Box<dyn Reader> {
        Box::new(reader::Pairs::new(self, options))
    }

    fn openers(&self) -> &[&'static str] {
        if self.section.is_empty() { self.call } else { self.section }
    }

    fn write(&self, calls: &[Written<'_>], out: &mut String) {
        let first = |tags: &[&'static str]| tags.first().copied().unwrap_or_default();
        let blanks = &self.blanks;
        let section = !self.section.is_empty();
        if section {
            out.push_str(first(self.section));
            out.push_str(blanks.section);
        }
        for (at, call) in calls.iter().enumerate() {
            if at > 0 {
                out.push_str(blanks.calls);
            }
            for part in [first(self.call), call.name, first(self.name_end), blanks.name] {
                out.push_str(part);
            }
            for (key, value) in call.arguments.as_object().into_iter().flatten() {
                let text = match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                for part in [first(self.key), key, first(self.key_end), blanks.key] {
                    out.push_str(part);
                }
                for part in [first(self.value), &text, first(self.value_end), blanks.value] {
                    out.push_str(part);
                }
            }
            out.push_str(blanks.end);
            out.push_str(first(self.call_end));
        }
        if section {
            out.push_str(blanks.section);
            out.push_str(first(self.section_end));
        }
    }

    fn grammar(&self, tools: &[&Tool], many: Many) -> Grammar {
        rule::grammar(self, tools, many)
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;
    use crate::format::Dialect;

    #[test]
    fn a_family_may_be_described_at_run_time() {
        let text = String::from(
            r#"{
            "call": ["<c>"], "call_end": ["</c>"], "key": ["<k>"], "key_end": ["</k>"],
            "value": ["<v>"], "value_end": ["</v>"],
            "blanks": {"section": "", "calls": "", "name": "", "key": "", "value": "", "end": ""}
        }"#,
        );
        let shape: Shape = serde_json::from_str(&text).expect("a shape");
        assert_eq!(shape.openers(), ["<c>"]);
        assert!(serde_json::from_str::<Shape>("{}").is_err());
    }
}
