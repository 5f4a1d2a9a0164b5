//! The spans of a prompt and where they came from.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// A rendered prompt and the origin of each of its characters.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Traced {
    /// The prompt, as [`Template::render`](crate::Template::render) gives it.
    pub text: String,
    /// Adjacent, non-empty and in order; together they are the whole text.
    pub spans: Vec<Span>,
    /// True when no span is derived.
    pub exact: bool,
    /// The given `kwargs` that the template looked up, in alphabetical order.
    pub used: Vec<String>,
}

/// A stretch of the prompt with one origin.
///
/// Serialised flat: `{"start": 0, "end": 4, "origin": "message", "message": 2, "part": "tool_call",
/// "tool_call": 0}`, with `"derived": true` only where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Where it starts, in bytes of the text.
    pub start: usize,
    /// Where it ends, in bytes of the text.
    pub end: usize,
    /// Where it came from.
    pub origin: Origin,
    /// True when the origin was concluded rather than followed: it may be wrong.
    pub derived: bool,
}

/// What a character of the prompt came from. Indices count from 0, in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The template wrote it: its own text, or what it computed.
    Template,
    /// A message of the conversation.
    Message {
        /// Which message.
        index: usize,
        /// What of it.
        part: Part,
    },
    /// The definition of a tool, with the punctuation that its JSON is printed with.
    Tool {
        /// Which tool.
        index: usize,
    },
    /// A document to answer from.
    Document {
        /// Which document.
        index: usize,
    },
    /// A template argument (`chat_template_kwargs`).
    Kwarg {
        /// Its name.
        name: String,
    },
    /// A special token's variable, such as `bos_token`.
    SpecialToken {
        /// Its name.
        name: String,
    },
}

/// What of a message. Where a template prints keys, a key belongs to the part that it names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Part {
    /// Its role.
    Role,
    /// Its content, whether text or a list of parts.
    Content,
    /// Its reasoning, under whatever name it was sent.
    Reasoning,
    /// One of its tool calls, with the punctuation that its JSON is printed with.
    ToolCall {
        /// Which call.
        index: usize,
    },
    /// The id of the call that it answers.
    ToolCallId,
    /// Its name.
    Name,
    /// Another key; empty for the punctuation of a message that is printed whole.
    Other(String),
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("start", &self.start)?;
        map.serialize_entry("end", &self.end)?;
        match &self.origin {
            Origin::Template => map.serialize_entry("origin", "template")?,
            Origin::Message { index, part } => {
                map.serialize_entry("origin", "message")?;
                map.serialize_entry("message", index)?;
                part.serialize_into(&mut map)?;
            }
            Origin::Tool { index } => {
                map.serialize_entry("origin", "tool")?;
                map.serialize_entry("tool", index)?;
            }
            Origin::Document { index } => {
                map.serialize_entry("origin", "document")?;
                map.serialize_entry("document", index)?;
            }
            Origin::Kwarg { name } => {
                map.serialize_entry("origin", "kwarg")?;
                map.serialize_entry("name", name)?;
            }
            Origin::SpecialToken { name } => {
                map.serialize_entry("origin", "special_token")?;
                map.serialize_entry("name", name)?;
            }
        }
        if self.derived {
            map.serialize_entry("derived", &true)?;
        }
        map.end()
    }
}

impl Part {
    fn serialize_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let name = match self {
            Self::Role => "role",
            Self::Content => "content",
            Self::Reasoning => "reasoning",
            Self::ToolCall { .. } => "tool_call",
            Self::ToolCallId => "tool_call_id",
            Self::Name => "name",
            Self::Other(_) => "other",
        };
        map.serialize_entry("part", name)?;
        match self {
            Self::ToolCall { index } => map.serialize_entry("tool_call", index),
            Self::Other(key) => map.serialize_entry("key", key),
            _ => Ok(()),
        }
    }
}

/// Joins the origins of the characters of `text` to spans. `derived` tells what is not known for sure.
pub(crate) fn join(text: &str, origins: &[(Origin, bool)]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for ((start, c), (origin, derived)) in text.char_indices().zip(origins) {
        let end = start + c.len_utf8();
        match spans.last_mut() {
            Some(last) if last.origin == *origin && last.derived == *derived => last.end = end,
            _ => spans.push(Span { start, end, origin: origin.clone(), derived: *derived }),
        }
    }
    spans
}
