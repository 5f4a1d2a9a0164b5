//! ERNIE 4.5: calls as Hermes, behind thinking that the template opens; the answer may stand between
//! `<response>` and `</response>`.

use crate::json::{Shape, Spelling};
use crate::{Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "ernie45",
    tool_names: &["ernie45"],
    reasoning_names: &["ernie45"],
    thinking: Some(Thinking {
        start: Start::Thinking,
        answer: &["<response>", "</response>"],
        ..Thinking::TAGS
    }),
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<tool_call>", "<response>", "</think>", "!<|start_of_role|>"]],
};

const SHAPE: Shape = Shape {
    open: &["<tool_call>"],
    close: &["</tool_call>"],
    spellings: &[Spelling {
        before: "<tool_call>\n{\"name\": \"",
        middle: "\", \"arguments\": ",
        after: "}\n</tool_call>",
        between: "\n",
        quoted: true,
        ..Spelling::PLAIN
    }],
    pieces: &["<tool_call>", "</tool_call>"],
    ..Shape::PLAIN
};
