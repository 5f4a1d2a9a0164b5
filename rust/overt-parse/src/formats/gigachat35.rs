//! GigaChat 3.5: DeepSeek V4's calls under a mark of its own; it always thinks.

use crate::tags::Shape;
use crate::{Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "gigachat35",
    tool_names: &["gigachat35"],
    reasoning_names: &["gigachat35"],
    thinking: Some(Thinking { start: Start::Thinking, ..Thinking::TAGS }),
    calls: Some(&CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["｜GCML｜"]],
};

const CALLS: Shape = Shape {
    open: &["<｜GCML｜tool_calls>"],
    close: &["</｜GCML｜tool_calls>"],
    other_open: &["<｜GCML｜tool_call>"],
    other_close: &["</｜GCML｜tool_call>"],
    invoke: &["<｜GCML｜invoke name="],
    invoke_end: &["</｜GCML｜invoke>"],
    parameter: &["<｜GCML｜parameter name="],
    parameter_end: &["</｜GCML｜parameter>"],
    quoted: true,
    typed: true,
    json: true,
    lines: true,
    tokens: &["｜GCML｜"],
    ..Shape::EMPTY
};
