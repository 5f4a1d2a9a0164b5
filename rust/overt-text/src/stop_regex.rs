//! Stop patterns: regular expressions that end a choice, with a match of bounded length.

mod automaton;
mod syntax;

use std::fmt;
use std::sync::Arc;

use automaton::{ACCEPT, Automaton, DEAD, START};

/// Why a pattern cannot end a choice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StopRegexError {
    /// It is no regular expression of the syntax that is read; says what is wrong and at which byte.
    #[error("the pattern cannot be read: {0}")]
    Syntax(String),
    /// It matches the empty text, or no text at all.
    #[error(
        "the pattern can match without any text, or cannot match at all; it must match at least one \
         character, so make what is optional required, e.g. `x{{1,9}}` for `x{{0,9}}`"
    )]
    Empty,
    /// A match could be longer than [`StopRegex::MAX_MATCH`].
    #[error(
        "the pattern can match more than {} bytes (a character has up to 4); bound its repetitions, \
         e.g. `x{{1,20}}` for `x+`",
        StopRegex::MAX_MATCH
    )]
    Unbounded,
    /// It asks about the text around the match; holds the assertion as it is written.
    #[error(
        "the pattern has `{0}`, which asks about the text around the match; only the text of the match \
         itself can be described, so leave it out"
    )]
    LookAround(String),
    /// It would cost too much memory or time.
    #[error(
        "the pattern is too large (at most {} bytes, and not too many ways in which text can match); make it \
         shorter, its repetitions fewer, or what they repeat narrower",
        StopRegex::MAX_PATTERN
    )]
    TooLarge,
}

/// A pattern that ends a choice, with a bounded match. Cloning is cheap.
///
/// The syntax is that of Rust's `regex`: like Perl's and Python's, without back-references. `^`, `$`, `\b`
/// and the like are refused, since they ask about text that is not part of the match. Classes such as `\w`
/// are Unicode's; greedy or not makes no difference, since the match that ends first wins.
#[derive(Clone)]
pub struct StopRegex(Arc<Compiled>);

struct Compiled {
    pattern: String,
    automaton: Automaton,
}

impl StopRegex {
    /// Bytes of the longest match that a pattern may have.
    pub const MAX_MATCH: usize = 256;

    /// Bytes of the longest pattern.
    pub const MAX_PATTERN: usize = 512;

    /// Reads a pattern. Time and memory are bounded whatever it is.
    ///
    /// # Errors
    ///
    /// [`StopRegexError`] says why the pattern cannot be used and what would do.
    pub fn compile(pattern: &str) -> Result<Self, StopRegexError> {
        if pattern.len() > Self::MAX_PATTERN {
            return Err(StopRegexError::TooLarge);
        }
        let (node, sets) = syntax::read(pattern)?;
        let automaton = Automaton::new(&node, &sets)?;
        Ok(Self(Arc::new(Compiled { pattern: pattern.to_owned(), automaton })))
    }

    /// The pattern as it was given.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.0.pattern
    }
}

impl fmt::Debug for StopRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StopRegex").field(&self.0.pattern).finish()
    }
}

/// A pattern on its way through a text.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    regex: StopRegex,
    /// The matches that may be under way, the one that starts first first. No match is longer than
    /// `MAX_MATCH`, so there are no more than that.
    threads: Vec<Thread>,
    /// Bytes read.
    read: usize,
}

#[derive(Debug, Clone, Copy)]
struct Thread {
    /// Bytes read before it.
    start: usize,
    state: u16,
}

impl Search {
    pub(crate) fn new(regex: &StopRegex) -> Self {
        Self { regex: regex.clone(), threads: Vec::new(), read: 0 }
    }

    /// Where the first match ends in `text`, and how many bytes it has, from text before `text` on. Of
    /// those that end there, the longest. After a match the search is over.
    pub(crate) fn scan(&mut self, text: &str) -> Option<(usize, usize)> {
        let automaton = &self.regex.0.automaton;
        for (at, character) in text.char_indices() {
            let class = automaton.class(character);
            if self.threads.is_empty() && automaton.next(START, class) == DEAD {
                continue;
            }
            self.threads.push(Thread { start: self.read + at, state: START });
            let mut found = None;
            self.threads.retain_mut(|thread| {
                thread.state = automaton.next(thread.state, class);
                if thread.state == ACCEPT && found.is_none() {
                    found = Some(thread.start);
                }
                thread.state != DEAD
            });
            if let Some(start) = found {
                let end = at + character.len_utf8();
                return Some((end, self.read + end - start));
            }
        }
        self.read += text.len();
        None
    }

    /// Bytes of the longest end of the text that could begin a match.
    pub(crate) fn held(&self) -> usize {
        self.threads.first().map_or(0, |thread| self.read - thread.start)
    }

    /// No match crosses this point.
    pub(crate) fn reset(&mut self) {
        self.threads.clear();
    }
}
