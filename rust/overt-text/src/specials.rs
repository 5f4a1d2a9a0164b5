//! Special tokens that a text spells.

use aho_corasick::{AhoCorasick, MatchKind};

use crate::tokenizer::Tokenizer;

/// Finds a tokenizer's special tokens in a text: what it would read as such, whoever wrote them.
#[derive(Debug)]
pub struct SpecialTokens(Option<AhoCorasick>);

impl SpecialTokens {
    /// Of a tokenizer.
    #[must_use]
    pub fn of(tokenizer: &Tokenizer) -> Self {
        let spellings = tokenizer.special_spellings();
        let builder = || AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).clone();
        Self((!spellings.is_empty()).then(|| builder().build(spellings).ok()).flatten())
    }

    /// Those that `text` spells, each with the byte where it begins.
    pub fn find<'a>(&self, text: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
        self.0
            .iter()
            .flat_map(move |automaton| automaton.find_iter(text))
            .map(move |hit| (hit.start(), &text[hit.range()]))
    }
}
