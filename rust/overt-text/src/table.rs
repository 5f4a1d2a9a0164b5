//! The token-to-bytes table.

use crate::scheme::{Scheme, Start};

/// The bytes of every token, in one allocation.
#[derive(Debug, Clone, Default)]
pub struct TokenTable {
    data: Vec<u8>,
    /// `len() + 1` ends: token `i` is `data[offsets[i]..offsets[i + 1]]`.
    offsets: Vec<u32>,
    special: Vec<bool>,
    pub(crate) exact: bool,
    pub(crate) start: Start,
    pub(crate) byte_fallback: bool,
}

impl TokenTable {
    /// The bytes that token `id` adds to a text; empty for an id that no token has.
    #[must_use]
    pub fn bytes(&self, id: u32) -> &[u8] {
        let id = id as usize;
        match (self.offsets.get(id), self.offsets.get(id + 1)) {
            (Some(start), Some(end)) => &self.data[*start as usize..*end as usize],
            _ => &[],
        }
    }

    /// True of special tokens, which decoding may skip.
    #[must_use]
    pub fn is_special(&self, id: u32) -> bool {
        self.special.get(id as usize).copied().unwrap_or(false)
    }

    /// The text of a special token; empty for other ids.
    #[must_use]
    pub fn spelling(&self, id: u32) -> &str {
        if self.is_special(id) {
            std::str::from_utf8(self.bytes(id)).unwrap_or_default()
        } else {
            ""
        }
    }

    /// One more than the highest token id.
    #[must_use]
    pub fn len(&self) -> usize {
        self.special.len()
    }

    /// True when there are no tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.special.is_empty()
    }

    /// True when the bytes of tokens joined are the text that the tokenizer decodes. Otherwise a token's
    /// bytes depend on its neighbours, and [`bytes`](Self::bytes) is what it adds after an ordinary token.
    #[must_use]
    pub fn exact(&self) -> bool {
        self.exact
    }

    pub(crate) fn new(scheme: Option<&Scheme>) -> Self {
        let (start, byte_fallback) = match scheme {
            Some(Scheme::Pieces(pieces)) => (pieces.start, pieces.byte_fallback),
            _ => (Start::Keep, false),
        };
        Self { offsets: vec![0], exact: scheme.is_some(), start, byte_fallback, ..Self::default() }
    }

    /// Adds the next token. False when the table would pass 4 GiB.
    pub(crate) fn add(&mut self, bytes: &[u8], special: bool) -> bool {
        self.data.extend_from_slice(bytes);
        self.special.push(special);
        u32::try_from(self.data.len()).is_ok_and(|end| {
            self.offsets.push(end);
            true
        })
    }
}
