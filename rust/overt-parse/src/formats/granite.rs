//! Granite 3: a list of calls behind `<|tool_call|>`, behind `<tool_call>`, or alone, by version.

use crate::json::{Shape, Spelling};
use crate::{Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "granite",
    tool_names: &["granite"],
    reasoning_names: &["granite"],
    thinking: Some(Thinking {
        open: &["Here is my thought process:", "Here's my thought process:"],
        close: &["Here is my response:", "Here's my response:"],
        ..Thinking::TAGS
    }),
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<|tool_call|>", "<|start_of_role|>"]],
};

const SHAPE: Shape = Shape {
    open: &["<|tool_call|>", "<tool_call>"],
    close: &["</tool_call>"],
    bare: &["["],
    spellings: &[
        Spelling { prefix: "<|tool_call|>[", suffix: "]", ..Spelling::LIST },
        Spelling { prefix: "<tool_call>[", suffix: "]", ..Spelling::LIST },
    ],
    pieces: &["<|tool_call|>", "<tool_call>"],
    starts: &["<|tool_call|>", "<tool_call>", "[{\"name\": \""],
    ..Shape::PLAIN
};
