//! MiniCPM-V's reasoning, off unless asked for.

use crate::{Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "minicpmv",
    tool_names: &[],
    reasoning_names: &["minicpmv"],
    thinking: Some(Thinking::TAGS),
    calls: None,
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[],
};
