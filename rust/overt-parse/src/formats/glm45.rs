//! GLM 4.5 and 4.6: a call on several lines. The model opens its thinking itself; a call ends it.

use crate::pairs::{Blanks, Shape};
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "glm45",
    tool_names: &["glm", "glm45"],
    reasoning_names: &["glm45"],
    thinking: Some(Thinking { ended_by_call: EndedByCall::Anywhere, ..Thinking::TAGS }),
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&[
        "<tool_call>",
        "<arg_key>",
        "<arg_value>",
        "!{function-name}<arg_key>",
        "!<tool_sep>",
        "!<|Bot|>",
        "!<role>",
        "!</assistant>",
        "!<iquest_tool_call>",
        "!<ifm|",
    ]],
};

pub(crate) const SHAPE: Shape = Shape {
    section: &[],
    section_end: &[],
    call: &["<tool_call>"],
    call_end: &["</tool_call>"],
    name_end: &[],
    key: &["<arg_key>"],
    key_end: &["</arg_key>"],
    kind: &[],
    kind_end: &[],
    value: &["<arg_value>"],
    value_end: &["</arg_value>"],
    blanks: Blanks::LINES,
    json: false,
};
