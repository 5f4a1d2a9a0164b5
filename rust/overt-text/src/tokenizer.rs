//! A tokenizer read from `tokenizer.json`.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::detokenizer::{Detokenizer, Pushed};
use crate::error::TextError;
use crate::scheme::{Scheme, fallback_byte};
use crate::segments::Segments;
use crate::table::TokenTable;

/// Ids beyond this are taken for damage: no vocabulary comes near it.
const MAX_TOKENS: u32 = 1 << 24;

/// Encodes and decodes. Cloning shares everything.
#[derive(Debug, Clone)]
pub struct Tokenizer {
    inner: Arc<tokenizers::Tokenizer>,
    table: Arc<TokenTable>,
    segments: Arc<Segments>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    decoder: Value,
}

impl Tokenizer {
    /// Reads the bytes of a `tokenizer.json`. Truncation and padding that the file asks for are dropped:
    /// a prompt is never cut silently.
    ///
    /// # Errors
    /// [`TextError::Load`] says what is wrong with the file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TextError> {
        let load = |error: String| TextError::Load(error);
        let file: File = serde_json::from_slice(bytes).map_err(|error| load(error.to_string()))?;
        if strips_at_the_end(&file.decoder) {
            return Err(load(
                "its decoder strips text at the end (Strip with stop > 0), which streams cannot do"
                    .to_owned(),
            ));
        }
        let mut inner =
            tokenizers::Tokenizer::from_bytes(bytes).map_err(|error| load(error.to_string()))?;
        inner.with_truncation(None).map_err(|error| load(error.to_string()))?;
        inner.with_padding(None);
        let inner = Arc::new(inner);
        let scheme = Scheme::read(&file.decoder);
        let table = Arc::new(build(&inner, scheme.as_ref())?);
        let segments = Arc::new(Segments::new(&inner)?);
        let mut tokenizer = Self { inner, table, segments };
        if tokenizer.table.exact && !tokenizer.probe() {
            tokenizer.table = Arc::new(build(&tokenizer.inner, None)?);
        }
        Ok(tokenizer)
    }

    /// Token ids of `text`. Special tokens spelt in the text are recognised; `add_special` adds those that
    /// the tokenizer puts around every text, such as a beginning-of-sequence token.
    ///
    /// # Errors
    /// [`TextError::Encode`] when the vocabulary cannot express the text.
    pub fn encode(&self, text: &str, add_special: bool) -> Result<Vec<u32>, TextError> {
        let encoding = self
            .inner
            .encode_fast(text, add_special)
            .map_err(|error| TextError::Encode(error.to_string()))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Text of `ids`, whole; ids that no token has are left out. Streams use a [`Detokenizer`].
    ///
    /// # Errors
    /// [`TextError::Decode`] when the tokenizer's decoder fails.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String, TextError> {
        self.inner.decode(ids, skip_special).map_err(|error| TextError::Decode(error.to_string()))
    }

    /// One more than the highest token id; a model's logits may have more rows.
    #[must_use]
    pub fn vocab_size(&self) -> usize {
        self.table.len()
    }

    /// The vocabulary's spelling of a token.
    #[must_use]
    pub fn id_to_token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// The id of the token that the vocabulary spells so.
    #[must_use]
    pub fn token_to_id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// The bytes of every token.
    #[must_use]
    pub fn table(&self) -> &Arc<TokenTable> {
        &self.table
    }

    /// True when streams decode by the table; false when by the tokenizer's own decoder, which costs more.
    #[must_use]
    pub fn exact(&self) -> bool {
        self.table.exact
    }

    pub(crate) fn inner(&self) -> &Arc<tokenizers::Tokenizer> {
        &self.inner
    }

    pub(crate) fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The spellings of special tokens, in order.
    pub(crate) fn special_spellings(&self) -> Vec<String> {
        let added = self.inner.get_added_vocabulary().get_added_tokens_decoder();
        let mut spellings: Vec<String> = added
            .values()
            .filter(|token| token.special && !token.content.is_empty())
            .map(|token| token.content.clone())
            .collect();
        spellings.sort_unstable();
        spellings
    }

    /// Decodes a sample of the vocabulary both ways.
    fn probe(&self) -> bool {
        let sample = u32::try_from(self.table.len() / 1024 + 1).unwrap_or(1);
        let size = u32::try_from(self.table.len()).unwrap_or(u32::MAX);
        // Bytes of a fallback run are judged as a whole by the tokenizer: whole characters only.
        let plain = |id: &u32| !self.table.byte_fallback || self.fallback_byte(*id).is_none();
        let mut ids: Vec<u32> = (0..size).step_by(sample as usize).filter(plain).collect();
        ids.extend(self.inner.get_added_tokens_decoder().keys().copied().filter(plain));
        let mut rows: Vec<Vec<u32>> = ids.chunks(8).map(<[u32]>::to_vec).collect();
        if self.table.byte_fallback {
            rows.extend(["é", "€", "😀"].iter().filter_map(|text| {
                text.bytes()
                    .map(|byte| self.inner.token_to_id(&format!("<0x{byte:02X}>")))
                    .collect()
            }));
        }
        rows.iter().all(|row| {
            [false, true]
                .into_iter()
                .all(|skip| self.decode(row, skip).is_ok_and(|text| self.stream(row, skip) == text))
        })
    }

    fn stream(&self, ids: &[u32], skip_special: bool) -> String {
        let mut detokenizer = Detokenizer::new(self, skip_special, &[]);
        let mut out = String::new();
        for id in ids {
            if let Pushed::Special(spelling) = detokenizer.push(*id, &mut out)
                && !skip_special
            {
                out.push_str(spelling);
            }
        }
        detokenizer.finish(&mut out);
        out
    }

    fn fallback_byte(&self, id: u32) -> Option<u8> {
        self.inner.id_to_token(id).as_deref().and_then(fallback_byte)
    }
}

