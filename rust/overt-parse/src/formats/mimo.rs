//! MiMo: Qwen3-Coder's calls, but line feeds around a value are the value's.

use crate::formats::qwen3_coder;
use crate::tags::Shape;
use crate::{EndedByCall, Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "mimo",
    tool_names: &["mimo"],
    reasoning_names: &["mimo"],
    thinking: Some(Thinking {
        open: &["<think>"],
        close: &["</think>"],
        start: Start::Answer,
        ended_by_call: EndedByCall::Anywhere,
        answer: &[],
        kept: false,
    }),
    calls: Some(&CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[],
};

const CALLS: Shape = Shape { feeds: false, ..qwen3_coder::CALLS };
