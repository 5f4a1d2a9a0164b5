//! Ling 3: as GLM 4.5 with other line feeds.

use crate::Format;
use crate::formats::glm45;
use crate::pairs::{Blanks, Shape};

pub(crate) const FORMAT: Format = Format {
    name: "ling3",
    tool_names: &["ling3"],
    reasoning_names: &["ling3"],
    calls: Some(&Shape {
        blanks: Blanks { section: "", calls: "\n", name: "\n", key: "\n", value: "", end: "\n" },
        ..glm45::SHAPE
    }),
    signs: &[&["<arg_key>", "<role>"]],
    ..glm45::FORMAT
};
