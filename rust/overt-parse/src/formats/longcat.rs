//! LongCat-Flash: as Hermes, with markers of its own.

use crate::json::{Shape, Spelling};
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "longcat",
    tool_names: &["longcat"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<longcat_tool_call>"]],
};

const SHAPE: Shape = Shape {
    open: &["<longcat_tool_call>"],
    close: &["</longcat_tool_call>"],
    spellings: &[Spelling {
        before: "<longcat_tool_call>\n{\"name\": \"",
        middle: "\", \"arguments\": ",
        after: "}\n</longcat_tool_call>",
        between: "\n",
        quoted: true,
        ..Spelling::PLAIN
    }],
    pieces: &["<longcat_tool_call>", "</longcat_tool_call>"],
    ..Shape::PLAIN
};
