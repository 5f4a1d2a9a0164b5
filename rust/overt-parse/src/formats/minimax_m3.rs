//! MiniMax M3: `<tool_call>` around `<invoke name="N">` with parameters as elements, `]<]minimax[>[` before every tag;
//! thoughts stand in `<mm:think>`, and an answer without them begins with their closing tag.

use crate::elements::Shape;
use crate::{Format, Ids, Thinking};

pub(crate) const FORMAT: Format = Format {
    name: "minimax_m3",
    tool_names: &["minimax_m3", "minimax-m3"],
    reasoning_names: &["minimax_m3", "minimax-m3"],
    thinking: Some(Thinking { open: &["<mm:think>"], close: &["</mm:think>"], ..Thinking::TAGS }),
    calls: Some(&CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["]<]minimax[>["]],
};

const CALLS: Shape = Shape {
    mark: "]<]minimax[>[",
    open: &["]<]minimax[>[<tool_call>", "<tool_call>"],
    close: &["]<]minimax[>[</tool_call>", "</tool_call>"],
    invoke: &["]<]minimax[>[<invoke name=", "<invoke name="],
    invoke_end: &["]<]minimax[>[</invoke>", "</invoke>"],
    item: "item",
};
