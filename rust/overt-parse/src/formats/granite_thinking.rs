//! Granite's reasoning between tags; the template opens it where it is asked to.

use crate::{EndedByCall, Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "granite_thinking",
    tool_names: &[],
    reasoning_names: &["granite_thinking_parser"],
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
    signs: &[&["<think>", "</think>", "<|start_of_role|>"]],
};
