//! Calls written as Python's: `[name(key=value, ...), ...]`.
//!
//! - Values are Python literals, turned into JSON as they come (see `literal`); positional arguments are the schema's
//!   properties in their order.
//! - Between a family's markers any name is read; calls may stand in brackets or not, apart by commas or line feeds.
//!   A list without markers needs the names of declared tools, and must not stand behind a letter, digit, quote or
//!   closing bracket.
//! - A call begins with its first value, or where it ends without one. What breaks before that is text, from the
//!   opener or the end of the call before on; what breaks later is ended as it stands.
//! - A closing marker within a string is the string's. Where it stands between arguments it ends the call.
//! - In some families' markers a JSON array of calls is read too, and an echo of the calls behind them is dropped.

mod call;
mod echo;
mod literal;
mod reader;
mod rule;
mod scalar;
mod text;
mod write;

use overt_rule::Grammar;
use serde::Deserialize;

use crate::format::{Dialect, Many, Reader, Reading, Written};
use crate::{Tool, leak};

/// A family's words.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shape {
    /// Markers before the calls; the first is the one the model writes.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) open: &'static [&'static str],
    /// Markers behind them.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) close: &'static [&'static str],
    /// A list of calls is written and read without markers.
    #[serde(default)]
    pub(crate) bare: bool,
    /// Where calls may begin, if not at the openers.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) starts: &'static [&'static str],
    /// The calls stand in brackets.
    #[serde(default)]
    pub(crate) list: bool,
    /// What stands between calls.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) between: leak::Text,
    /// The quote of strings.
    pub(crate) quote: char,
    /// Between the markers there may be JSON instead.
    #[serde(default)]
    pub(crate) json: bool,
    /// The model may repeat its calls behind the closing marker, and close them again.
    #[serde(default)]
    pub(crate) echo: bool,
}

impl Dialect for Shape {
    fn engine(&self) -> &'static str {
        "pythonic"
    }

    fn reader(&self, options: &Reading) -> Box<dyn Reader> {
        Box::new(reader::Pythonic::new(*self, options))
    }

    fn openers(&self) -> &[&'static str] {
        if self.starts.is_empty() { self.open } else { self.starts }
    }

    fn markers(&self) -> &[&'static str] {
        self.open
    }

    fn write(&self, calls: &[Written<'_>], out: &mut String) {
        write::write(self, calls, out);
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
        let text =
            String::from(r#"{"open": ["<c>"], "close": ["</c>"], "between": ", ", "quote": "'"}"#);
        let shape: Shape = serde_json::from_str(&text).expect("a shape");
        assert_eq!(shape.openers(), ["<c>"]);
        assert!(serde_json::from_str::<Shape>("{}").is_err());
    }
}
