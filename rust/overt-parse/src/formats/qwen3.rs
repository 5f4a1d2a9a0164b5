//! Qwen 3's reasoning, which the model opens itself or the template closes.

use crate::{EndedByCall, Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "qwen3",
    tool_names: &[],
    reasoning_names: &["qwen3"],
    thinking: Some(Thinking {
        open: &["<think>"],
        close: &["</think>"],
        start: Start::Answer,
        ended_by_call: EndedByCall::Line,
        answer: &[],
        kept: false,
    }),
    calls: None,
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<think>", "</think>"]],
};
