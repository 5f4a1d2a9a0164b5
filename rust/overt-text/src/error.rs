//! What can go wrong between text and tokens.

/// Why a tokenizer could not be read or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// The bytes are no usable `tokenizer.json`.
    #[error("tokenizer.json cannot be used: {0}")]
    Load(String),
    /// The text could not be encoded.
    #[error("the text cannot be encoded: {0}")]
    Encode(String),
    /// The tokens could not be decoded.
    #[error("the tokens cannot be decoded: {0}")]
    Decode(String),
}
