//! Calls written as JSON, in the words of any family.
//!
//! - `open`, then one object `{"name": …, "arguments": …}`, a list of them, or a name and the arguments' object, then
//!   `close`. Openers of a section and of a call are read alike, so that either may be missing or come twice.
//! - A JSON value ends where its own syntax says: markers and fences within strings are text of the string.
//! - Arguments are the model's own bytes, said as they come once the name is known; `{}` when absent or null.
//! - What does not become a call is text again, opener and all. A call that has begun and breaks off is ended as
//!   it stands.
//! - Behind a call a closer may be missing or come twice, further calls may follow without an opener (behind `,`,
//!   `;` or white space), and brackets too many are dropped where a closer or a call follows them.
//! - Where nothing announces calls (`bare`) an object is one when it has a declared tool's name, the key of the
//!   arguments with an object or null, and no other keys before them.

pub(crate) mod batch;
mod head;
pub(crate) mod object;
mod reader;
pub(crate) mod spell;
mod table;

use overt_rule::Grammar;
use serde::{Deserialize, Deserializer};

pub(crate) use self::head::Header;
pub(crate) use self::object::Keys;
pub(crate) use self::spell::Spelling;
use crate::format::{Dialect, Many, Reader, Reading, Written};
use crate::{Tool, leak};

/// How a family writes calls as JSON.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shape {
    /// Markers that open a call or a section of calls.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) open: &'static [&'static str],
    /// Markers that close a call or a section of calls.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) close: &'static [&'static str],
    /// Where calls may begin that nothing announces: `{`, `[`, or a text such as a fence before them.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) bare: &'static [&'static str],
    /// A fence of code may stand behind the JSON.
    #[serde(default)]
    pub(crate) fenced: bool,
    /// Keys of a call's object.
    #[serde(default)]
    pub(crate) keys: Keys,
    /// The name stands before the JSON, which is the arguments alone.
    #[serde(default)]
    pub(crate) header: Option<Header>,
    /// How the model spells calls: the first is written, each is in the grammar.
    #[serde(deserialize_with = "spellings")]
    pub(crate) spellings: &'static [Spelling],
    /// Pieces of the spellings that vocabularies have as single tokens.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) pieces: &'static [&'static str],
    /// Texts at which calls begin, seen from outside; `open` where this is empty.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) starts: &'static [&'static str],
    /// Only one call an answer.
    #[serde(default)]
    pub(crate) single: bool,
}

impl Shape {
    /// One object between two markers, and nothing else.
    pub(crate) const PLAIN: Self = Self {
        open: &[],
        close: &[],
        bare: &[],
        fenced: false,
        keys: Keys::USUAL,
        header: None,
        spellings: &[],
        pieces: &[],
        starts: &[],
        single: false,
    };
}

fn spellings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static [Spelling], D::Error> {
    let list = Vec::<Spelling>::deserialize(deserializer)?;
    if list.is_empty() {
        return Err(serde::de::Error::invalid_length(0, &"at least one spelling"));
    }
    Ok(Box::leak(list.into_boxed_slice()))
}

impl Dialect for Shape {
    fn engine(&self) -> &'static str {
        "json"
    }

    fn reader(&self, options: &Reading) -> Box<dyn Reader> {
        Box::new(reader::Calls::new(*self, options))
    }

    fn openers(&self) -> &[&'static str] {
        if self.starts.is_empty() { self.open } else { self.starts }
    }

    fn write(&self, calls: &[Written<'_>], out: &mut String) {
        if let Some(spelling) = self.spellings.first() {
            spelling.write(self, calls, out);
        }
    }

    fn grammar(&self, tools: &[&Tool], many: Many) -> Grammar {
        spell::grammar(self, tools, many, false)
    }

    fn grammar_beside_json(&self, tools: &[&Tool], many: Many) -> Grammar {
        spell::grammar(self, tools, many, true)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Shape;
    use crate::Tool;
    use crate::format::{Dialect, Many, Written};

    #[test]
    fn a_shape_may_be_read_from_json() {
        let described = json!({
            "open": ["<call>"],
            "close": ["</call>"],
            "header": {"split": ["|"]},
            "spellings": [{"before": "<call>", "middle": "|", "after": "</call>"}],
            "pieces": ["<call>", "</call>"],
        });
        let shape: Shape = serde_json::from_value(described).expect("a shape");
        let arguments = json!({"a": 1});
        let mut out = String::new();
        shape.write(&[Written { name: "f", arguments: &arguments, tool: None }], &mut out);
        assert_eq!(out, "<call>f|{\"a\": 1}</call>");
        assert_eq!(shape.openers(), ["<call>"]);
        for wrong in [json!({"spellings": []}), json!({"spelings": [{}]}), json!({"open": "<a>"})] {
            assert!(serde_json::from_value::<Shape>(wrong).is_err());
        }
    }

    #[test]
    fn a_format_of_one_call_has_no_grammar_for_more() {
        let tool =
            Tool { name: "f".to_owned(), parameters: serde_json::Value::Null, strict: false };
        for (name, same) in [("gigachat3", true), ("hermes", false)] {
            let format = crate::tool_format(name).expect("a format");
            let grammar = |many| format.grammar(&[&tool], many);
            assert_eq!(grammar(Many::One) == grammar(Many::Some), same, "{name}");
        }
    }
}
