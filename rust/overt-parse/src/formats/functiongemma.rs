//! FunctionGemma: calls in braces.

use crate::braces::Shape;
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "functiongemma",
    tool_names: &["functiongemma"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&Shape {
        open: &["<start_function_call>"],
        close: &["<end_function_call>"],
        lead: "call:",
        quote: &["<escape>"],
    }),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &["<start_function_call>", "<end_function_call>", "<escape>"],
    signs: &[&["<start_function_call>"]],
};
