//! MiMo: Qwen3-Coder's calls, but line feeds around a value are the value's.

use crate::formats::qwen3_coder;
use crate::tags::Shape;
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "mimo",
    tool_names: &["mimo"],
    reasoning_names: &["mimo"],
    thinking: Some(Thinking { ended_by_call: EndedByCall::Anywhere, ..Thinking::TAGS }),
    calls: Some(&CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[],
};

const CALLS: Shape = Shape { feeds: false, ..qwen3_coder::CALLS };
