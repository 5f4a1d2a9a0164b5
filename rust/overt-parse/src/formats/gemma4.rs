//! Gemma 4: calls in braces, thinking in a channel of its own.

use crate::braces::Shape;
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "gemma4",
    tool_names: &["gemma4"],
    reasoning_names: &["gemma4"],
    thinking: Some(Thinking {
        open: &["<|channel>thought\n", "<|channel>thought", "<|channel>"],
        close: &["<channel|>"],
        ended_by_call: EndedByCall::Anywhere,
        ..Thinking::TAGS
    }),
    calls: Some(&Shape {
        open: &["<|tool_call>"],
        close: &["<tool_call|>"],
        lead: "call:",
        quote: &["<|\"|>"],
    }),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &["<|tool_call>", "<tool_call|>", "<|\"|>"],
    signs: &[&["<|tool_call>call:"]],
};
