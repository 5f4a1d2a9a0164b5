//! K2 Horizon: calls in a section, as pairs (with the value's type or without) or as JSON. Three tags of thinking, by the
//! effort that was asked for; the template opens it.

use crate::pairs::{Blanks, Shape};
use crate::{Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "k2_horizon",
    tool_names: &["k2_horizon"],
    reasoning_names: &["k2_horizon"],
    thinking: Some(Thinking {
        open: &["<ifm|think>", "<ifm|think_fast>", "<ifm|think_faster>"],
        close: &["</ifm|think>", "</ifm|think_fast>", "</ifm|think_faster>"],
        ..Thinking::TAGS
    }),
    calls: Some(&Shape {
        section: &["<ifm|tool_calls>"],
        section_end: &["</ifm|tool_calls>"],
        call: &["<ifm|tool_call>"],
        call_end: &["</ifm|tool_call>"],
        name_end: &[],
        key: &["<ifm|arg_key>"],
        key_end: &["</ifm|arg_key>"],
        kind: &["<ifm|arg_type>"],
        kind_end: &["</ifm|arg_type>"],
        value: &["<ifm|arg_value>"],
        value_end: &["</ifm|arg_value>"],
        blanks: Blanks::LINES,
        json: true,
    }),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<ifm|tool_call"]],
};
