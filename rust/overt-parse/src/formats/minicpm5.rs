//! MiniCPM 5: `<function name="N"><param name="K">V</param></function>` without a wrapper, so that only a declared
//! tool's name is a call; values with angles or line feeds stand in `<![CDATA[…]]>`.

use crate::tags::Shape;
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "minicpm5",
    tool_names: &["minicpm5"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&CALLS),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["<function name=", "<param name="]],
};

const CALLS: Shape = Shape {
    other_open: &["<tool_call>"],
    other_close: &["</tool_call>"],
    invoke: &["<function name=", "<functionname="],
    invoke_end: &["</function>"],
    parameter: &["<param name=", "<paramname="],
    parameter_end: &["</param>"],
    noise: &["<arguments>", "</arguments>"],
    quoted: true,
    cdata: true,
    ..Shape::EMPTY
};
