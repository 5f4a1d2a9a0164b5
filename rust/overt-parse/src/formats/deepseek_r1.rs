//! DeepSeek R1's reasoning: the template opens it, and the model often leaves the opener out.

use crate::{Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "deepseek_r1",
    tool_names: &[],
    reasoning_names: &["deepseek_r1", "deepseek-r1"],
    thinking: Some(Thinking { start: Start::Thinking, ..Thinking::TAGS }),
    calls: None,
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<｜Assistant｜>", "</think>", "!not thinking", "!｜DSML｜"]],
};
