//! MiniMax M2 with its thoughts left in the answer, behind the marker with which the prompt opened them.

use crate::{Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "minimax_m2_append_think",
    tool_names: &[],
    reasoning_names: &["minimax_m2_append_think", "minimax-append-think"],
    thinking: Some(Thinking { start: Start::Thinking, kept: true, ..Thinking::TAGS }),
    calls: None,
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[],
};
