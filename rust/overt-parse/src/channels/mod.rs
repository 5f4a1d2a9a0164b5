//! Framed formats: everything the model says stands in frames, each with a header or an opening marker that says
//! what its body is. Text, reasoning and calls come in any order, and come out in it.
//!
//! - A marker may be a special token or literal text. Special tokens that are no marker are dropped.
//! - A frame lasts up to its end, or up to the marker at which the next one begins.
//! - Words of headers are never text. A header that no marker ends was none: its words are text.
//! - Text outside of frames is text; white space there is not.
//! - A frame of unknown kind is text. A frame that calls, but does not begin as a call must, is text (or reasoning
//!   where its header says so).
//! - JSON ends where its object ends; a marker in a string is text of the string unless it is a special token. A call
//!   that breaks after it began is ended as it stands, and what follows in its frame is text.
//! - The reader begins where the end of the prompt stops: in a header, a body or between frames.

mod bodies;
mod elements;
mod gap;
mod grammar;
mod header;
mod invokes;
mod reader;
mod typed;
mod write;

use overt_rule::{Grammar, Rule};
use serde::Deserialize;

use crate::format::{Dialect, Many, Reading, Written};
use crate::json::Keys;
use crate::leak::Text;
use crate::{Tool, leak};

/// A family's words.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shape {
    /// Markers at which a header begins; the first one begins it anew.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) heads: &'static [&'static str],
    /// Markers that part the words of a header.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) parts: &'static [&'static str],
    /// Markers at which a body begins.
    #[serde(deserialize_with = "leak::slice")]
    pub(crate) bodies: &'static [Opener],
    /// Markers that end a body.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) ends: &'static [&'static str],
    /// Markers that end a body and are followed by its name, up to a marker of `bodies`.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) closers: &'static [&'static str],
    /// A header that may stand between frames without a marker before it.
    #[serde(default)]
    pub(crate) implied: Implied,
    /// What stands before a recipient in a header, such as `to=`.
    #[serde(default, deserialize_with = "leak::text")]
    pub(crate) recipient: Text,
    /// What a recipient may begin with that is no part of the tool's name, such as `functions.`.
    #[serde(default, deserialize_with = "leak::text")]
    pub(crate) namespace: Text,
    /// Words of a header that make its body reasoning.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) reasoning: &'static [&'static str],
    /// Words of a header that make its body text, whatever else the header says.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) text: &'static [&'static str],
    /// Other words that headers are made of.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) words: &'static [&'static str],
    /// What stands in a frame that calls.
    pub(crate) calls: Calls,
    /// Texts at which calls begin.
    #[serde(deserialize_with = "leak::list")]
    pub(crate) openers: &'static [&'static str],
    /// How calls are written.
    pub(crate) frame: Frame,
}

/// A marker at which a body begins.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Opener {
    /// The marker.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) marker: Text,
    /// What the body is.
    pub(crate) body: Body,
}

/// What a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Body {
    /// What the header says.
    Named,
    /// Reasoning.
    Reasoning,
    /// Text of the answer.
    Text,
    /// Calls.
    Calls,
}

/// Headers without a marker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Implied {
    /// None.
    #[default]
    Never,
    /// A recipient with its prefix.
    Recipient,
    /// One word: the name of a tool.
    Name,
}

/// What stands in a frame that calls.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Calls {
    /// The arguments, one JSON object; the header names the tool.
    Arguments,
    /// JSON objects of calls, maybe in a list.
    Objects(Objects),
    /// Elements of XML, one a call, with one element a parameter.
    Invokes(Invokes),
    /// Frames within frames: one a call, within it one a parameter.
    Elements(Elements),
}

/// Calls as JSON objects.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Objects {
    /// Their keys; of each kind the first is the one the model writes.
    #[serde(default)]
    pub(crate) keys: Keys,
    /// Key of a running number, from 0, which the model writes first; empty where there is none.
    #[serde(default, deserialize_with = "leak::text")]
    pub(crate) number: Text,
}

