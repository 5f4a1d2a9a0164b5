//! Assembles UTF-8 from pieces cut anywhere.

/// Holds back an incomplete character, at most 3 bytes; what cannot become one is U+FFFD.
#[derive(Debug, Clone, Default)]
pub(crate) struct Assembler {
    held: [u8; 4],
    len: usize,
    /// One U+FFFD a byte, as byte-fallback decoders write them; else one a malformed sequence.
    per_byte: bool,
}

impl Assembler {
    pub(crate) fn new(per_byte: bool) -> Self {
        Self { per_byte, ..Self::default() }
    }

    /// True when no character is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets what is held.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends what `bytes` completes.
    pub(crate) fn push(&mut self, mut bytes: &[u8], out: &mut String) {
        while self.len > 0 {
            let Some((first, rest)) = bytes.split_first() else { return };
            self.held[self.len] = *first;
            match std::str::from_utf8(&self.held[..=self.len]) {
                Ok(text) => {
                    out.push_str(text);
                    self.len = 0;
                    bytes = rest;
                }
                Err(error) if error.error_len().is_none() => {
                    self.len += 1;
                    bytes = rest;
                }
                // What was held is no character; the byte that shows it may begin one.
                Err(_) => self.flush(out),
            }
        }
        loop {
            let error = match std::str::from_utf8(bytes) {
                Ok(text) => return out.push_str(text),
                Err(error) => error,
            };
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            out.push_str(std::str::from_utf8(valid).unwrap_or_default());
            match error.error_len() {
                Some(length) => {
                    self.replace(length, out);
                    bytes = &rest[length..];
                }
                None => {
                    self.len = rest.len().min(self.held.len());
                    self.held[..self.len].copy_from_slice(&rest[..self.len]);
                    return;
                }
            }
        }
    }

    /// No more bytes of the held character come: it becomes U+FFFD.
    pub(crate) fn flush(&mut self, out: &mut String) {
        if self.len > 0 {
            self.replace(self.len, out);
            self.len = 0;
        }
    }

    fn replace(&self, bytes: usize, out: &mut String) {
        let count = if self.per_byte { bytes } else { 1 };
        out.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, count));
    }
}

#[cfg(test)]
mod tests {
    use super::Assembler;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_lossy_decoding(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0x80u8..0xc0, 0xe0u8..0xf5, Just(b'a')], 0..40),
            cuts in proptest::collection::vec(1usize..5, 0..40),
        ) {
            let mut assembler = Assembler::new(false);
            let (mut out, mut rest) = (String::new(), bytes.as_slice());
            for cut in cuts.iter().copied().chain([usize::MAX]) {
                let (piece, later) = rest.split_at(cut.min(rest.len()));
                assembler.push(piece, &mut out);
                prop_assert!(assembler.len <= 3);
                rest = later;
            }
            assembler.flush(&mut out);
            prop_assert_eq!(out, String::from_utf8_lossy(&bytes));
        }
    }
}
