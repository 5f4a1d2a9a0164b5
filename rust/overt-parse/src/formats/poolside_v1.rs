//! Laguna: as GLM 4.5. The template opens the thinking, or closes it at once.

use crate::formats::glm45;
use crate::{Format, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "poolside_v1",
    tool_names: &["poolside_v1"],
    reasoning_names: &["poolside_v1"],
    thinking: Some(Thinking::TAGS),
    signs: &[&["<arg_key>", "</assistant>"]],
    ..glm45::FORMAT
};
