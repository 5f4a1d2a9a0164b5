//! Hunyuan A13B: a list of calls between `<tool_calls>` and `</tool_calls>`; behind thinking the answer stands
//! between `<answer>` and `</answer>`.

use crate::json::{Shape, Spelling};
use crate::{Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "hunyuan_a13b",
    tool_names: &["hunyuan_a13b"],
    reasoning_names: &["hunyuan_a13b"],
    thinking: Some(Thinking { answer: &["<answer>", "</answer>"], ..Thinking::TAGS }),
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<tool_calls>[", "<|extra_0|>"]],
};

const SHAPE: Shape = Shape {
    open: &["<tool_calls>"],
    close: &["</tool_calls>"],
    spellings: &[Spelling { prefix: "<tool_calls>[", suffix: "]</tool_calls>", ..Spelling::LIST }],
    pieces: &["<tool_calls>", "</tool_calls>"],
    ..Shape::PLAIN
};
