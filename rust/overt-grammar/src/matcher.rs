//! One output against its grammar: which tokens may come next, and what came.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use llguidance::TokenParser;
use toktrie::SimpleVob;

use crate::vocabulary::{Vocabulary, words};

/// Why an output cannot go on under its grammar; its request must fail.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    /// The grammar does not allow this token here.
    #[error("the grammar does not allow token {0} here")]
    Token(u32),
    /// A limit was hit, or the parser failed; the text says which.
    #[error("the grammar cannot be followed any further: {0}")]
    Stuck(String),
    /// The mask has fewer words than the vocabulary needs.
    #[error("the mask has {got} words, and the vocabulary needs {needed}")]
    Mask {
        /// Words that were given.
        got: usize,
        /// Words that are needed.
        needed: usize,
    },
}

/// The state of one output. A clone goes its own way from here; both share what they learn of the grammar.
#[derive(Clone)]
pub struct Matcher {
    inner: llguidance::Matcher,
    vocabulary: Arc<Vocabulary>,
    /// The mask of the present state, once computed.
    mask: Option<SimpleVob>,
    ended: bool,
}

impl std::fmt::Debug for Matcher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Matcher").field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl Matcher {
    pub(crate) fn new(
        parser: TokenParser,
        vocabulary: Arc<Vocabulary>,
    ) -> Result<Self, MatchError> {
        let inner = guarded(|| Ok::<_, String>(llguidance::Matcher::new(Ok(parser))))?;
        if let Some(error) = inner.get_error() {
            return Err(stuck(&error));
        }
        Ok(Self { inner, vocabulary, mask: None, ended: false })
    }

    /// Writes which tokens may come next: bit `i % 32` of word `i / 32` is token `i`, 1 allows it. Tokens that end
    /// the output are allowed exactly where the grammar may end. Words and bits beyond the vocabulary become 0.
    ///
    /// # Errors
    /// [`MatchError::Mask`] when the mask is too short; [`MatchError::Stuck`] when a limit is hit.
    pub fn fill(&mut self, mask: &mut [u32]) -> Result<(), MatchError> {
        let needed = words(self.vocabulary.size());
        if mask.len() < needed {
            return Err(MatchError::Mask { got: mask.len(), needed });
        }
        let bits = self.bits()?.as_slice();
        let shared = bits.len().min(needed);
        mask[..shared].copy_from_slice(&bits[..shared]);
        mask[shared..].fill(0);
        let rest = self.vocabulary.size() % 32;
        if rest != 0 {
            mask[needed - 1] &= (1 << rest) - 1;
        }
        for (&twin, &first) in &self.vocabulary.twins {
            if mask[first as usize / 32] >> (first % 32) & 1 == 1 {
                mask[twin as usize / 32] |= 1 << (twin % 32);
            }
        }
        Ok(())
    }

    /// Takes the token that was chosen.
    ///
    /// # Errors
    /// [`MatchError::Token`] when the grammar does not allow it: the state is then as before.
    /// [`MatchError::Stuck`] when a limit is hit.
    pub fn accept(&mut self, token: u32) -> Result<(), MatchError> {
        if self.ended {
            return if self.vocabulary.ends.contains(&token) {
                Ok(())
            } else {
                Err(MatchError::Token(token))
            };
        }
        if self.vocabulary.ends.contains(&token) && guarded(|| self.inner.is_accepting())? {
            self.ended = true;
            self.mask = None;
            return Ok(());
        }
        let token = self.vocabulary.twins.get(&token).copied().unwrap_or(token);
        if token as usize >= self.vocabulary.size() {
            return Err(MatchError::Token(token));
        }
        match guarded(|| self.inner.try_consume_tokens(&[token]))? {
            0 => Err(MatchError::Token(token)),
            _ => {
                self.mask = None;
                Ok(())
            }
        }
    }

    /// Whether the output may end here.
    ///
    /// # Errors
    /// [`MatchError::Stuck`] when a limit is hit.
    pub fn may_end(&mut self) -> Result<bool, MatchError> {
        if self.ended { Ok(true) } else { guarded(|| self.inner.is_accepting()) }
    }

    /// Whether nothing but a token that ends the output may follow.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.ended || (self.inner.is_stopped() && self.inner.stop_reason().is_ok())
    }

    /// The one token that may come next, if only one may. Costs a mask, which the next [`Self::fill`] uses.
    pub fn forced(&mut self) -> Option<u32> {
        let bits = self.bits().ok()?;
        let mut set = bits.as_slice().iter().enumerate().filter(|(_, word)| **word != 0);
        let (at, word) = set.next()?;
        let token = u32::try_from(at).ok()? * 32 + word.trailing_zeros();
        let alone = word.is_power_of_two()
            && set.next().is_none()
            && !self.vocabulary.twins.values().any(|first| *first == token);
        alone.then_some(token)
    }

    /// How many of these tokens, from the first on, the grammar allows one after the other; the state stays.
    ///
    /// # Errors
    /// [`MatchError::Stuck`] when a limit is hit.
    pub fn validate(&mut self, tokens: &[u32]) -> Result<usize, MatchError> {
        let mut ahead = self.clone();
        for (count, token) in tokens.iter().enumerate() {
            match ahead.accept(*token) {
                Ok(()) => {}
                Err(MatchError::Token(_)) => return Ok(count),
                Err(error) => return Err(error),
            }
        }
        Ok(tokens.len())
    }

    fn bits(&mut self) -> Result<&SimpleVob, MatchError> {
        let bits = match self.mask.take() {
            Some(bits) => bits,
            None if self.ended => self.vocabulary.env.tok_trie().eos_token_set(),
            None => guarded(|| self.inner.compute_mask_or_eos())?,
        };
        Ok(self.mask.insert(bits))
    }
}

/// Runs a step of the parser; a panic in it fails this output and no other.
pub(crate) fn guarded<T, E: std::fmt::Display>(
    step: impl FnOnce() -> Result<T, E>,
) -> Result<T, MatchError> {
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(stuck(&error.to_string())),
        Err(_) => Err(stuck("the parser panicked")),
    }
}

/// The first line of the parser's own message, which may go on with a dump of its state.
fn stuck(error: &str) -> MatchError {
    MatchError::Stuck(first_line(error))
}

pub(crate) fn first_line(error: &str) -> String {
    let line =
        error.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("unknown error");
    line.chars().take(300).collect()
}
