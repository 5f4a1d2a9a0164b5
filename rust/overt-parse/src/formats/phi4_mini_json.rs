//! Phi-4 mini (and Firefunction 2): `functools` and a list of calls.

use crate::json::{Shape, Spelling};
use crate::{Format, Ids};

pub(crate) const FORMAT: Format = Format {
    name: "phi4_mini_json",
    tool_names: &["phi4_mini_json"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&SHAPE),
    framed: false,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[&["functools["]],
};

const SHAPE: Shape = Shape {
    open: &["functools"],
    spellings: &[Spelling { prefix: "functools[", suffix: "]", ..Spelling::LIST }],
    ..Shape::PLAIN
};
