//! Mistral: `[TOOL_CALLS]` before a list of calls, or before each name: `NAME{…}`, `NAME[ARGS]{…}`,
//! `NAME[CALL_ID]ID[ARGS]{…}`. Thinking keeps the markup in it.

use crate::json::{Header, Shape, Spelling};
use crate::{Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "mistral",
    tool_names: &["mistral"],
    reasoning_names: &["mistral"],
    thinking: Some(Thinking {
        open: &["[THINK]", "<think>"],
        close: &["[/THINK]", "</think>"],
        ..Thinking::TAGS
    }),
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Nine,
    tokens: &["[TOOL_CALLS]"],
    signs: &[&["[TOOL_CALLS]"], &["[AVAILABLE_TOOLS]"]],
};

const SHAPE: Shape = Shape {
    open: &["[TOOL_CALLS]"],
    header: Some(Header { lead: &[], split: &["[ARGS]"], id: &["[CALL_ID]"], numbered: false }),
    spellings: &[
        Spelling { before: "[TOOL_CALLS]", middle: "[ARGS]", ..Spelling::PLAIN },
        Spelling { prefix: "[TOOL_CALLS][", suffix: "]", ..Spelling::LIST },
        Spelling { before: "[TOOL_CALLS]", ..Spelling::PLAIN },
    ],
    pieces: &["[TOOL_CALLS]", "[ARGS]"],
    ..Shape::PLAIN
};
