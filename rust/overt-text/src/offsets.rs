//! Where in the text the tokens come from.

use crate::error::TextError;
use crate::tokenizer::Tokenizer;

impl Tokenizer {
    /// Token ids of `text` as [`encode`](Self::encode) gives them, and for each the bytes of `text` that it
    /// stands for, from and to: always whole characters.
    ///
    /// - A character that several tokens make: each has the whole character's range.
    /// - A sign that the normaliser or pre-tokenizer adds, as the space before the first word, belongs to the
    ///   character it stands at: alone in a token, it has that character's range.
    /// - Where the tokenizer's post-processor trims offsets, spaces at a token's ends are left out of its range;
    ///   characters that the normaliser drops are in no range.
    /// - Tokens that the post-processor adds have an empty range at their place: 0 before the text's own tokens,
    ///   the text's end behind them.
    ///
    /// # Errors
    /// [`TextError::Encode`] when the vocabulary cannot express the text.
    #[expect(clippy::type_complexity, reason = "ids and ranges, side by side")]
    pub fn encode_offsets(
        &self,
        text: &str,
        add_special: bool,
    ) -> Result<(Vec<u32>, Vec<(usize, usize)>), TextError> {
        // By characters: the crate trims spaces by number, which in bytes cuts characters.
        let encoding = self
            .inner()
            .encode_char_offsets(text, add_special)
            .map_err(|error| TextError::Encode(error.to_string()))?;
        let byte_of: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let byte_of = |index: usize| byte_of.get(index).copied().unwrap_or(text.len());
        let mut behind = false;
        let offsets = encoding
            .get_offsets()
            .iter()
            .zip(encoding.get_special_tokens_mask())
            .map(|((start, end), added)| {
                if *added != 0 {
                    let place = if behind { text.len() } else { 0 };
                    return (place, place);
                }
                behind = true;
                (byte_of(*start), byte_of(*end))
            })
            .collect();
        Ok((encoding.get_ids().to_vec(), offsets))
    }
}
