//! Jamba 1.5 and later: a list of calls between `<tool_calls>` and `</tool_calls>`. MiniMax M1 and Apriel write so too.

use crate::json::{Shape, Spelling};
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "jamba",
    tool_names: &["jamba"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<tool_calls>", "handle_tool_calls"], &["<tool_calls></tool_calls>"]],
};

const SHAPE: Shape = Shape {
    open: &["<tool_calls>"],
    close: &["</tool_calls>"],
    spellings: &[Spelling {
        prefix: "<tool_calls>[\n    ",
        between: ",\n    ",
        suffix: "\n]</tool_calls>",
        ..Spelling::LIST
    }],
    pieces: &["<tool_calls>", "</tool_calls>"],
    ..Shape::PLAIN
};
