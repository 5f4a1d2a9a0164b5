//! GigaChat 3: one call behind `<|function_call|>` (3.1) or in a message of the role `function call` (3.0).

use crate::json::{Shape, Spelling};
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "gigachat3",
    tool_names: &["gigachat3"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["function call", "<|role_sep|>"], &["<|function_call|>"], &["`function call`"]],
};

const SHAPE: Shape = Shape {
    open: &[
        "<|function_call|>",
        "function call<|role_sep|>",
        "<|message_sep|>\n\nfunction call<|role_sep|>",
    ],
    spellings: &[
        Spelling {
            before: "<|function_call|>{\"name\": \"",
            middle: "\", \"arguments\": ",
            after: "}",
            quoted: true,
            ..Spelling::PLAIN
        },
        Spelling {
            before: "<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"",
            middle: "\", \"arguments\": ",
            after: "}",
            quoted: true,
            ..Spelling::PLAIN
        },
    ],
    pieces: &["<|function_call|>", "<|role_sep|>", "<|message_sep|>"],
    single: true,
    ..Shape::PLAIN
};
