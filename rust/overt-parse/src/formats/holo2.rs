//! Holo 2's reasoning: it thinks unless the prompt closes it.

use crate::{Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "holo2",
    tool_names: &[],
    reasoning_names: &["holo2"],
    thinking: Some(Thinking { start: Start::Thinking, ..Thinking::TAGS }),
    calls: None,
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[],
};
