//! Holo 2's reasoning: it thinks unless the prompt closes it.

use crate::{EndedByCall, Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "holo2",
    tool_names: &[],
    reasoning_names: &["holo2"],
    thinking: Some(Thinking {
        open: &["<think>"],
        close: &["</think>"],
        start: Start::Thinking,
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
