//! Dots: `<dots_function_call>` around `<invoke name="N"><parameter name="K">V</parameter></invoke>`, or around
//! `{"name": …, "arguments": {…}}`.

use crate::tags::Shape;
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "dots",
    tool_names: &["dots"],
    reasoning_names: &["dots"],
    thinking: Some(Thinking { ended_by_call: EndedByCall::Anywhere, ..Thinking::TAGS }),
    calls: Some(&CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<dots_function_call>"]],
};

const CALLS: Shape = Shape {
    open: &["<dots_function_call>"],
    close: &["</dots_function_call>"],
    invoke: &["<invoke name="],
    invoke_end: &["</invoke>"],
    parameter: &["<parameter name="],
    parameter_end: &["</parameter>"],
    quoted: true,
    objects: true,
    tokens: &["<dots_function_call>", "</dots_function_call>"],
    ..Shape::EMPTY
};