fn strips_at_the_end(decoder: &Value) -> bool {
    let stop = decoder.get("stop").and_then(Value::as_u64).unwrap_or(0);
    let inner = decoder.get("decoders").and_then(Value::as_array);
    stop > 0 || inner.is_some_and(|steps| steps.iter().any(strips_at_the_end))
}

/// The table of a vocabulary; without a scheme, a token's bytes are what it adds after an ordinary token.
fn build(inner: &tokenizers::Tokenizer, scheme: Option<&Scheme>) -> Result<TokenTable, TextError> {
    let added = inner.get_added_tokens_decoder();
    let vocabulary = inner.get_vocab(true);
    let Some(highest) = vocabulary.values().chain(added.keys()).max().copied() else {
        return Err(TextError::Load("its vocabulary is empty".to_owned()));
    };
    if highest >= MAX_TOKENS {
        return Err(TextError::Load(format!(
            "token id {highest} is out of range: at most {}",
            MAX_TOKENS - 1
        )));
    }
    let anchor = (0..=highest).find(|id| {
        !added.contains_key(id)
            && inner.decode(&[*id], false).is_ok_and(|text| text.chars().any(char::is_alphanumeric))
    });
    let mut table = TokenTable::new(scheme);
    let mut bytes = Vec::new();
    for id in 0..=highest {
        bytes.clear();
        let special = added.get(&id).is_some_and(|token| token.special);
        if let Some(token) = inner.id_to_token(id) {
            match scheme {
                Some(scheme) => scheme.write(&token, &mut bytes),
                None if special => bytes.extend_from_slice(token.as_bytes()),
                None => bytes.extend_from_slice(added_text(inner, anchor, id).as_bytes()),
            }
        }
        if !table.add(&bytes, special) {
            return Err(TextError::Load("its tokens together are longer than 4 GiB".to_owned()));
        }
    }
    Ok(table)
}

fn added_text(inner: &tokenizers::Tokenizer, anchor: Option<u32>, id: u32) -> String {
    let decode = |ids: &[u32]| inner.decode(ids, false).unwrap_or_default();
    let Some(anchor) = anchor else { return decode(&[id]) };
    let (before, both) = (decode(&[anchor]), decode(&[anchor, id]));
    both.strip_prefix(&before).map_or_else(|| decode(&[id]), str::to_owned)
}
