//! Apertus: `<|tools_prefix|>[{NAME: {…}}, …]<|tools_suffix|>`. A call ends thinking that is open.

use crate::json::{Keys, Shape, Spelling};
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "apertus",
    tool_names: &["apertus", "apertus2509"],
    reasoning_names: &["apertus2509"],
    thinking: Some(Thinking {
        open: &["<|inner_prefix|>"],
        close: &["<|inner_suffix|>"],
        ended_by_call: EndedByCall::Anywhere,
        ..Thinking::TAGS
    }),
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &["<|tools_prefix|>", "<|tools_suffix|>"],
    signs: &[&["<|tools_prefix|>"]],
};

const SHAPE: Shape = Shape {
    open: &["<|tools_prefix|>"],
    close: &["<|tools_suffix|>"],
    keys: Keys { mapped: true, ..Keys::USUAL },
    spellings: &[Spelling {
        prefix: "<|tools_prefix|>[",
        before: "{\"",
        middle: "\": ",
        after: "}",
        between: ", ",
        suffix: "]<|tools_suffix|>",
        quoted: true,
    }],
    pieces: &["<|tools_prefix|>", "<|tools_suffix|>"],
    ..Shape::PLAIN
};
