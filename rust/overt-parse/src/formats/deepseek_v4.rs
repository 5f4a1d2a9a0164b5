//! DeepSeek V4: V3.2's calls in a wrapper of another name.

use crate::formats::deepseek_v32;
use crate::tags::Shape;
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "deepseek_v4",
    tool_names: &["deepseek_v4", "deepseekv4"],
    reasoning_names: &["deepseek_v4", "deepseek-v4"],
    thinking: Some(Thinking { ended_by_call: EndedByCall::Anywhere, ..Thinking::TAGS }),
    calls: Some(&CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["｜DSML｜", "tool_calls>", "!function_calls>"]],
};

const CALLS: Shape = Shape {
    open: &["<｜DSML｜tool_calls>"],
    close: &["</｜DSML｜tool_calls>"],
    other_open: &[
        "<｜DSML｜function_calls>",
        "<｜DSML｜function_call>",
        "<｜DSML｜tool_call>",
        "<｜DSML｜toolcalls>",
        "<｜DSML｜tool>",
        "<｜DSML｜ calls>",
        "<｜DSML｜ call>",
    ],
    other_close: &[
        "</｜DSML｜function_calls>",
        "</｜DSML｜function_call>",
        "</｜DSML｜tool_call>",
        "</｜DSML｜toolcalls>",
        "</｜DSML｜tool>",
        "</｜DSML｜ calls>",
        "</｜DSML｜ call>",
    ],
    ..deepseek_v32::CALLS
};
