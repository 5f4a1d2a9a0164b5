//! Kimi K3's XTML: frames `<|open|>NAME a="…"<|sep|>…<|close|>NAME<|sep|>`: `think`, `response`, and `tools` with a
//! `call` a call and in it an `argument` a parameter, whose type it says, or a `json` with all of them.

use crate::channels::{Body, Calls, Elements, Frame, Implied, Opener, Shape};
use crate::{Answer, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "kimi_k3",
    tool_names: &["kimi_k3"],
    reasoning_names: &["kimi_k3"],
    thinking: Some(Thinking {
        open: &["<|open|>think<|sep|>"],
        close: &["<|close|>think<|sep|>"],
        ..Thinking::TAGS
    }),
    calls: Some(&SHAPE),
    framed: true,
    answer: Some(Answer {
        again: "",
        open: "<|open|>response<|sep|>",
        close: "<|close|>response<|sep|>",
    }),
    ids: Ids::Plain,
    tokens: &["<|open|>", "<|sep|>", "<|close|>"],
    signs: &[&["<|open|>", "<|sep|>", "<|close|>"]],
};

const SHAPE: Shape = Shape {
    heads: &["<|open|>"],
    parts: &[],
    bodies: &[Opener { marker: "<|sep|>", body: Body::Named }],
    ends: &["<|end_of_msg|>"],
    closers: &["<|close|>"],
    implied: Implied::Never,
    recipient: "",
    namespace: "",
    reasoning: &["think"],
    text: &["response"],
    words: &["message", "tools", "call", "argument", "json"],
    calls: Calls::Elements(Elements {
        call: "call",
        name: "tool",
        parameter: "argument",
        key: "key",
        kind: "type",
        object: "json",
    }),
    openers: &["<|open|>tools<|sep|>"],
    frame: Frame {
        open: "<|open|>tools<|sep|>",
        close: "<|close|>tools<|sep|>",
        between: "",
        before: "",
        behind: "",
        after: "",
        empty: &["<|open|>response<|sep|><|close|>response<|sep|>", "<|close|>response<|sep|>"],
    },
};
