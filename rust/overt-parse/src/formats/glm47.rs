//! GLM 4.7 and 5: a call without white space. The template opens the thinking, or closes it at once.

use crate::Format;
use crate::formats::glm45;
use crate::pairs::{Blanks, Shape};

pub(crate) const FORMAT: Format = Format {
    name: "glm47",
    tool_names: &["glm47"],
    reasoning_names: &["glm47"],
    calls: Some(&Shape { blanks: Blanks::NONE, ..glm45::SHAPE }),
    signs: &[&["<tool_call>{function-name}<arg_key>"]],
    ..glm45::FORMAT
};
