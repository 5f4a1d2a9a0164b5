//! Granite's reasoning between tags; the template opens it where it is asked to.

use crate::{Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "granite_thinking",
    tool_names: &[],
    reasoning_names: &["granite_thinking_parser"],
    thinking: Some(Thinking::TAGS),
    calls: None,
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<think>", "</think>", "<|start_of_role|>"]],
};
