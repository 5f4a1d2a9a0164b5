//! xLAM: a list of calls, alone, in a fence, behind `[TOOL_CALLS]`, or between `<tool_call>` and `</tool_call>`.
//!
//! What no marker announces (a fence is none) stays text unless it has a declared tool's name.

use crate::json::{Shape, Spelling};
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "xlam",
    tool_names: &["xlam"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["[{\"name\": \"tool_call_name\", \"arguments\""]],
};

const SHAPE: Shape = Shape {
    open: &["[TOOL_CALLS]", "<tool_call>"],
    close: &["</tool_call>"],
    bare: &["[", "{", "```json", "```"],
    fenced: true,
    spellings: &[Spelling { prefix: "[", suffix: "]", ..Spelling::LIST }],
    starts: &["[TOOL_CALLS]", "<tool_call>", "[{\"name\": \"", "{\"name\": \""],
    ..Shape::PLAIN
};
