//! Kimi-VL's reasoning.

use crate::{Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "kimi",
    tool_names: &[],
    reasoning_names: &["kimi"],
    thinking: Some(Thinking { open: &["◁think▷"], close: &["◁/think▷"], ..Thinking::TAGS }),
    calls: None,
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["◁think▷"]],
};
