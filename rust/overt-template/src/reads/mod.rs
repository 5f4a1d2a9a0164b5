//! What a template reads: variables from outside, and keys of messages.
//!
//! Both are read off this crate's own tree. The engine's list of undeclared variables leaves out what
//! is read before it is assigned, and its tree is behind a feature that promises no stability.

mod call;
mod flow;
mod variables;

use std::collections::BTreeSet;

use crate::render::Template;
use crate::syntax::ast::Stmt;

/// Names of one thing: rendering gives a message's reasoning under each.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

#[derive(Debug)]
pub(crate) struct Reads {
    variables: Vec<String>,
    keys: BTreeSet<String>,
    /// Whole messages are written: any key may show.
    all_keys: bool,
}

impl Reads {
    pub(crate) fn of(tree: &[Stmt]) -> Self {
        let (keys, all_keys) = flow::keys(tree);
        Self { variables: variables::variables(tree), keys, all_keys }
    }
}

impl Template {
    /// Names that the template takes from outside, sorted: `messages`, `tools`, `enable_thinking`, …
    ///
    /// A name counts where it may be read before the template assigns it. What every template finds,
    /// such as `range` and `loop`, does not count.
    #[must_use]
    pub fn variables(&self) -> &[String] {
        &self.reads.variables
    }

    /// Whether the template takes the variable from outside.
    #[must_use]
    pub fn reads_variable(&self, name: &str) -> bool {
        self.reads.variables.binary_search_by(|other| other.as_str().cmp(name)).is_ok()
    }

    /// Whether the template may read a message's key of that name.
    ///
    /// True for every key where it writes whole messages, or goes through their keys. Comparing whole
    /// messages with one another does not count.
    #[must_use]
    pub fn reads_key(&self, key: &str) -> bool {
        let reads = |key: &str| self.reads.keys.contains(key);
        self.reads.all_keys
            || reads(key)
            || (REASONING.contains(&key) && REASONING.into_iter().any(reads))
    }
}
