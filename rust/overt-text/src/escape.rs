//! Keeping the special tokens that clients spell from meaning anything.

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::tokenizer::Tokenizer;

/// Replaces special tokens that are spelt in a client's text before a template renders it, and puts them back
/// in the prompt, telling where, for [`Tokenizer::encode_plain`].
///
/// A template may look for special tokens in what it renders, or cut at them: so it does not find the clients'.
///
/// Each special token has a character of its own out of the planes that Unicode keeps for private use, one that
/// neither the vocabulary nor the text to avoid has. Where a client's text has such a character, a further one
/// goes before it, so that it comes back as it was. A vocabulary with more special tokens than there are such
/// characters, some 131,000, is escaped as far as they go.
///
/// Covered are spellings that stand whole in one text. Not covered are those that arise by joining a client's
/// text to the template's or to another client's, nor those that only the normaliser makes one: give
/// [`Tokenizer::encode_plain`] the ranges of all that clients wrote, where they are known.
#[derive(Debug)]
pub struct Escaper {
    /// Of the special tokens' spellings, then of the characters that stand for them, then of `quote`.
    automaton: Option<AhoCorasick>,
    spellings: Vec<String>,
    /// One a spelling, in order, rising.
    marks: Vec<char>,
    quote: char,
}

impl Escaper {
    /// For `tokenizer`'s special tokens. `avoid` is text that goes through [`restore`](Self::restore) without
    /// having gone through [`escape`](Self::escape), such as the template's source.
    #[must_use]
    pub fn new(tokenizer: &Tokenizer, avoid: &str) -> Self {
        let mut spellings = tokenizer.special_spellings();
        let taken = taken(tokenizer, avoid);
        let mut free = private().filter(|c| !taken.contains(c));
        let quote = free.next().unwrap_or('\u{100000}');
        let marks: Vec<char> = free.take(spellings.len()).collect();
        spellings.truncate(marks.len());
        let automaton = if spellings.is_empty() {
            None
        } else {
            let signs = marks.iter().chain([&quote]).map(char::to_string);
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(spellings.iter().cloned().chain(signs))
                .ok()
        };
        Self { automaton, spellings, marks, quote }
    }

    /// `text` without any special token spelt in it; None when it may stay as it is, the usual case.
    #[must_use]
    pub fn escape(&self, text: &str) -> Option<String> {
        let mut hits = self.automaton.as_ref()?.find_iter(text).peekable();
        hits.peek()?;
        let mut escaped = String::with_capacity(text.len() + 16);
        let mut at = 0;
        for hit in hits {
            escaped.push_str(&text[at..hit.start()]);
            at = hit.end();
            match self.marks.get(hit.pattern().as_usize()) {
                Some(mark) => escaped.push(*mark),
                None => {
                    escaped.push(self.quote);
                    escaped.push_str(&text[hit.range()]);
                }
            }
        }
        escaped.push_str(&text[at..]);
        Some(escaped)
    }

    /// A rendered prompt with the spellings that [`escape`](Self::escape) took out of its parts, and the byte
    /// ranges where they stand in it, rising.
    #[must_use]
    pub fn restore(&self, text: &str) -> (String, Vec<Range<usize>>) {
        if self.automaton.is_none() {
            return (text.to_owned(), Vec::new());
        }
        let mut restored = String::with_capacity(text.len());
        let mut ranges = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(|c| c == self.quote || self.spelling(c).is_some()) {
            restored.push_str(&rest[..at]);
            let mut chars = rest[at..].chars();
            let Some(sign) = chars.next() else { break };
            rest = chars.as_str();
            let Some(spelling) = self.spelling(sign) else {
                // The quote: what follows is itself.
                restored.push(match chars.next() {
                    Some(next) if next == self.quote || self.spelling(next).is_some() => {
                        rest = chars.as_str();
                        next
                    }
                    _ => sign,
                });
                continue;
            };
            let start = restored.len();
            restored.push_str(spelling);
            ranges.push(start..restored.len());
        }
        restored.push_str(rest);
        (restored, ranges)
    }

    /// The special tokens that are spelt in `text`, each with the byte where it begins: what to tell a client.
    pub fn spelled_specials<'a>(&self, text: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
        self.automaton
            .iter()
            .flat_map(move |automaton| automaton.find_iter(text))
            .filter(|hit| hit.pattern().as_usize() < self.spellings.len())
            .map(move |hit| (hit.start(), &text[hit.range()]))
    }

    fn spelling(&self, mark: char) -> Option<&str> {
        if mark < *self.marks.first()? {
            return None;
        }
        let index = self.marks.binary_search(&mark).ok()?;
        self.spellings.get(index).map(String::as_str)
    }
}

/// The planes for private use, without the ends that are no characters.
fn private() -> impl Iterator<Item = char> {
    ('\u{F0000}'..='\u{FFFFD}').chain('\u{100000}'..='\u{10FFFD}')
}

/// Characters for private use in the vocabulary or in `avoid`.
fn taken(tokenizer: &Tokenizer, avoid: &str) -> BTreeSet<char> {
    let is_private = |c: &char| *c >= '\u{F0000}';
    let mut taken: BTreeSet<char> = avoid.chars().filter(is_private).collect();
    for spelling in tokenizer.special_spellings() {
        taken.extend(spelling.chars().filter(is_private));
    }
    let table = tokenizer.table();
    for id in 0..u32::try_from(table.len()).unwrap_or(u32::MAX) {
        // Their first byte.
        if table.bytes(id).iter().any(|byte| *byte >= 0xf3) {
            let text = String::from_utf8_lossy(table.bytes(id));
            taken.extend(text.chars().filter(is_private));
        }
    }
    taken
}
