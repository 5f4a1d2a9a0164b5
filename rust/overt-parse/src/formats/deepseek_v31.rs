//! DeepSeek V3.1: in a section, the name, a separator and the arguments for each call.
//!
//! The section may be missing; what V3 writes around them is read too.

use crate::Format;
use crate::formats::deepseek_v3;
use crate::json::{Shape, Spelling};

pub(crate) const FORMAT: Format = Format {
    name: "deepseek_v31",
    tool_names: &["deepseek_v31", "deepseekv31"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&Shape {
        spellings: &[Spelling {
            prefix: "<｜tool▁calls▁begin｜>",
            before: "<｜tool▁call▁begin｜>",
            middle: "<｜tool▁sep｜>",
            after: "<｜tool▁call▁end｜>",
            suffix: "<｜tool▁calls▁end｜>",
            ..Spelling::PLAIN
        }],
        ..deepseek_v3::SHAPE
    }),
    signs: &[&["<｜tool▁calls▁begin｜>", "!tool['type']", "!```json"]],
    ..deepseek_v3::FORMAT
};
