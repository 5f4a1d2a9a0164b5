//! Nanbeige 4: Qwen3-Coder's calls.

use crate::formats::qwen3_coder;
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "nanbeige",
    tool_names: &["nanbeige"],
    reasoning_names: &["nanbeige"],
    thinking: Some(Thinking { ended_by_call: EndedByCall::Anywhere, ..Thinking::TAGS }),
    calls: Some(&qwen3_coder::CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[],
};
