//! Calls written as `call:NAME{key:value,…}` between markers, strings between quotes that are markers too.
//!
//! - Strings are said as they come; JSON's quotes are read as well. Objects and lists nest; keys stand bare or quoted.
//! - What stands bare is a number, `true`, `false`, `null` (or Python's word), else text; where the schema has only a
//!   string for it, a number and a truth value are its text.
//! - Without `call:` only a declared tool's name is read.
//! - A call begins with its first value, or where its braces close without one. What breaks before that is text, from
//!   the opener on; what breaks later is ended, its brackets closed. Where the output ends within a call nothing is
//!   made up to close it.
//! - A closing marker within a string is the string's. Between values it ends the call, and so does the next opener.
//!   One that follows a call is dropped; any other is text.

mod inside;
mod reader;
mod rule;

use overt_rule::Grammar;
use serde::Deserialize;
use serde_json::Value;

use crate::core::typed;
use crate::format::{Dialect, Many, Reader, Reading, Written};
use crate::{Tool, leak};

/// A family's words. Of a list of markers the first is the one the model writes.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shape {
    /// Before a call.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) open: &'static [&'static str],
    /// Behind it.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) close: &'static [&'static str],
    /// Before the name.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) lead: leak::Text,
    /// Around strings.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) quote: &'static [&'static str],
}

impl Shape {
    fn first_quote(&self) -> &'static str {
        self.quote.first().copied().unwrap_or("\"")
    }

    /// Writes `text` as a string; as JSON's where the family's quote stands in it.
    fn write_string(&self, text: &str, out: &mut String) {
        let quote = self.first_quote();
        if text.contains(quote) {
            return typed::quote(text, out);
        }
        for part in [quote, text, quote] {
            out.push_str(part);
        }
    }

    fn write_key(&self, key: &str, out: &mut String) {
        if is_bare(key) { out.push_str(key) } else { self.write_string(key, out) }
    }

    fn write_value(&self, value: &Value, out: &mut String) {
        match value {
            Value::String(text) => self.write_string(text, out),
            Value::Array(values) => {
                out.push('[');
                for (at, value) in values.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    self.write_value(value, out);
                }
                out.push(']');
            }
            Value::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    self.write_key(key, out);
                    out.push(':');
                    self.write_value(value, out);
                }
                out.push('}');
            }
            other => out.push_str(&other.to_string()),
        }
    }
}

impl Dialect for Shape {
    fn engine(&self) -> &'static str {
        "braces"
    }

    fn reader(&self, options: &Reading) -> Box<dyn Reader> {
        Box::new(reader::Braces::new(*self, options))
    }

    fn openers(&self) -> &[&'static str] {
        self.open
    }

    fn write(&self, calls: &[Written<'_>], out: &mut String) {
        for call in calls {
            out.push_str(self.open.first().copied().unwrap_or_default());
            out.push_str(self.lead);
            out.push_str(call.name);
            self.write_value(call.arguments, out);
            out.push_str(self.close.first().copied().unwrap_or_default());
        }
    }

    fn grammar(&self, tools: &[&Tool], many: Many) -> Grammar {
        rule::grammar(self, tools, many)
    }
}

/// True of a key that needs no quotes.
fn is_bare(key: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$');
    !key.is_empty() && key.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::Shape;
    use crate::format::Dialect;

    #[test]
    fn a_family_may_be_described_at_run_time() {
        let text = String::from(
            r#"{"open": ["<c>"], "close": ["</c>"], "lead": "call:", "quote": ["<q>"]}"#,
        );
        let shape: Shape = serde_json::from_str(&text).expect("a shape");
        assert_eq!(shape.openers(), ["<c>"]);
        assert!(serde_json::from_str::<Shape>("{}").is_err());
    }
}
