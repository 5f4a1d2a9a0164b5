//! PLaMo 3: requests, each with a name and JSON arguments between markers of their own, which are several tokens
//! each. Thinking that is open ends where requests begin.

use crate::json::{Header, Shape, Spelling};
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "plamo3",
    tool_names: &["plamo3"],
    reasoning_names: &["plamo3"],
    thinking: Some(Thinking {
        open: &["<|plamo:begin_think:plamo|>"],
        close: &["<|plamo:end_think:plamo|>"],
        ended_by_call: EndedByCall::Anywhere,
        ..Thinking::TAGS
    }),
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<|plamo:begin_tool_requests:plamo|>"]],
};

const SHAPE: Shape = Shape {
    open: &["<|plamo:begin_tool_requests:plamo|>", "<|plamo:begin_tool_request:plamo|>"],
    close: &[
        "<|plamo:end_tool_arguments:plamo|>",
        "<|plamo:end_tool_request:plamo|>",
        "<|plamo:end_tool_requests:plamo|>",
    ],
    header: Some(Header {
        lead: &["<|plamo:begin_tool_name:plamo|>"],
        split: &[
            "<|plamo:end_tool_name:plamo|>",
            "<|plamo:begin_tool_arguments:plamo|>",
            "<|plamo:constrain|>json",
            "<|plamo:msg|>",
        ],
        id: &[],
        numbered: false,
    }),
    spellings: &[Spelling {
        prefix: "<|plamo:begin_tool_requests:plamo|>",
        before: "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>",
        middle: "<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>",
        after: "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>",
        suffix: "<|plamo:end_tool_requests:plamo|>",
        ..Spelling::PLAIN
    }],
    pieces: &["<|plamo:begin_", "<|plamo:end_", ":plamo|>", "<|plamo:constrain|>", "<|plamo:msg|>"],
    ..Shape::PLAIN
};
