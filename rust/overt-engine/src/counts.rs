//! How often a choice made each token: what penalties are computed from.

use rustc_hash::FxHashMap;

/// Tokens with the times they were made; those of the prompt begin at 0.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    entries: Vec<(u32, u32)>,
    places: FxHashMap<u32, usize>,
}

impl Counts {
    /// Counts that know the tokens of `prompt` as not made yet.
    pub(crate) fn of_prompt(prompt: &[u32]) -> Self {
        let mut counts = Self::default();
        for &token in prompt {
            counts.place(token);
        }
        counts
    }

    /// `token` was made once more.
    pub(crate) fn add(&mut self, token: u32) {
        let place = self.place(token);
        self.entries[place].1 += 1;
    }

    /// (token, times made), each token once.
    pub(crate) fn entries(&self) -> &[(u32, u32)] {
        &self.entries
    }

    fn place(&mut self, token: u32) -> usize {
        *self.places.entry(token).or_insert_with(|| {
            self.entries.push((token, 0));
            self.entries.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_tokens_begin_at_zero_and_all_stand_once() {
        let mut counts = Counts::of_prompt(&[7, 3, 7]);
        for token in [3, 9, 9] {
            counts.add(token);
        }
        assert_eq!(counts.entries(), [(7, 0), (3, 1), (9, 2)]);
    }
}
