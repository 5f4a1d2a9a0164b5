//! Muse Glimmer: every message names whom it is for: `to=self<|message|>` is reasoning, `to=user<|message|>` text,
//! `to=TOOL<|message|>` a block of `<atem:invoke name="…">` elements. Such blocks in reasoning or text stay there.

use crate::channels::{Body, Calls, Frame, Implied, Invokes, Opener, Shape};
use crate::{Answer, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "muse_glimmer",
    tool_names: &["muse_glimmer", "muse"],
    reasoning_names: &["muse_glimmer", "muse"],
    thinking: Some(Thinking {
        open: &[" to=self<|message|>"],
        close: &["<|eom|>"],
        ..Thinking::TAGS
    }),
    calls: Some(&SHAPE),
    framed: true,
    answer: Some(Answer { again: "<|start|>assistant", open: " to=user<|message|>", close: "" }),
    ids: Ids::Plain,
    tokens: &["<|start|>", "<|message|>", "<|eom|>", "<|eot|>"],
    signs: &[&["<atem:function_calls>", "<|message|>"]],
};

const SHAPE: Shape = Shape {
    heads: &["<|start|>"],
    parts: &[],
    bodies: &[Opener { marker: "<|message|>", body: Body::Named }],
    ends: &["<|eom|>", "<|eot|>"],
    closers: &[],
    implied: Implied::Recipient,
    recipient: "to=",
    namespace: "",
    reasoning: &["to=self"],
    text: &["to=user", "to=assistant"],
    words: &["assistant"],
    calls: Calls::Invokes(Invokes {
        open: "<atem:function_calls>",
        close: "</atem:function_calls>",
        invoke: "<atem:invoke name=\"",
        invoke_end: "</atem:invoke>",
        parameter: "<atem:parameter name=\"",
        parameter_end: "</atem:parameter>",
        name_end: "\">",
    }),
    openers: &["<atem:function_calls>"],
    frame: Frame {
        open: "",
        close: "",
        between: "<|start|>assistant",
        before: " to=",
        behind: "<|message|>",
        after: "<|eom|>",
        empty: &[],
    },
};
