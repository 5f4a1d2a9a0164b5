//! Spark 2.5: as GLM 4.7.

use crate::Format;
use crate::formats::glm47;

pub(crate) const FORMAT: Format = Format {
    name: "spark25",
    tool_names: &["spark25"],
    reasoning_names: &[],
    thinking: None,
    signs: &[&["<arg_key>", "<|Bot|>"]],
    ..glm47::FORMAT
};
