//! LFM 2: a Python list of calls, or JSON, between special tokens.

use crate::pythonic::Shape;
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "lfm2",
    tool_names: &["lfm2"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&Shape {
        open: &["<|tool_call_start|>"],
        close: &["<|tool_call_end|>"],
        bare: false,
        starts: &[],
        list: true,
        between: ", ",
        quote: '\'',
        json: true,
        echo: true,
    }),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &["<|tool_call_start|>", "<|tool_call_end|>"],
    signs: &[&["<|tool_call_start|>", "!```python"], &["<|tool_list_start|>"]],
};
