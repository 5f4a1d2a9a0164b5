//! Tokenizer facade, token-to-bytes table, incremental detokeniser, stop matching.
//!
//! A [`Tokenizer`] is made from the bytes of a `tokenizer.json`. Its [`TokenTable`] says which bytes
//! each token stands for, so that a [`Detokenizer`] appends bytes instead of decoding again, and a
//! [`StopMatcher`] finds stop strings and patterns in what comes out, wherever it was cut.
//!
//! Text that was encoded before costs a look-up in an [`EncodeCache`]. Special tokens that clients spell in
//! their texts are found by [`SpecialTokens`] and kept from meaning anything by [`Tokenizer::encode_plain`].

mod added;
mod cache;
mod detokenizer;
mod error;
mod fallback;
mod offsets;
mod plain;
mod scheme;
mod segments;
mod specials;
mod stop;
mod stop_regex;
mod table;
mod tokenizer;
mod utf8;

pub use cache::{EncodeCache, EncodeCacheStats};
pub use detokenizer::{Detokenizer, Pushed};
pub use error::TextError;
pub use specials::SpecialTokens;
pub use stop::StopMatcher;
pub use stop_regex::{StopRegex, StopRegexError};
pub use table::TokenTable;
pub use tokenizer::Tokenizer;
