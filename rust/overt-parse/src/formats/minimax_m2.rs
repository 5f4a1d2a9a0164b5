//! MiniMax M2: `<minimax:tool_call>` around `<invoke name="N"><parameter name="K">V</parameter></invoke>`, names in
//! quotes of either kind or none; output begins within its thoughts.

use crate::tags::Shape;
use crate::{Format, Ids, Start, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "minimax_m2",
    tool_names: &["minimax_m2", "minimax-m2"],
    reasoning_names: &["minimax_m2", "minimax"],
    thinking: Some(Thinking { start: Start::Thinking, ..Thinking::TAGS }),
    calls: Some(&CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &["<minimax:tool_call>", "</minimax:tool_call>"],
    signs: &[&["<minimax:tool_call>"]],
};

const CALLS: Shape = Shape {
    open: &["<minimax:tool_call>"],
    close: &["</minimax:tool_call>"],
    invoke: &["<invoke name="],
    invoke_end: &["</invoke>"],
    parameter: &["<parameter name="],
    parameter_end: &["</parameter>"],
    quoted: true,
    lines: true,
    tokens: &["<minimax:tool_call>", "</minimax:tool_call>"],
    ..Shape::EMPTY
};
