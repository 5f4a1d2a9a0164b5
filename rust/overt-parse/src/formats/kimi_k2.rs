//! Kimi K2: in a section, an id `functions.NAME:INDEX` and the arguments for each call. The id is the call's own.
//!
//! The section may be missing or named in the singular. In an id that lacks its points or digits the declared tool
//! that fits is meant. A section ends thinking that is open.

use crate::json::{Header, Shape, Spelling};
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "kimi_k2",
    tool_names: &["kimi_k2"],
    reasoning_names: &["kimi_k2"],
    thinking: Some(Thinking { ended_by_call: EndedByCall::Anywhere, ..Thinking::TAGS }),
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Functions,
    tokens: &[
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
    ],
    signs: &[&["<|tool_calls_section_begin|>"]],
};

const SHAPE: Shape = Shape {
    open: &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", "<|tool_call_begin|>"],
    close: &["<|tool_call_end|>", "<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
    header: Some(Header {
        lead: &[],
        split: &["<|tool_call_argument_begin|>"],
        id: &[],
        numbered: true,
    }),
    spellings: &[Spelling {
        prefix: "<|tool_calls_section_begin|>",
        before: "<|tool_call_begin|>functions.",
        middle: "<|tool_call_argument_begin|>",
        after: "<|tool_call_end|>",
        suffix: "<|tool_calls_section_end|>",
        ..Spelling::PLAIN
    }],
    pieces: &[
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
    ],
    ..Shape::PLAIN
};
