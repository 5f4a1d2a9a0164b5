//! Step 3: `<｜tool_calls_begin｜>` around calls that each stand behind `<｜tool_call_begin｜>function<｜tool_sep｜>` as
//! `<steptml:invoke name="N"><steptml:parameter name="K">V</steptml:parameter></steptml:invoke>`; it always thinks.

use crate::tags::Shape;
use crate::{Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "step3",
    tool_names: &["step3"],
    reasoning_names: &["step3"],
    thinking: Some(Thinking { start: Start::Thinking, ..Thinking::TAGS }),
    calls: Some(&CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<steptml:invoke"]],
};

const CALLS: Shape = Shape {
    open: &["<｜tool_calls_begin｜>"],
    close: &["<｜tool_calls_end｜>"],
    other_open: &["<｜tool_call_begin｜>"],
    before: "<｜tool_call_begin｜>function<｜tool_sep｜>",
    after: "<｜tool_call_end｜>",
    invoke: &["<steptml:invoke name="],
    invoke_end: &["</steptml:invoke>"],
    parameter: &["<steptml:parameter name="],
    parameter_end: &["</steptml:parameter>"],
    quoted: true,
    lines: true,
    tokens: &[
        "<｜tool_calls_begin｜>",
        "<｜tool_calls_end｜>",
        "<｜tool_call_begin｜>",
        "<｜tool_call_end｜>",
        "<｜tool_sep｜>",
    ],
    ..Shape::EMPTY
};
