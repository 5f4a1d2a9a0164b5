//! Qwen3-Coder and Qwen 3.5: `<tool_call><function=N><parameter=K>V</parameter></function></tool_call>`, with a line
//! feed at each end of a value. Nemotron 3 and others write the same.

use crate::tags::Shape;
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "qwen3_coder",
    tool_names: &["qwen3_coder", "qwen3_xml"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<tool_call>", "<function=", "!<seed:tool_call>"]],
};

pub(crate) const CALLS: Shape = Shape {
    open: &["<tool_call>"],
    close: &["</tool_call>"],
    other_open: &["<tool_calls>"],
    other_close: &["</tool_calls>"],
    each: true,
    invoke: &["<function="],
    invoke_end: &["</function>"],
    parameter: &["<parameter="],
    parameter_end: &["</parameter>"],
    feeds: true,
    lines: true,
    tokens: &["<tool_call>", "</tool_call>"],
    ..Shape::EMPTY
};
