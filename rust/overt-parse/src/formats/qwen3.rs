//! Qwen 3's reasoning, which the model opens itself or the template closes.

use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "qwen3",
    tool_names: &[],
    reasoning_names: &["qwen3"],
    thinking: Some(Thinking { ended_by_call: EndedByCall::Line, ..Thinking::TAGS }),
    calls: None,
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<think>", "</think>"]],
};
