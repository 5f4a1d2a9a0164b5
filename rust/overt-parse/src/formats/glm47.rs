//! GLM 4.7 and 5: a call without white space. The template opens the thinking, or closes it at once.

use crate::pairs::{Blanks, Shape};
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "glm47",
    tool_names: &["glm47"],
    reasoning_names: &["glm47"],
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
        blanks: Blanks::NONE,
        json: false,
    }),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<tool_call>{function-name}<arg_key>"]],
};
