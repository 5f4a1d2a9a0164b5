//! DeepSeek V3.1: in a section, the name, a separator and the arguments for each call.
//!
//! The section may be missing; what V3 writes around them is read too.

use crate::json::{Header, Shape, Spelling};
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "deepseek_v31",
    tool_names: &["deepseek_v31", "deepseekv31"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁call▁end｜>",
        "<｜tool▁sep｜>",
    ],
    signs: &[&["<｜tool▁calls▁begin｜>", "!tool['type']", "!```json"]],
};

const SHAPE: Shape = Shape {
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
        before: "<｜tool▁call▁begin｜>",
        middle: "<｜tool▁sep｜>",
        after: "<｜tool▁call▁end｜>",
        suffix: "<｜tool▁calls▁end｜>",
        ..Spelling::PLAIN
    }],
    pieces: &[
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁call▁end｜>",
        "<｜tool▁sep｜>",
    ],
    ..Shape::PLAIN
};
