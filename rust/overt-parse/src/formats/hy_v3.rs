//! Hunyuan 3: calls in a section, a separator behind the name. Checkpoints may put a suffix into every tag.

use crate::pairs::{Blanks, Shape};
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "hy_v3",
    tool_names: &["hy_v3", "hunyuan"],
    reasoning_names: &["hy_v3", "hunyuan"],
    thinking: Some(Thinking {
        open: &["<think>", "<think:opensource>"],
        close: &["</think>", "</think:opensource>"],
        ended_by_call: EndedByCall::Anywhere,
        ..Thinking::TAGS
    }),
    calls: Some(&Shape {
        section: &["<tool_calls>", "<tool_calls:opensource>"],
        section_end: &["</tool_calls>", "</tool_calls:opensource>"],
        call: &["<tool_call>", "<tool_call:opensource>"],
        call_end: &["</tool_call>", "</tool_call:opensource>"],
        name_end: &["<tool_sep>", "<tool_sep:opensource>"],
        key: &["<arg_key>", "<arg_key:opensource>"],
        key_end: &["</arg_key>", "</arg_key:opensource>"],
        kind: &[],
        kind_end: &[],
        value: &["<arg_value>", "<arg_value:opensource>"],
        value_end: &["</arg_value>", "</arg_value:opensource>"],
        blanks: Blanks::LINES,
        json: false,
    }),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<tool_sep>", "<arg_key>"]],
};
