//! Text to ids: by segments and by a cache, with offsets, and with special tokens that mean nothing.

// Lists of ranges, of which some have one.
#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]

mod kinds;
mod offsets;
mod plain;
mod segments;
