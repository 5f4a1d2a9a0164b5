//! Cohere's Command A and its successors: `<|START_THINKING|>…<|END_THINKING|>`, an answer in
//! `<|START_RESPONSE|>…<|END_RESPONSE|>` or `<|START_TEXT|>…<|END_TEXT|>`, calls as a list in
//! `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": …, "parameters": {…}}]<|END_ACTION|>`.
//!
//! - The numbers that the model gives its calls begin anew in every turn: ids are our own.

use crate::channels::{Body, Calls, Frame, Implied, Objects, Opener, Shape};
use crate::json::Keys;
use crate::{Answer, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "cohere",
    tool_names: &["cohere_command3", "cohere_command4"],
    reasoning_names: &["cohere_command3", "cohere_command4"],
    thinking: Some(Thinking {
        open: &["<|START_THINKING|>"],
        close: &["<|END_THINKING|>"],
        ..Thinking::TAGS
    }),
    calls: Some(&SHAPE),
    framed: true,
    answer: Some(Answer { again: "", open: "<|START_RESPONSE|>", close: "<|END_RESPONSE|>" }),
    ids: Ids::Plain,
    tokens: &["<|START_ACTION|>", "<|END_ACTION|>"],
    signs: &[&["<|START_ACTION|>", "tool_name"]],
};

const SHAPE: Shape = Shape {
    heads: &[],
    parts: &[],
    bodies: &[
        Opener { marker: "<|START_THINKING|>", body: Body::Reasoning },
        Opener { marker: "<|START_RESPONSE|>", body: Body::Text },
        Opener { marker: "<|START_TEXT|>", body: Body::Text },
        Opener { marker: "<|START_ACTION|>", body: Body::Calls },
    ],
    ends: &[
        "<|END_THINKING|>",
        "<|END_RESPONSE|>",
        "<|END_TEXT|>",
        "<|END_ACTION|>",
        "<|END_OF_TURN_TOKEN|>",
        "<|START_OF_TURN_TOKEN|>",
        "<|CHATBOT_TOKEN|>",
    ],
    closers: &[],
    implied: Implied::Never,
    recipient: "",
    namespace: "",
    reasoning: &[],
    text: &[],
    words: &[],
    calls: Calls::Objects(Objects {
        keys: Keys { name: &["tool_name"], arguments: &["parameters", "arguments"], ..Keys::USUAL },
        number: "tool_call_id",
    }),
    openers: &["<|START_ACTION|>"],
    frame: Frame {
        open: "<|START_ACTION|>[\n    ",
        close: "\n]<|END_ACTION|>",
        between: ",\n    ",
        before: "",
        behind: "",
        after: "",
        empty: &[],
    },
};