/// Words of calls in XML.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Invokes {
    /// Around all calls.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) open: Text,
    /// Around all calls.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) close: Text,
    /// Before the name.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) invoke: Text,
    /// Behind the call.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) invoke_end: Text,
    /// Before a parameter's name.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) parameter: Text,
    /// Behind its value.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) parameter_end: Text,
    /// Behind a name.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) name_end: Text,
}

/// Words of calls in frames within frames.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Elements {
    /// Frame of a call.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) call: Text,
    /// Attribute of the tool's name.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) name: Text,
    /// Frame of a parameter.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) parameter: Text,
    /// Attribute of its name.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) key: Text,
    /// Attribute of its type.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) kind: Text,
    /// Frame of all arguments as one JSON object.
    #[serde(deserialize_with = "leak::text")]
    pub(crate) object: Text,
}

/// How calls are written.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Frame {
    /// Before the first call.
    #[serde(default, deserialize_with = "leak::text")]
    pub(crate) open: Text,
    /// Behind the last call.
    #[serde(default, deserialize_with = "leak::text")]
    pub(crate) close: Text,
    /// Between calls; where `open` is empty also allowed before the first.
    #[serde(default, deserialize_with = "leak::text")]
    pub(crate) between: Text,
    /// Before the name in a header.
    #[serde(default, deserialize_with = "leak::text")]
    pub(crate) before: Text,
    /// Behind the name in a header; without it there is no header.
    #[serde(default, deserialize_with = "leak::text")]
    pub(crate) behind: Text,
    /// Behind a call.
    #[serde(default, deserialize_with = "leak::text")]
    pub(crate) after: Text,
    /// Frames of text that may stand, empty, before the first call.
    #[serde(default, deserialize_with = "leak::list")]
    pub(crate) empty: &'static [&'static str],
}

impl Shape {
    /// Refuses words that no output could be read by.
    pub(crate) fn check(&self) -> Result<(), String> {
        let bodies: Vec<&str> = self.bodies.iter().map(|opener| opener.marker).collect();
        let lists = [
            ("heads", self.heads),
            ("parts", self.parts),
            ("bodies", bodies.as_slice()),
            ("ends", self.ends),
            ("closers", self.closers),
            ("openers", self.openers),
        ];
        for (name, list) in lists {
            if list.iter().any(|text| text.is_empty()) {
                return Err(format!("{name} holds an empty text"));
            }
        }
        if bodies.is_empty() || (self.ends.is_empty() && self.closers.is_empty()) {
            return Err("bodies and ends need at least one marker each".to_owned());
        }
        let words = match self.calls {
            Calls::Arguments => [self.recipient, self.frame.behind, "-", "-"],
            Calls::Objects(words) => {
                let first = |list: &[&'static str]| list.first().copied().unwrap_or_default();
                [first(words.keys.name), first(words.keys.arguments), "-", "-"]
            }
            Calls::Invokes(words) => {
                [words.invoke, words.invoke_end, words.parameter, words.parameter_end]
            }
            Calls::Elements(words) => [words.call, words.name, words.parameter, words.key],
        };
        if words.iter().any(|word| word.is_empty()) {
            return Err("calls lack a word: none of theirs may be empty".to_owned());
        }
        Ok(())
    }
}

impl Dialect for Shape {
    fn engine(&self) -> &'static str {
        "channels"
    }

    fn reader(&self, options: &Reading) -> Box<dyn crate::format::Reader> {
        Box::new(reader::Reader::new(*self, options))
    }

    fn openers(&self) -> &[&'static str] {
        self.openers
    }

    fn spell(&self, text: &str) -> Vec<Rule> {
        grammar::spelled(self, text)
    }

    fn write(&self, calls: &[Written<'_>], out: &mut String) {
        write::write(self, calls, out);
    }

    fn grammar(&self, tools: &[&Tool], many: Many) -> Grammar {
        grammar::grammar(self, tools, many)
    }
}
