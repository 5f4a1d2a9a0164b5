//! Log probabilities of a choice's tokens, told with the text they made and not before it.

use std::collections::VecDeque;
use std::sync::Arc;

use overt_link::Logprobs;
use overt_text::{Detokenizer, TokenTable, Tokenizer};
use overt_wire::{PromptEntry, PromptToken, Protocol, TokenLogprobs, TokenText};

/// Writes tokens the way clients see them.
#[derive(Debug, Clone)]
pub(crate) struct Speller {
    table: Arc<TokenTable>,
    protocol: Protocol,
    skip_special: bool,
}

impl Speller {
    pub(crate) fn new(tokenizer: &Tokenizer, protocol: Protocol, skip_special: bool) -> Self {
        Self { table: Arc::clone(tokenizer.table()), protocol, skip_special }
    }

    /// The text of a token, and its bytes where it is part of a text. A token that is no whole text is written with
    /// its bytes in hexadecimal, as OpenAI does.
    fn text(&self, id: u32) -> TokenText {
        let bytes = self.table.bytes(id);
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => {
                let prefix = if self.protocol == Protocol::Completions { "bytes:" } else { "" };
                let digits = bytes.iter().map(|byte| format!("\\x{byte:02x}"));
                std::iter::once(prefix.to_owned()).chain(digits).collect()
            }
        };
        let hidden = self.skip_special && self.table.is_special(id);
        TokenText { text, bytes: (!hidden).then(|| bytes.to_vec()), id }
    }

    fn told(&self, id: u32, offset: u64, logprobs: Option<&Logprobs>) -> TokenLogprobs {
        let top = logprobs.map_or(&[][..], |told| &told.top);
        TokenLogprobs {
            token: self.text(id),
            logprob: logprobs.map(|told| told.logprob),
            top: top.iter().map(|(id, logprob)| (self.text(*id), *logprob)).collect(),
            offset,
        }
    }

    /// The entries of an echoed prompt whose text is `text`. `told` are those of all tokens but the first.
    pub(crate) fn echo(
        &self,
        tokenizer: &Tokenizer,
        prompt: &[u32],
        text: &str,
        told: &[Logprobs],
    ) -> Vec<TokenLogprobs> {
        let mut detokenizer = Detokenizer::new(tokenizer, true, &[]);
        let (mut at, mut chars) = (0, 0);
        let mut piece = String::new();
        let entries = prompt.iter().enumerate().map(|(index, &id)| {
            let before = index.checked_sub(1);
            let entry = self.told(id, chars, before.and_then(|before| told.get(before)));
            piece.clear();
            detokenizer.push(id, &mut piece);
            // Special tokens that the client wrote are text; those that the tokenizer added are not.
            if self.table.is_special(id) && text[at..].starts_with(self.table.spelling(id)) {
                piece.push_str(self.table.spelling(id));
            }
            let rest = &text[at..];
            let step: usize = rest.chars().take(piece.chars().count()).map(char::len_utf8).sum();
            chars += rest[..step].chars().count() as u64;
            at += step;
            entry
        });
        entries.collect()
    }

    /// A prompt's log probabilities under the token ids. `told` are those of all tokens but the first.
    pub(crate) fn prompt(&self, prompt: &[u32], told: &[Logprobs]) -> Vec<PromptToken> {
        let entry = |id: u32, logprob: f32, rank: u32| PromptEntry {
            id,
            text: self.text(id).text,
            logprob,
            rank,
        };
        let rest = prompt.iter().skip(1).zip(told).map(|(&id, told)| {
            let mut entries = vec![entry(id, told.logprob, told.rank)];
            let others = (1..).zip(&told.top).filter(|(_, (other, _))| *other != id);
            entries.extend(others.map(|(rank, (id, logprob))| entry(*id, *logprob, rank)));
            PromptToken { entries }
        });
        std::iter::once(PromptToken { entries: Vec::new() }).chain(rest).collect()
    }
}

/// A choice's tokens whose text was not all shown yet.
#[derive(Debug)]
pub(crate) struct Telling {
    speller: Speller,
    pending: VecDeque<Pending>,
    /// Bytes of text that came out of the tokens.
    decoded: usize,
    /// Of these, shown.
    shown: usize,
    /// Characters of the choice's text that came out of its tokens, and of the prompt echoed before it.
    chars: u64,
}

#[derive(Debug)]
struct Pending {
    /// Where the token's text begins and ends among the decoded bytes.
    start: usize,
    end: usize,
    told: TokenLogprobs,
}

impl Telling {
    /// `echoed`: characters before the choice's own text.
    pub(crate) fn new(speller: Speller, echoed: u64) -> Self {
        Self { speller, pending: VecDeque::new(), decoded: 0, shown: 0, chars: echoed }
    }

    /// A token is about to become text.
    pub(crate) fn token(&mut self, id: u32, logprobs: &Logprobs) {
        let told = self.speller.told(id, self.chars, Some(logprobs));
        self.pending.push_back(Pending { start: self.decoded, end: self.decoded, told });
    }

    /// Its text, of which `shown` bytes (and of what was held before) are released now.
    pub(crate) fn text(&mut self, decoded: &str, shown: usize) {
        self.decoded += decoded.len();
        self.chars += decoded.chars().count() as u64;
        self.shown += shown;
    }

    /// The token is read. `partial`: nothing came of it yet, since it is a part of a character.
    pub(crate) fn read(&mut self, partial: bool) {
        if let Some(last) = self.pending.back_mut() {
            last.end = self.decoded + usize::from(partial);
        }
    }

    /// Moves the entries of tokens whose whole text is shown to `out`.
    pub(crate) fn release(&mut self, out: &mut Vec<TokenLogprobs>) {
        while self.pending.front().is_some_and(|pending| pending.end <= self.shown) {
            out.extend(self.pending.pop_front().map(|pending| pending.told));
        }
    }

    /// The text has ended: tokens of which some was shown are told, those cut away are not.
    pub(crate) fn finish(&mut self, out: &mut Vec<TokenLogprobs>) {
        let shown = self.shown;
        let kept = |pending: &Pending| {
            pending.start < shown || (pending.start == pending.end && pending.end <= shown)
        };
        out.extend(self.pending.drain(..).filter(kept).map(|pending| pending.told));
    }
}
