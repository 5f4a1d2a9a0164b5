//! What holds a choice's next token: its grammar, and the end of its thinking.

use overt_grammar::{MatchError, Matcher};
use overt_link::ThinkingBudget;
use overt_text::TokenTable;

/// A choice's grammar and thinking budget; empty for most.
#[derive(Debug, Clone, Default)]
pub(crate) struct Constraint {
    pub(crate) matcher: Option<Matcher>,
    thinking: Option<Thinking>,
}

/// Follows the thinking of a choice by its bytes.
#[derive(Debug, Clone)]
struct Thinking {
    budget: ThinkingBudget,
    open: bool,
    spent: u32,
    /// How many of the closing tokens were made; none: the budget is not spent.
    closing: Option<usize>,
    /// The last bytes, in which a marker may be growing.
    tail: Vec<u8>,
    longest: usize,
}

/// What a token did to the constraint.
pub(crate) enum Step {
    /// The output goes on.
    Goes,
    /// Nothing may follow.
    Complete,
}

impl Constraint {
    pub(crate) fn new(matcher: Option<Matcher>, thinking: Option<&ThinkingBudget>) -> Self {
        Self { matcher, thinking: thinking.map(Thinking::new) }
    }

    /// True when nothing is held.
    pub(crate) fn is_free(&self) -> bool {
        self.matcher.is_none() && self.thinking.is_none()
    }

    /// The one token that must come next, where thinking is being closed.
    pub(crate) fn forced(&self) -> Option<u32> {
        let thinking = self.thinking.as_ref()?;
        thinking.budget.closing.get(thinking.closing?).copied()
    }

    /// Reads the token that was made.
    pub(crate) fn accept(&mut self, token: u32, table: &TokenTable) -> Result<Step, MatchError> {
        if let Some(thinking) = &mut self.thinking {
            thinking.read(token, table);
        }
        let Some(matcher) = &mut self.matcher else { return Ok(Step::Goes) };
        matcher.accept(token)?;
        Ok(if matcher.is_ended() { Step::Complete } else { Step::Goes })
    }
}

impl Thinking {
    fn new(budget: &ThinkingBudget) -> Self {
        let markers = budget.opens.iter().chain(&budget.closes);
        let mut thinking = Self {
            open: budget.open,
            spent: 0,
            closing: None,
            tail: Vec::new(),
            longest: markers.map(String::len).max().unwrap_or(0),
            budget: budget.clone(),
        };
        thinking.close_if_spent();
        thinking
    }

    /// A marker that the model has begun to write is left to it.
    fn close_if_spent(&mut self) {
        let spent = self.open && self.spent >= self.budget.tokens;
        if spent && !self.budget.closing.is_empty() && !self.closes_itself() {
            self.closing = Some(0);
        }
    }

    fn closes_itself(&self) -> bool {
        let begun = |marker: &String| {
            (1..marker.len()).any(|count| self.tail.ends_with(&marker.as_bytes()[..count]))
        };
        self.budget.closes.iter().any(begun)
    }

    fn read(&mut self, token: u32, table: &TokenTable) {
        if let Some(made) = &mut self.closing {
            *made += 1;
            if *made == self.budget.closing.len() {
                self.closing = None;
                self.open = false;
                self.tail.clear();
            }
            return;
        }
        self.tail.extend_from_slice(table.bytes(token));
        let markers = if self.open { &self.budget.closes } else { &self.budget.opens };
        let found = markers.iter().filter_map(|marker| end_of(&self.tail, marker.as_bytes())).min();
        if let Some(end) = found {
            self.open = !self.open;
            self.tail.drain(..end);
        } else {
            self.spent += u32::from(self.open);
        }
        // Only what may still become a marker is kept.
        let surplus = self.tail.len().saturating_sub(self.longest.saturating_sub(1));
        self.tail.drain(..surplus);
        self.close_if_spent();
    }
}

/// Where the first occurrence of `marker` ends.
fn end_of(bytes: &[u8], marker: &[u8]) -> Option<usize> {
    if marker.is_empty() {
        return None;
    }
    bytes.windows(marker.len()).position(|window| window == marker).map(|at| at + marker.len())
}
