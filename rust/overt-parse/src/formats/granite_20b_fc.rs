//! Granite 20B for function calling: each call behind `<function_call>`, which nothing closes.

use crate::json::{Shape, Spelling};
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "granite-20b-fc",
    tool_names: &["granite-20b-fc"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<function_call>", "!<dots_function_call>"]],
};

const SHAPE: Shape = Shape {
    open: &["<function_call>"],
    spellings: &[Spelling {
        before: "<function_call> {\"name\": \"",
        middle: "\", \"arguments\": ",
        after: "}",
        between: "\n",
        quoted: true,
        ..Spelling::PLAIN
    }],
    pieces: &["<function_call>"],
    ..Shape::PLAIN
};
