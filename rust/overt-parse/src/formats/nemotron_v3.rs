//! Nemotron 3's reasoning; a call in it ends it.

use crate::{EndedByCall, Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "nemotron_v3",
    tool_names: &[],
    reasoning_names: &["nemotron_v3", "nemotron_3"],
    thinking: Some(Thinking {
        open: &["<think>"],
        close: &["</think>"],
        start: Start::Answer,
        ended_by_call: EndedByCall::Anywhere,
        answer: &[],
        kept: false,
    }),
    calls: None,
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<think>", "</think>", "truncate_history_thinking"]],
};
