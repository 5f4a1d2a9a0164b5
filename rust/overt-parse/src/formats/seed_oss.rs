//! Seed-OSS: Qwen3-Coder's tags in a wrapper of its own, without line feeds in values, and thoughts in tags of its own.

use crate::formats::qwen3_coder;
use crate::tags::Shape;
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "seed_oss",
    tool_names: &["seed_oss"],
    reasoning_names: &["seed_oss"],
    thinking: Some(Thinking {
        open: &["<seed:think>"],
        close: &["</seed:think>"],
        ended_by_call: EndedByCall::Anywhere,
        ..Thinking::TAGS
    }),
    calls: Some(&CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &["<seed:tool_call>", "</seed:tool_call>"],
    signs: &[&["<seed:tool_call>"]],
};

const CALLS: Shape = Shape {
    open: &["<seed:tool_call>"],
    close: &["</seed:tool_call>"],
    feeds: false,
    tokens: &["<seed:tool_call>", "</seed:tool_call>"],
    ..qwen3_coder::CALLS
};
