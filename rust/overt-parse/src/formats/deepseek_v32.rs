//! DeepSeek V3.2: `<｜DSML｜function_calls>` around `<｜DSML｜invoke name="N">` with
//! `<｜DSML｜parameter name="K" string="true|false">`, or with the arguments as one JSON object.

use crate::tags::Shape;
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "deepseek_v32",
    tool_names: &["deepseek_v32", "deepseekv32"],
    reasoning_names: &["deepseek_v32"],
    thinking: Some(Thinking { ended_by_call: EndedByCall::Anywhere, ..Thinking::TAGS }),
    calls: Some(&CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["｜DSML｜", "function_calls>"]],
};

pub(crate) const CALLS: Shape = Shape {
    open: &["<｜DSML｜function_calls>"],
    close: &["</｜DSML｜function_calls>"],
    other_open: &[
        "<｜DSML｜function_call>",
        "<｜DSML｜tool_calls>",
        "<｜DSML｜tool_call>",
        "<｜DSML｜toolcalls>",
        "<｜DSML｜tool>",
        "<｜DSML｜ calls>",
        "<｜DSML｜ call>",
    ],
    other_close: &[
        "</｜DSML｜function_call>",
        "</｜DSML｜tool_calls>",
        "</｜DSML｜tool_call>",
        "</｜DSML｜toolcalls>",
        "</｜DSML｜tool>",
        "</｜DSML｜ calls>",
        "</｜DSML｜ call>",
    ],
    invoke: &["<｜DSML｜invoke name=", "<｜DSML｜ invoke name="],
    invoke_end: &["</｜DSML｜invoke>", "</｜DSML｜ invoke>"],
    parameter: &["<｜DSML｜parameter name=", "<｜DSML｜ parameter name="],
    parameter_end: &["</｜DSML｜parameter>", "</｜DSML｜ parameter>"],
    quoted: true,
    typed: true,
    json: true,
    lines: true,
    tokens: &["｜DSML｜"],
    ..Shape::EMPTY
};
