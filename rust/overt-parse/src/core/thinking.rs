//! Reasoning that stands before the answer between two markers.

use serde::Deserialize;

use crate::core::events::Events;
use crate::leak;

/// How a family sets its reasoning apart.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thinking {
    /// Markers that open it; the first is the one the model writes.
    #[serde(deserialize_with = "leak::list")]
    pub open: &'static [&'static str],
    /// Markers that close it; the first is the one the model writes.
    #[serde(deserialize_with = "leak::list")]
    pub close: &'static [&'static str],
    /// Where output begins when the end of the prompt shows neither marker.
    #[serde(default)]
    pub start: Start,
    /// Whether a call's opener inside of it ends it.
    #[serde(default)]
    pub ended_by_call: EndedByCall,
    /// Markers around the answer that follows, which are dropped, such as `<answer>`.
    #[serde(default, deserialize_with = "leak::list")]
    pub answer: &'static [&'static str],
    /// It stays part of the answer, markers and all.
    #[serde(default)]
    pub kept: bool,
}

impl Thinking {
    /// The tags of most families. Rows say where theirs differ.
    pub const TAGS: Self = Self {
        open: &["<think>"],
        close: &["</think>"],
        start: Start::Answer,
        ended_by_call: EndedByCall::Never,
        answer: &[],
        kept: false,
    };
}

/// Whether a call's opener within thinking ends the thinking, or is part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedByCall {
    /// It is text of the thinking.
    #[default]
    Never,
    /// It ends it at the start of a line, or where it is a special token: elsewhere the model quotes it.
    Line,
    /// It ends it.
    Anywhere,
}

/// Where output begins when the prompt's end does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// In the answer: the model opens its thinking itself.
    #[default]
    Answer,
    /// In the thinking: the family always thinks, and often leaves the opener out.
    Thinking,
}

impl Thinking {
    /// Whether output begins inside the thinking: the marker that comes last in `tail`, the end of the rendered
    /// prompt, tells; without one the family's `start` does.
    #[must_use]
    pub fn is_open_after(&self, tail: &str) -> bool {
        let last = |markers: &[&str]| markers.iter().filter_map(|marker| tail.rfind(marker)).max();
        match (last(self.open), last(self.close)) {
            (None, None) => self.start == Start::Thinking,
            (open, close) => open > close,
        }
    }
}

/// Says reasoning without the line feeds that stand next to its markers.
#[derive(Debug, Default)]
pub(crate) struct Reasoning {
    spoken: bool,
    /// Line feeds that are said only if more follows.
    held: usize,
}

impl Reasoning {
    pub(crate) fn say(&mut self, text: &str, out: &mut Events) {
        let text = if self.spoken { text } else { text.trim_start_matches('\n') };
        let kept = text.trim_end_matches('\n');
        if !kept.is_empty() {
            self.release(out);
            out.reasoning(kept);
            self.spoken = true;
        }
        if self.spoken {
            self.held += text.len() - kept.len();
        }
    }

    /// Says `text` as reasoning, or as text of the answer where both are `merged`.
    pub(crate) fn say_or(&mut self, merged: bool, text: &str, out: &mut Events) {
        if merged { out.text(text) } else { self.say(text, out) }
    }

    fn release(&mut self, out: &mut Events) {
        for _ in 0..std::mem::take(&mut self.held) {
            out.reasoning("\n");
        }
    }

    /// The closing marker has come.
    pub(crate) fn close(&mut self) {
        *self = Self::default();
    }

    /// The output ended inside: nothing of it is lost.
    pub(crate) fn finish(&mut self, out: &mut Events) {
        self.release(out);
    }
}
