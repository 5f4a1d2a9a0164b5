//! DeepSeek V3 and R1: in a section, `function`, a separator, the name and a fence with the arguments for each call.
//!
//! The section, the type before the name and the fence may be missing.

use crate::json::{Header, Shape, Spelling};
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "deepseek_v3",
    tool_names: &["deepseek_v3", "deepseekv3"],
    reasoning_names: &["deepseek_v3", "deepseek-v3"],
    thinking: Some(Thinking { ended_by_call: EndedByCall::Anywhere, ..Thinking::TAGS }),
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: TOKENS,
    signs: &[&["<｜tool▁calls▁begin｜>", "tool['type']"], &["<｜tool▁calls▁begin｜>", "```json"]],
};

pub(crate) const SHAPE: Shape = Shape {
    open: &["<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"],
    close: &["<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"],
    fenced: true,
    header: Some(Header {
        lead: &["function<｜tool▁sep｜>"],
        split: &["```json", "<｜tool▁sep｜>"],
        id: &[],
        numbered: false,
    }),
    spellings: &[Spelling {
        prefix: "<｜tool▁calls▁begin｜>",
        before: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
        middle: "\n```json\n",
        after: "\n```<｜tool▁call▁end｜>",
        between: "\n",
        suffix: "<｜tool▁calls▁end｜>",
        ..Spelling::PLAIN
    }],
    pieces: TOKENS,
    ..Shape::PLAIN
};

const TOKENS: &[&str] = &[
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
];
