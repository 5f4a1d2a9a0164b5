//! Olmo 3: Python calls, one a line, between tags. The template opens the thinking.

use crate::pythonic::Shape;
use crate::{Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "olmo3",
    tool_names: &["olmo3"],
    reasoning_names: &["olmo3"],
    thinking: Some(Thinking::TAGS),
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
