//! Where added tokens stand in a text.

use std::ops::Range;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use tokenizers::AddedToken;

use crate::error::TextError;

/// Added tokens that are looked for together: those of the raw text, or those of the normalised one.
///
/// They are found where the `tokenizers` crate finds them: leftmost, of those the longest, never one inside
/// another, and with the spaces that a token takes away beside it.
#[derive(Debug, Default)]
pub(crate) struct Added {
    automaton: Option<AhoCorasick>,
    tokens: Vec<Known>,
}

/// One added token.
#[derive(Debug)]
pub(crate) struct Known {
    id: u32,
    /// Bytes of its spelling.
    len: usize,
    pub(crate) special: bool,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
    /// The longest of the others that its spelling begins with.
    shorter: Option<usize>,
}

/// A token at the bytes `range` of a text. Of two in a row the second may begin before the first ends, where
/// the first took spaces away that the second is spelt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) id: u32,
    pub(crate) range: Range<usize>,
}

impl Added {
    /// Of `(id, spelling, token)`.
    ///
    /// # Errors
    /// [`TextError::Load`] where the `tokenizers` crate would not survive to encode a text.
    pub(crate) fn new(entries: Vec<(u32, String, AddedToken)>) -> Result<Self, TextError> {
        if entries.is_empty() {
            return Ok(Self::default());
        }
        if let Some((_, _, token)) = entries.iter().find(|(_, spelling, _)| spelling.is_empty()) {
            return Err(TextError::Load(format!(
                "nothing is left of its added token {:?} once it is normalised; with \"normalized\": false it \
                 stays as it is",
                token.content
            )));
        }
        let right = entries.iter().find(|(_, _, token)| token.rstrip);
        let left = entries.iter().find(|(_, spelling, token)| {
            token.lstrip && !token.rstrip && spelling.chars().all(char::is_whitespace)
        });
        if let (Some((_, _, right)), Some((_, _, left))) = (right, left) {
            return Err(TextError::Load(format!(
                "its added token {:?} takes away the spaces (rstrip) that {:?} is made of (lstrip); no text \
                 can have both",
                right.content, left.content
            )));
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(entries.iter().map(|(_, spelling, _)| spelling))
            .map_err(|error| TextError::Load(format!("its added tokens: {error}")))?;
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|a, b| entries[*a].1.cmp(&entries[*b].1));
        let mut shorter = vec![None; entries.len()];
        // In the order of spellings, what one begins with comes before it: the open ones are nested.
        let mut open: Vec<usize> = Vec::new();
        for index in order {
            while open.pop_if(|last| !entries[index].1.starts_with(&entries[*last].1)).is_some() {}
            shorter[index] = open.last().copied();
            open.push(index);
        }
        let tokens = entries
            .into_iter()
            .zip(shorter)
            .map(|((id, spelling, token), shorter)| Known {
                id,
                len: spelling.len(),
                special: token.special,
                single_word: token.single_word,
                lstrip: token.lstrip,
                rstrip: token.rstrip,
                shorter,
            })
            .collect();
        Ok(Self { automaton: Some(automaton), tokens })
    }

    /// The tokens in `text` that `allowed` allows at the bytes that spell them. Where one is not allowed, the
    /// search goes on behind its first character, as if it were not known there.
    pub(crate) fn find(
        &self,
        text: &str,
        allowed: impl Fn(&Known, Range<usize>) -> bool,
    ) -> Vec<Found> {
        let mut found = Vec::new();
        let Some(automaton) = &self.automaton else { return found };
        let mut from = 0;
        let mut taken = 0;
        while let Some(hit) = automaton.find(Input::new(text).range(from..)) {
            let start = hit.start();
            let longest = self.tokens.get(hit.pattern().as_usize());
            let candidate = std::iter::successors(longest, |token| self.tokens.get(token.shorter?))
                .find(|token| allowed(token, start..start + token.len));
            let Some(token) = candidate else {
                from = start + text[start..].chars().next().map_or(1, char::len_utf8);
                continue;
            };
            let end = start + token.len;
            from = end;
            if token.single_word
                && (text[..start].chars().next_back().is_some_and(is_word)
                    || text[end..].chars().next().is_some_and(is_word))
            {
                continue;
            }
            let mut range = start..end;
            if token.lstrip {
                range.start = text[..start].trim_end().len().max(taken);
            }
            if token.rstrip {
                range.end = text.len() - text[end..].trim_start().len();
            }
            taken = range.end;
            // All of it may be spaces that the token before took away: then it is no token.
            if !range.is_empty() {
                found.push(Found { id: token.id, range });
            }
        }
        found
    }
}

/// `\w` of regular expressions.
fn is_word(c: char) -> bool {
    regex_syntax::try_is_word_character(c).unwrap_or_else(|_| c.is_alphanumeric() || c == '_')
}
