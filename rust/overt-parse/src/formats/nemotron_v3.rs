//! Nemotron 3's reasoning; a call in it ends it.

use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "nemotron_v3",
    tool_names: &[],
    reasoning_names: &["nemotron_v3", "nemotron_3"],
    thinking: Some(Thinking { ended_by_call: EndedByCall::Anywhere, ..Thinking::TAGS }),
    calls: None,
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<think>", "</think>", "truncate_history_thinking"]],
};
