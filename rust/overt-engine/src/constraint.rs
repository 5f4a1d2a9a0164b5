//! What holds a choice's next token: its grammar, and the end of its thinking.

use std::ops::Range;

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
    /// Where in `tail` the last special token stands.
    special: Range<usize>,
    /// The answer has begun, in which an opener is text unless it is a special token.
    answering: bool,
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
            // What is held to a grammar has no second thinking.
            thinking.read(token, table, self.matcher.is_some());
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
            special: 0..0,
            answering: false,
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

    fn read(&mut self, token: u32, table: &TokenTable, held: bool) {
        if let Some(made) = &mut self.closing {
            *made += 1;
            if *made == self.budget.closing.len() {
                self.closing = None;
                self.open = false;
                self.answering = true;
                self.forget(self.tail.len());
            }
            return;
        }
        let start = self.tail.len();
        self.tail.extend_from_slice(table.bytes(token));
        if table.is_special(token) {
            self.special = start..self.tail.len();
        }
        if let Some(end) = self.turn(held) {
            self.answering |= self.open;
            self.open = !self.open;
            self.forget(end);
        } else {
            self.spent += u32::from(self.open);
        }
        // Only what may still become a marker is kept.
        let surplus = self.tail.len().saturating_sub(self.longest.saturating_sub(1));
        self.forget(surplus);
        self.close_if_spent();
    }

    /// Where a marker ends at which thinking closes, or opens as the parser has it open: before the answer, and within
    /// it at a special token alone.
    fn turn(&mut self, held: bool) -> Option<usize> {
        let tail = &self.tail;
        let ends = |markers: &[String]| {
            let ends = markers
                .iter()
                .filter_map(|marker| Some((marker.len(), end_of(tail, marker.as_bytes())?)));
            ends.min_by_key(|(_, end)| *end)
        };
        if self.open {
            return ends(&self.budget.closes).map(|(_, end)| end);
        }
        let found = ends(&self.budget.opens);
        let opens = found.filter(|(len, end)| {
            let special = self.special.start < *end && self.special.end > end - len;
            if self.answering {
                special && !held
            } else {
                tail[..end - len].trim_ascii().is_empty() || special
            }
        });
        if opens.is_none() {
            // What may still become an opener does not begin the answer.
            let begun = |marker: &String| {
                let text = tail.trim_ascii_start();
                marker.trim_start().as_bytes().starts_with(text)
            };
            self.answering |= !self.budget.opens.iter().any(begun);
        }
        opens.map(|(_, end)| end)
    }

    /// Drops the first bytes of the tail.
    fn forget(&mut self, count: usize) {
        self.tail.drain(..count);
        let Range { start, end } = self.special;
        self.special = start.saturating_sub(count)..end.saturating_sub(count);
    }
}

/// Where the first occurrence of `marker` ends.
fn end_of(bytes: &[u8], marker: &[u8]) -> Option<usize> {
    if marker.is_empty() {
        return None;
    }
    bytes.windows(marker.len()).position(|window| window == marker).map(|at| at + marker.len())
}

#[cfg(test)]
mod tests {
    use overt_link::ThinkingBudget;
    use overt_text::Tokenizer;

    use super::Thinking;

    #[test]
    fn a_special_token_opens_thinking_again_where_no_grammar_holds() {
        let file = include_bytes!("../../../tests/fixtures/byte_tokenizer.json");
        let tokenizer = Tokenizer::from_bytes(file).expect("a tokenizer");
        let budget = ThinkingBudget {
            tokens: 1,
            open: false,
            opens: vec!["<end>".into()],
            closes: vec!["</t>".into()],
            closing: vec![33],
        };
        for held in [false, true] {
            let mut thinking = Thinking::new(&budget);
            for token in [97, 256, 98] {
                thinking.read(token, tokenizer.table(), held);
            }
            assert_eq!((thinking.open, thinking.closing.is_some()), (!held, !held));
        }
    }
}
