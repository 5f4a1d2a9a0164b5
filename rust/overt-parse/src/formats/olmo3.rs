//! Olmo 3: Python calls, one a line, between tags. The template opens the thinking.

use crate::pythonic::Shape;
use crate::{EndedByCall, Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "olmo3",
    tool_names: &["olmo3"],
    reasoning_names: &["olmo3"],
    thinking: Some(Thinking {
        open: &["<think>"],
        close: &["</think>"],
        start: Start::Answer,
        ended_by_call: EndedByCall::Never,
        answer: &[],
        kept: false,
    }),
    calls: Some(&Shape {
        open: &["<function_calls>"],
        close: &["</function_calls>"],
        bare: false,
        starts: &[],
        list: false,
        between: "\n",
        quote: '"',
        json: false,
        echo: false,
    }),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<function_calls>", "!DSML", "!atem:"]],
};
