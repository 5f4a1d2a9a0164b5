//! Laguna: as GLM 4.5. The template opens the thinking, or closes it at once.

use crate::pairs::{Blanks, Shape};
use crate::{Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "poolside_v1",
    tool_names: &["poolside_v1"],
    reasoning_names: &["poolside_v1"],
    thinking: Some(Thinking::TAGS),
    calls: Some(&Shape {
        section: &[],
        section_end: &[],
        call: &["<tool_call>"],
        call_end: &["</tool_call>"],
        name_end: &[],
        key: &["<arg_key>"],
        key_end: &["</arg_key>"],
        kind: &[],
        kind_end: &[],
        value: &["<arg_value>"],
        value_end: &["</arg_value>"],
        blanks: Blanks::LINES,
        json: false,
    }),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<arg_key>", "</assistant>"]],
};
