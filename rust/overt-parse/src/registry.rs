//! The formats by name.

use crate::hermes;
use crate::{Parser, Plain};

/// A format that models write tool calls in.
#[derive(Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Makes the parser of one choice; `seed` makes its call ids unlike those of other choices.
    pub build: fn(seed: u64) -> Box<dyn Parser>,
    /// Markers that a chat template of this format contains.
    pub markers: &'static [&'static str],
}

static FORMATS: &[&Format] = &[&hermes::FORMAT];

/// Every format, in the order in which their markers are looked for.
#[must_use]
pub fn formats() -> &'static [&'static Format] {
    FORMATS
}

/// The format of this name or alias.
#[must_use]
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name || format.aliases.contains(&name))
}

/// The names of all formats, without aliases.
pub fn names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name)
}

/// A parser that reads everything as text and hides special tokens.
#[must_use]
pub fn plain() -> Box<dyn Parser> {
    Box::new(Plain::new(false))
}

#[cfg(test)]
mod tests {
    use super::{find, formats, names};

    #[test]
    fn names_are_unique_and_found() {
        let mut all: Vec<&str> =
            formats().iter().flat_map(|format| format.aliases).copied().chain(names()).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        for name in all {
            assert!(
                find(name)
                    .is_some_and(|format| format.name == name || format.aliases.contains(&name))
            );
        }
        assert!(find("no-such-format").is_none());
    }
}
