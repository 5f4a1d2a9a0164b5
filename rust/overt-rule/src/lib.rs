//! The grammar tree in which a tool-call format says what its output must look like.
//!
//! A format (in `overt-parse`) builds a [`Grammar`]; `overt-grammar` turns it into what masks tokens. Neither needs
//! to know the other. The tree says what the text is, not how a tokenizer cuts it.

use serde_json::Value;

/// What a stretch of output must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Exactly this text, in ordinary tokens. Empty text is allowed and stands for nothing.
    Text(String),
    /// One special token where the vocabulary has one of this spelling, else the spelling as ordinary text.
    Marker(String),
    /// A JSON value that this JSON Schema allows. References `#/$defs/...` are looked up inside the schema itself.
    Json(Value),
    /// Free text, maybe empty, in which none of these strings occurs; with an empty list, any text. Special tokens
    /// never occur in it.
    ///
    /// What follows must begin with a [`Rule::Text`], a [`Rule::Marker`] or the end of the output, on every path:
    /// the text ends where that first occurs. So list the markers that follow here as well.
    Until(Vec<String>),
    /// Text that this regular expression matches as a whole (Rust's syntax; `^` and `$` at its ends are allowed and
    /// change nothing; no look-around, no back references).
    Pattern(String),
    /// One after the other. An empty list is empty text.
    Seq(Vec<Rule>),
    /// One of these; the list must not be empty.
    Any(Vec<Rule>),
    /// This or nothing.
    Maybe(Box<Rule>),
    /// This, `min` times to `max` times (or any number of times from `min`, when `max` is none).
    Many {
        /// What is repeated; it must not be able to be empty.
        rule: Box<Rule>,
        /// The fewest times.
        min: u32,
        /// The most times; none means without bound.
        max: Option<u32>,
    },
    /// Text that both accept, such as a pattern that also lacks the mark that ends it. Only of [`Rule::Text`],
    /// [`Rule::Until`], [`Rule::Pattern`] and of [`Rule::Seq`], [`Rule::Any`], [`Rule::Maybe`], [`Rule::Many`] and
    /// [`Rule::Both`] made of them.
    Both(Box<Rule>, Box<Rule>),
    /// The rule of this name among [`Grammar::rules`]; it may be recursive.
    Named(String),
}

impl Rule {
    /// Literal text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A special token by its spelling.
    #[must_use]
    pub fn marker(spelling: impl Into<String>) -> Self {
        Self::Marker(spelling.into())
    }

    /// Free text without these strings.
    #[must_use]
    pub fn until<S: Into<String>>(strings: impl IntoIterator<Item = S>) -> Self {
        Self::Until(strings.into_iter().map(Into::into).collect())
    }

    /// A regular expression.
    #[must_use]
    pub fn pattern(expression: impl Into<String>) -> Self {
        Self::Pattern(expression.into())
    }

    /// A reference to a rule by name.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self::Named(name.into())
    }

    /// This or nothing.
    #[must_use]
    pub fn maybe(self) -> Self {
        Self::Maybe(Box::new(self))
    }

    /// This, `min` to `max` times.
    #[must_use]
    pub fn many(self, min: u32, max: Option<u32>) -> Self {
        Self::Many { rule: Box::new(self), min, max }
    }

    /// Text that this and `other` both accept.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        Self::Both(Box::new(self), Box::new(other))
    }
}

/// A rule for the whole output, and the rules it names.
#[derive(Clone, Debug, PartialEq)]
pub struct Grammar {
    /// What the output must be.
    pub start: Rule,
    /// The rules that [`Rule::Named`] refers to, by name.
    pub rules: Vec<(String, Rule)>,
}

impl From<Rule> for Grammar {
    fn from(start: Rule) -> Self {
        Self { start, rules: Vec::new() }
    }
}
