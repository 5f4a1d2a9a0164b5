//! Llama 3 and 4: `{"name": …, "parameters": {…}}`, alone or behind `<|python_tag|>`, several with `;` or white space
//! between.
//!
//! Nothing announces most calls: what has no declared tool's name stays text.

use crate::json::{Shape, Spelling};
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "llama3_json",
    tool_names: &["llama3_json", "llama4_json", "llama3"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&[
        "\"parameters\": dictionary of argument name and its value",
        "!<tool_call>",
        "!<|python_start|>",
    ]],
};

const SHAPE: Shape = Shape {
    open: &["<|python_tag|>"],
    bare: &["{"],
    spellings: &[Spelling {
        before: "{\"name\": \"",
        middle: "\", \"parameters\": ",
        after: "}",
        between: "; ",
        quoted: true,
        ..Spelling::PLAIN
    }],
    starts: &["<|python_tag|>", "{\"name\": \""],
    ..Shape::PLAIN
};
