//! DeepSeek V4.1: V4's calls, with a space before each tag's name.

use crate::formats::deepseek_v32;
use crate::tags::Shape;
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "deepseek_v41",
    tool_names: &["deepseek_v41", "deepseekv41"],
    reasoning_names: &["deepseek_v41", "deepseek-v41"],
    thinking: Some(Thinking { ended_by_call: EndedByCall::Anywhere, ..Thinking::TAGS }),
    calls: Some(&CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["｜DSML｜", " calls>", "!tool_calls>", "!function_calls>"]],
};

const CALLS: Shape = Shape {
    open: &["<｜DSML｜ calls>"],
    close: &["</｜DSML｜ calls>"],
    other_open: &[
        "<｜DSML｜function_calls>",
        "<｜DSML｜function_call>",
        "<｜DSML｜tool_calls>",
        "<｜DSML｜tool_call>",
        "<｜DSML｜toolcalls>",
        "<｜DSML｜tool>",
        "<｜DSML｜ call>",
    ],
    other_close: &[
        "</｜DSML｜function_calls>",
        "</｜DSML｜function_call>",
        "</｜DSML｜tool_calls>",
        "</｜DSML｜tool_call>",
        "</｜DSML｜toolcalls>",
        "</｜DSML｜tool>",
        "</｜DSML｜ call>",
    ],
    invoke: &["<｜DSML｜ invoke name=", "<｜DSML｜invoke name="],
    invoke_end: &["</｜DSML｜ invoke>", "</｜DSML｜invoke>"],
    parameter: &["<｜DSML｜ parameter name=", "<｜DSML｜parameter name="],
    parameter_end: &["</｜DSML｜ parameter>", "</｜DSML｜parameter>"],
    ..deepseek_v32::CALLS
};
