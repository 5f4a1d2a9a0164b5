//! MiniCPM-V's reasoning, off unless asked for.

use crate::{EndedByCall, Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "minicpmv",
    tool_names: &[],
    reasoning_names: &["minicpmv"],
    thinking: Some(Thinking {
        open: &["<think>"],
        close: &["</think>"],
        start: Start::Answer,
        ended_by_call: EndedByCall::Never,
        answer: &[],
        kept: false,
    }),
    calls: None,
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[],
};
