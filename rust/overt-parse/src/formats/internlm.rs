//! InternLM 2 and Intern-S1: `<|action_start|><|plugin|>` (a space between them or not), a call, `<|action_end|>`.

use crate::json::{Shape, Spelling};
use crate::{EndedByCall, Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "internlm",
    tool_names: &["internlm", "interns1"],
    reasoning_names: &["interns1"],
    thinking: Some(Thinking { ended_by_call: EndedByCall::Anywhere, ..Thinking::TAGS }),
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &["<|action_start|>", "<|plugin|>", "<|action_end|>"],
    signs: &[&["<|action_start|>"]],
};

const SHAPE: Shape = Shape {
    open: &[
        "<|action_start|><|plugin|>",
        "<|action_start|> <|plugin|>",
        "<|action_start|>\n<|plugin|>",
    ],
    close: &["<|action_end|>"],
    spellings: &[Spelling {
        before: "<|action_start|><|plugin|>\n{\"name\": \"",
        middle: "\", \"parameters\": ",
        after: "}<|action_end|>",
        quoted: true,
        ..Spelling::PLAIN
    }],
    pieces: &["<|action_start|>", "<|plugin|>", "<|action_end|>"],
    ..Shape::PLAIN
};
