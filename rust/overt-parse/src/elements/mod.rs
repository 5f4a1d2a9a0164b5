//! Calls whose parameters are elements, each tag behind a mark: `MARK<K>V MARK</K>`, objects as elements in
//! elements, lists as elements of one name.
//!
//! - A call begins with its first parameter or its end: what only looks like one is text again, whole. Without the
//!   wrapper only a declared tool's name is a call.
//! - A text is said as it comes; another value when its element has closed, typed by the schema at every depth.
//! - Tags without the mark, and tags that close nothing, are text of the value.
//! - An element that is not closed ends with the one around it, with the call, or with the opener of a declared
//!   parameter that has not come yet.
//! - Elements of one name beside each other are a list; where the schema says nothing, so are elements `item`.
//! - Cut off by the output's end the arguments stay as they are: nothing is invented that would close them.

use overt_rule::Grammar;
use serde::Deserialize;

use crate::format::{Dialect, Many, Reader, Reading, Written};
use crate::tags::{Outer, Word, Words};
use crate::{Tool, leak};

mod grammar;
mod invoke;
mod node;
mod tag;
mod write;

/// A family's words.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shape {
    /// What stands before every tag.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) mark: leak::Text,
    /// The tags around calls with the mark, then without it, which is read as well.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) open: &'static [&'static str],
    #[serde(deserialize_with = "leak::list")]
    pub(crate) close: &'static [&'static str],
    /// The opening tag of a call up to its name, and its closing tag; with and without the mark.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) invoke: &'static [&'static str],
    #[serde(deserialize_with = "leak::list")]
    pub(crate) invoke_end: &'static [&'static str],
    /// The name of a list's elements.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) item: leak::Text,
}

impl Dialect for Shape {
    fn engine(&self) -> &'static str {
        "elements"
    }

    fn reader(&self, options: &Reading) -> Box<dyn Reader> {
        let mut words = Words::default();
        words.add(Word::Open, self.open);
        words.add(Word::Close, self.close);
        words.add(Word::Invoke, self.invoke);
        words.add(Word::InvokeEnd, self.invoke_end);
        words.add(Word::Parameter, &[self.mark]);
        words.add(Word::Hidden, options.hidden);
        Box::new(Outer::new(words, false, invoke::Invoke::new(*self)))
    }

    fn openers(&self) -> &[&'static str] {
        self.open.get(..1).unwrap_or_default()
    }

    fn write(&self, calls: &[Written<'_>], out: &mut String) {
        write::calls(self, calls, out);
    }

    fn grammar(&self, tools: &[&Tool], many: Many) -> Grammar {
        grammar::calls(self, tools, many)
    }
}
