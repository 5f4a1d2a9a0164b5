//! gpt-oss, which writes OpenAI's Harmony: `<|channel|>analysis<|message|>…<|end|>`, calls with a recipient in the
//! role's part or the channel's, `<|start|>assistant<|channel|>commentary to=functions.N <|constrain|>json<|message|>`.
//!
//! - The analysis channel is reasoning, any other channel is text: an unknown one, and commentary to nobody.
//! - A recipient makes a call on any channel, whatever the content type says, if its body is an object.

use crate::channels::{Body, Calls, Frame, Implied, Opener, Shape};
use crate::{Answer, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "openai",
    tool_names: &["openai", "gpt-oss"],
    reasoning_names: &["openai_gptoss", "gpt-oss"],
    thinking: Some(Thinking {
        open: &["<|channel|>analysis<|message|>"],
        close: &["<|end|>"],
        ..Thinking::TAGS
    }),
    calls: Some(&SHAPE),
    framed: true,
    answer: Some(Answer {
        again: "<|start|>assistant",
        open: "<|channel|>final<|message|>",
        close: "",
    }),
    ids: Ids::Plain,
    tokens: &["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"],
    signs: &[&["<|channel|>analysis<|message|>", "<|start|>assistant"]],
};

const SHAPE: Shape = Shape {
    heads: &["<|start|>", "<|channel|>"],
    parts: &["<|constrain|>"],
    bodies: &[Opener { marker: "<|message|>", body: Body::Named }],
    ends: &["<|end|>", "<|call|>", "<|return|>"],
    closers: &[],
    implied: Implied::Recipient,
    recipient: "to=",
    namespace: "functions.",
    reasoning: &["analysis"],
    text: &["to=user", "to=assistant", "to=all"],
    words: &["assistant", "commentary", "final", "json", "code"],
    calls: Calls::Arguments,
    openers: &["<|channel|>commentary to="],
    frame: Frame {
        open: "",
        close: "",
        between: "<|start|>assistant",
        before: "<|channel|>commentary to=functions.",
        behind: " <|constrain|>json<|message|>",
        after: "<|call|>",
        empty: &[],
    },
};
