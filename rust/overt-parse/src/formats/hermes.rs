//! `<tool_call>{"name": …, "arguments": {…}}</tool_call>`: Hermes, Qwen 2.5, Qwen 3, Granite 4, Trinity and many more.

use crate::json::{Shape, Spelling};
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "hermes",
    tool_names: &["hermes", "qwen3_json", "qwen", "qwen25", "trinity", "granite4"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[
        &["<tool_call>", "\"name", "<|start_of_role|>"],
        &[
            "<tool_call>",
            "name",
            "!<arg_key>",
            "!<function=",
            "!<tool_sep>",
            "!]<]minimax[>[",
            "!<|start_of_role|>",
            "!<invoke",
            "!<response>",
        ],
    ],
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
