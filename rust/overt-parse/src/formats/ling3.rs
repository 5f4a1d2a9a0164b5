//! Ling 3: as GLM 4.5 with other line feeds.

use crate::pairs::{Blanks, Shape};
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "ling3",
    tool_names: &["ling3"],
    reasoning_names: &["ling3"],
    thinking: Some(Thinking { ended_by_call: EndedByCall::Anywhere, ..Thinking::TAGS }),
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
        blanks: Blanks { section: "", calls: "\n", name: "\n", key: "\n", value: "", end: "\n" },
        json: false,
    }),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<arg_key>", "<role>"]],
};
