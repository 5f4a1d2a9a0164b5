//! Hunyuan 4: as Hunyuan 3 without the separator and without white space within a call.

use crate::pairs::{Blanks, Shape};
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "hy_v4",
    tool_names: &["hy_v4"],
    reasoning_names: &["hy_v4"],
    thinking: Some(Thinking {
        open: &["<think:opensource>", "<think>"],
        close: &["</think:opensource>", "</think>"],
        ended_by_call: EndedByCall::Anywhere,
        ..Thinking::TAGS
    }),
    calls: Some(&Shape {
        section: &["<tool_calls:opensource>", "<tool_calls>"],
        section_end: &["</tool_calls:opensource>", "</tool_calls>"],
        call: &["<tool_call:opensource>", "<tool_call>"],
        call_end: &["</tool_call:opensource>", "</tool_call>"],
        name_end: &[],
        key: &["<arg_key:opensource>", "<arg_key>"],
        key_end: &["</arg_key:opensource>", "</arg_key>"],
        kind: &[],
        kind_end: &[],
        value: &["<arg_value:opensource>", "<arg_value>"],
        value_end: &["</arg_value:opensource>", "</arg_value>"],
        blanks: Blanks { section: "\n", calls: "\n", ..Blanks::NONE },
        json: false,
    }),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<tool_calls:", "<arg_key:"]],
};
