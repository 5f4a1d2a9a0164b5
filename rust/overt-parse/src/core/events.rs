//! What a parser says: ordered events over one reused buffer, so that a token allocates nothing.

use std::ops::Range;

/// One thing the model said, in the order it said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// Text of the answer.
    Text(&'a str),
    /// Text of the reasoning.
    Reasoning(&'a str),
    /// A tool call begins; its name is whole.
    ToolStart {
        /// Position among the choice's calls, from 0.
        index: u32,
        /// Call id, unique in the response.
        id: &'a str,
        /// The function's name.
        name: &'a str,
    },
    /// More of a call's arguments: the model's own bytes.
    ToolArgs {
        /// The call it belongs to.
        index: u32,
        /// A fragment; the fragments joined are the arguments.
        text: &'a str,
    },
    /// The call is complete.
    ToolEnd {
        /// The call that ended.
        index: u32,
    },
}

#[derive(Debug, Clone)]
enum Item {
    Text(Range<usize>),
    Reasoning(Range<usize>),
    ToolStart { index: u32, id: Range<usize>, name: Range<usize> },
    ToolArgs { index: u32, text: Range<usize> },
    ToolEnd { index: u32 },
}

/// A reusable list of events. Neighbouring fragments of one kind join.
#[derive(Debug, Default, Clone)]
pub struct Events {
    buffer: String,
    items: Vec<Item>,
}

impl Events {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the events, keeps the memory.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.items.clear();
    }

    /// True when nothing was said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Adds text of the answer.
    pub fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let range = self.store(text);
        match self.items.last_mut() {
            Some(Item::Text(last)) => last.end = range.end,
            _ => self.items.push(Item::Text(range)),
        }
    }

    /// Adds text of the reasoning.
    pub fn reasoning(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let range = self.store(text);
        match self.items.last_mut() {
            Some(Item::Reasoning(last)) => last.end = range.end,
            _ => self.items.push(Item::Reasoning(range)),
        }
    }

    /// Begins call `index`.
    pub fn tool_start(&mut self, index: u32, id: &str, name: &str) {
        let id = self.store(id);
        let name = self.store(name);
        self.items.push(Item::ToolStart { index, id, name });
    }

    /// Adds a fragment of call `index`'s arguments.
    pub fn tool_args(&mut self, index: u32, text: &str) {
        if text.is_empty() {
            return;
        }
        let range = self.store(text);
        match self.items.last_mut() {
            Some(Item::ToolArgs { index: last, text }) if *last == index => text.end = range.end,
            _ => self.items.push(Item::ToolArgs { index, text: range }),
        }
    }

    /// Ends call `index`.
    pub fn tool_end(&mut self, index: u32) {
        self.items.push(Item::ToolEnd { index });
    }

    /// The events in order.
    pub fn iter(&self) -> impl Iterator<Item = Event<'_>> {
        self.items.iter().map(|item| match item {
            Item::Text(r) => Event::Text(&self.buffer[r.clone()]),
            Item::Reasoning(r) => Event::Reasoning(&self.buffer[r.clone()]),
            Item::ToolStart { index, id, name } => Event::ToolStart {
                index: *index,
                id: &self.buffer[id.clone()],
                name: &self.buffer[name.clone()],
            },
            Item::ToolArgs { index, text } => {
                Event::ToolArgs { index: *index, text: &self.buffer[text.clone()] }
            }
            Item::ToolEnd { index } => Event::ToolEnd { index: *index },
        })
    }

    fn store(&mut self, text: &str) -> Range<usize> {
        let start = self.buffer.len();
        self.buffer.push_str(text);
        start..self.buffer.len()
    }
}
