//! Qwen 3's thinking models: the template opens the thinking.

use crate::{EndedByCall, Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "qwen3_thinking",
    tool_names: &[],
    reasoning_names: &["qwen3-thinking"],
    thinking: Some(Thinking {
        start: Start::Thinking,
        ended_by_call: EndedByCall::Line,
        ..Thinking::TAGS
    }),
    calls: None,
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[],
};
