//! IQuest Q1: as GLM 4.7 with a tag of its own. The template opens the thinking.

use crate::pairs::{Blanks, Shape};
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "iquest_q1",
    tool_names: &["iquest_q1"],
    reasoning_names: &["iquest_q1"],
    thinking: Some(Thinking { ended_by_call: EndedByCall::Anywhere, ..Thinking::TAGS }),
    calls: Some(&Shape {
        section: &[],
        section_end: &[],
        call: &["<iquest_tool_call>"],
        call_end: &["</iquest_tool_call>"],
        name_end: &[],
        key: &["<arg_key>"],
        key_end: &["</arg_key>"],
        kind: &[],
        kind_end: &[],
        value: &["<arg_value>"],
        value_end: &["</arg_value>"],
        blanks: Blanks::NONE,
        json: false,
    }),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<iquest_tool_call>"]],
};
