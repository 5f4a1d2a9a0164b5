//! Incremental decoding by the tokenizer itself, for decoders that no table replaces.

use std::sync::Arc;

/// A character of so many tokens is no character: what is there is said.
const MAX_HELD: usize = 16;

/// Decodes a short window of ids again and appends what grew.
#[derive(Debug, Clone)]
pub(crate) struct Fallback {
    inner: Arc<tokenizers::Tokenizer>,
    /// Ids whose text gives the next one its context, then ids whose text is not said yet.
    ids: Vec<u32>,
    /// How many of `ids` are said.
    said: usize,
    /// Their text.
    prefix: String,
}

impl Fallback {
    pub(crate) fn new(inner: Arc<tokenizers::Tokenizer>, prompt_tail: &[u32]) -> Self {
        let mut fallback = Self {
            inner,
            ids: prompt_tail.to_vec(),
            said: prompt_tail.len(),
            prefix: String::new(),
        };
        fallback.prefix = fallback.decode(&fallback.ids);
        fallback
    }

    pub(crate) fn push(&mut self, id: u32, out: &mut String) {
        self.ids.push(id);
        let text = self.decode(&self.ids);
        // The character may still be growing.
        if text.ends_with(char::REPLACEMENT_CHARACTER) && self.ids.len() - self.said < MAX_HELD {
            return;
        }
        self.say(&text, out);
    }

    pub(crate) fn finish(&mut self, out: &mut String) {
        if self.said < self.ids.len() {
            let text = self.decode(&self.ids);
            self.say(&text, out);
        }
    }

    /// A special token was said by somebody else.
    pub(crate) fn skip(&mut self, id: u32) {
        self.ids.clear();
        self.ids.push(id);
        self.said = 1;
        self.prefix = self.decode(&self.ids);
    }

    fn say(&mut self, text: &str, out: &mut String) {
        // A decoder that rewrites what it said before cannot be taken back: what is new at the end counts.
        let common = text.bytes().zip(self.prefix.bytes()).take_while(|(a, b)| a == b).count();
        let common = (0..=common).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        out.push_str(&text[common..]);
        self.ids.drain(..self.said);
        self.said = self.ids.len();
        self.prefix = self.decode(&self.ids);
    }

    /// A failing decoder says nothing.
    fn decode(&self, ids: &[u32]) -> String {
        self.inner.decode(ids, false).unwrap_or_default()
    }
}
