//! Inkling: blocks of one kind each, `<|content_thinking|>…<|end_message|>`, `<|content_text|>…`, and calls as
//! `NAME<|content_invoke_tool_json|>{"name": …, "args": {…}}<|end_message|>`; `<|message_model|>` stands between them.
//!
//! - The name before the marker is no text; it is the call's where the object has none, or has it last.
//! - Text without a block is text.

use crate::channels::{Body, Calls, Frame, Implied, Objects, Opener, Shape};
use crate::json::Keys;
use crate::{Answer, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "inkling",
    tool_names: &["inkling"],
    reasoning_names: &["inkling"],
    thinking: Some(Thinking {
        open: &["<|content_thinking|>"],
        close: &["<|end_message|>"],
        ..Thinking::TAGS
    }),
    calls: Some(&SHAPE),
    framed: true,
    answer: Some(Answer {
        again: "<|message_model|>",
        open: "<|content_text|>",
        close: "<|end_message|>",
    }),
    ids: Ids::Plain,
    tokens: &[
        "<|message_model|>",
        "<|content_text|>",
        "<|content_invoke_tool_json|>",
        "<|end_message|>",
    ],
    signs: &[
        &["<|message_model|>", "<|content_invoke_tool_json|>"],
        &["<|message_model|>", "<|content_text|>"],
    ],
};

const SHAPE: Shape = Shape {
    heads: &[],
    parts: &[],
    bodies: &[
        Opener { marker: "<|content_thinking|>", body: Body::Reasoning },
        Opener { marker: "<|content_text|>", body: Body::Text },
        Opener { marker: "<|content_invoke_tool_json|>", body: Body::Calls },
        Opener { marker: "<|content_invoke_tool_text|>", body: Body::Text },
        Opener { marker: "<|content_tool_error|>", body: Body::Text },
    ],
    ends: &["<|message_model|>", "<|end_message|>", "<|content_model_end_sampling|>"],
    closers: &[],
    implied: Implied::Name,
    recipient: "",
    namespace: "",
    reasoning: &[],
    text: &[],
    words: &[],
    calls: Calls::Objects(Objects {
        keys: Keys {
            name: &["name"],
            arguments: &["args", "arguments", "parameters"],
            ..Keys::USUAL
        },
        number: "",
    }),
    openers: &["<|content_invoke_tool_json|>"],
    frame: Frame {
        open: "",
        close: "",
        between: "<|message_model|>",
        before: "",
        behind: "<|content_invoke_tool_json|>",
        after: "<|end_message|>",
        empty: &[],
    },
};
