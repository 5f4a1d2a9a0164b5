//! Spark 2.5: as GLM 4.7.

use crate::pairs::{Blanks, Shape};
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "spark25",
    tool_names: &["spark25"],
    reasoning_names: &[],
    thinking: None,
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
        blanks: Blanks::NONE,
        json: false,
    }),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<arg_key>", "<|Bot|>"]],
};
