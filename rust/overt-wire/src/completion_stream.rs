//! Streamed text completions: `text_completion` frames.

use overt_parse::{Event, Events};

use crate::envelope::{self, Envelope};
use crate::{ErrorBody, Finish, Head, Options, StopReason, Usage, Writer, error, json};

/// Writes frames as the events come.
pub(crate) struct CompletionStream {
    envelope: Envelope,
}

/// What an event adds to a completion's text. Completions have no fields for reasoning and calls, so
/// whatever the model said there is text, as it is without a parser.
pub(crate) fn words(event: Event<'_>) -> Option<&str> {
    match event {
        Event::Text(text) | Event::Reasoning(text) | Event::ToolArgs { text, .. } => Some(text),
        Event::ToolStart { .. } | Event::ToolEnd { .. } => None,
    }
}

impl CompletionStream {
    pub(crate) fn new(head: &Head, options: Options, choices: u32) -> Self {
        Self { envelope: Envelope::new(head, "text_completion", options, choices) }
    }

    /// Up to the word on how the choice ended.
    fn open(&self, choice: u32, text: &str, out: &mut Vec<u8>) {
        self.envelope.open(out);
        out.extend_from_slice(b"{\"index\":");
        json::number(u64::from(choice), out);
        out.extend_from_slice(b",\"text\":");
        json::string(text, out);
        out.extend_from_slice(b",\"logprobs\":null,");
    }
}

impl Writer for CompletionStream {
    fn begin(&mut self, _choice: u32, _out: &mut Vec<u8>) {
        // Completions have no roles.
    }

    fn events(&mut self, choice: u32, events: &Events, out: &mut Vec<u8>) {
        if !self.envelope.has(choice) {
            return;
        }
        for text in events.iter().filter_map(words) {
            self.open(choice, text, out);
            out.extend_from_slice(b"\"finish_reason\":null}");
            self.envelope.close(out);
        }
    }

    fn finish(
        &mut self,
        choice: u32,
        finish: Finish,
        reason: Option<&StopReason>,
        out: &mut Vec<u8>,
    ) {
        if !self.envelope.has(choice) {
            return;
        }
        self.open(choice, "", out);
        envelope::finish(envelope::completion_finish(finish), reason, out);
        out.push(b'}');
        self.envelope.close(out);
    }

    fn end(&mut self, usage: &Usage, out: &mut Vec<u8>) {
        self.envelope.end(usage, out);
    }

    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>) {
        error::frames(error, out);
    }
}
