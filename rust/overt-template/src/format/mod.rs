//! Text with places to fill: `%` and `str.format`.

pub(crate) mod braces;
mod number;
pub(crate) mod percent;
mod spec;

/// Widths and precisions beyond this are refused: no prompt needs them, and memory does. (Rust's own
/// formatting panics above 65,535.)
const MAX_WIDTH: usize = 32_768;
