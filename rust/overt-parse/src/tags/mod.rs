//! Calls written as tags: `<function=N><parameter=K>V</parameter></function>`,
//! `<invoke name="N"><parameter name="K">V</parameter></invoke>` and alike, in a wrapper of some name.
//!
//! - A call begins with its first parameter or its end: what only looks like one is text again, whole.
//! - Without the wrapper only a declared tool's name is a call; closing tags that nothing opened are dropped next
//!   to a call, elsewhere they are text.
//! - A value ends at a closing tag behind which the next parameter, the end of the call or the end of the output
//!   stands; other closing tags in it are text of the value. Within a string of JSON none is looked for.
//! - A value without a closing tag ends at the opener of a declared parameter that has not come yet, and at the end
//!   of the call where the end of the wrapper, the next call or the end of the output follows.
//! - Text between the parameters ends the call as it stands, and is text.
//! - Cut off by the output's end the arguments stay as they are: nothing is invented that would close them.

use overt_rule::Grammar;
use serde::Deserialize;

use crate::format::{Dialect, Many, Reader, Reading, Written};
use crate::{Tool, leak};

mod grammar;
mod head;
mod invoke;
mod object;
mod reader;
mod value;
mod words;
mod write;

pub(crate) use head::{Peek, peek};
pub(crate) use invoke::Invoke;
pub(crate) use reader::{Block, Outer, Step};
pub(crate) use words::{Word, Words};

/// A family's words. Of a list the first is what the model writes, the others are read as well.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shape {
    /// What opens the wrapper of calls; empty where they have none.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) open: &'static [&'static str],
    /// What closes it.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) close: &'static [&'static str],
    /// Other words that are read as its opener or closer, but never written.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) other_open: &'static [&'static str],
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) other_close: &'static [&'static str],
    /// Every call has a wrapper of its own.
    #[serde(default)]
    pub(crate) each: bool,
    /// What stands before and behind each call in the wrapper.
    #[serde(default, deserialize_with = "leak::text")]
    pub(crate) before: leak::Text,
    #[serde(default, deserialize_with = "leak::text")]
    pub(crate) after: leak::Text,
    /// The opening tag of a call up to its name, such as `<invoke name=`.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) invoke: &'static [&'static str],
    #[serde(deserialize_with = "leak::list")]
    pub(crate) invoke_end: &'static [&'static str],
    /// The opening tag of a parameter up to its name.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) parameter: &'static [&'static str],
    #[serde(deserialize_with = "leak::list")]
    pub(crate) parameter_end: &'static [&'static str],
    /// Words within a call that mean nothing, such as `<arguments>`.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) noise: &'static [&'static str],
    /// Names stand in quotes, and attributes may follow them.
    #[serde(default)]
    pub(crate) quoted: bool,
    /// `string="true|false"` on each parameter tells whether its value is text.
    #[serde(default)]
    pub(crate) typed: bool,
    /// One line feed at each end of a value is the format's.
    #[serde(default)]
    pub(crate) feeds: bool,
    /// Values that hold `<`, `&` or a line feed are written in `<![CDATA[…]]>`.
    #[serde(default)]
    pub(crate) cdata: bool,
    /// A call may hold its arguments as one JSON object in place of parameters.
    #[serde(default)]
    pub(crate) json: bool,
    /// The wrapper may hold `{"name": …, "arguments": {…}}` in place of tags.
    #[serde(default)]
    pub(crate) objects: bool,
    /// Tags stand on lines of their own.
    #[serde(default)]
    pub(crate) lines: bool,
    /// Parts of these words that are special tokens.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) tokens: &'static [&'static str],
}

impl Shape {
    /// Nothing but the empty words, to fill in.
    pub(crate) const EMPTY: Self = Self {
        open: &[],
        close: &[],
        other_open: &[],
        other_close: &[],
        each: false,
        before: "",
        after: "",
        invoke: &[],
        invoke_end: &[],
        parameter: &[],
        parameter_end: &[],
        noise: &[],
        quoted: false,
        typed: false,
        feeds: false,
        cdata: false,
        json: false,
        objects: false,
        lines: false,
        tokens: &[],
    };

    /// The words in which the reader looks for calls.
    pub(crate) fn words(&self, hidden: &'static [&'static str]) -> Words {
        let mut words = Words::default();
        words.add(Word::Open, self.open);
        words.add(Word::Open, self.other_open);
        words.add(Word::Open, &[self.before]);
        words.add(Word::Close, self.close);
        words.add(Word::Close, self.other_close);
        words.add(Word::Close, &[self.after]);
        words.add(Word::Invoke, self.invoke);
        words.add(Word::InvokeEnd, self.invoke_end);
        words.add(Word::Parameter, self.parameter);
        words.add(Word::ParameterEnd, self.parameter_end);
        words.add(Word::Noise, self.noise);
        if self.cdata {
            words.add(Word::Cdata, &["<![CDATA["]);
            words.add(Word::CdataEnd, &["]]>"]);
        }
        words.add(Word::Hidden, hidden);
        words
    }
}

impl Dialect for Shape {
    fn engine(&self) -> &'static str {
        "tags"
    }

    fn reader(&self, options: &Reading) -> Box<dyn Reader> {
        let words = self.words(options.hidden);
        Box::new(Outer::new(words, self.objects, Invoke::new(*self)))
    }

    fn openers(&self) -> &[&'static str] {
        if self.open.is_empty() { self.invoke } else { self.open }
    }

    fn write(&self, calls: &[Written<'_>], out: &mut String) {
        write::calls(self, calls, out);
    }

    fn grammar(&self, tools: &[&Tool], many: Many) -> Grammar {
        grammar::calls(self, tools, many).into()
    }
}
