//! Step 3.5: Qwen3-Coder's calls; it always thinks.

use crate::formats::qwen3_coder;
use crate::{EndedByCall, Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "step3p5",
    tool_names: &["step3p5"],
    reasoning_names: &["step3p5"],
    thinking: Some(Thinking {
        start: Start::Thinking,
        ended_by_call: EndedByCall::Anywhere,
        ..Thinking::TAGS
    }),
    calls: Some(&qwen3_coder::CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[],
};
