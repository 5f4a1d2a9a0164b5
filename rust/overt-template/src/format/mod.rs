//! Text with places to fill: `%` and `str.format`.

pub(crate) mod braces;
mod number;
pub(crate) mod percent;

/// Widths and precisions beyond this are refused: no prompt needs them, and memory does.
const MAX_WIDTH: usize = 65_536;
