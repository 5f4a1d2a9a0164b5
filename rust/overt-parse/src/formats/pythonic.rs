//! A Python list of calls and nothing around it: Llama 3.2, ToolACE; Llama 4, which may set it between markers.

use crate::pythonic::Shape;
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "pythonic",
    tool_names: &["pythonic", "llama4_pythonic"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&Shape {
        open: &["<|python_start|>"],
        close: &["<|python_end|>"],
        bare: true,
        starts: &["<|python_start|>", "["],
        list: true,
        between: ", ",
        quote: '"',
        json: false,
        echo: false,
    }),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[
        &["[func_name1(param1=value1", "<|header_start|>"],
        &["<|python_start|>[", "<|python_end|>"],
        &["[func_name1(params_name1=params_value1", "!<|header_start|>"],
    ],
};
