//! Streamed chat completions: `chat.completion.chunk` frames.

use overt_parse::{Event, Events};

use crate::envelope::{self, Envelope};
use crate::{ErrorBody, Finish, Head, Options, StopReason, Usage, Writer, error, json};

/// Closes the delta and the choice of every frame but the finish frame.
const MORE: &[u8] = b"},\"logprobs\":null,\"finish_reason\":null}";

/// Writes frames as the events come.
pub(crate) struct ChatStream {
    envelope: Envelope,
}

impl ChatStream {
    pub(crate) fn new(head: &Head, options: Options, choices: u32) -> Self {
        Self { envelope: Envelope::new(head, "chat.completion.chunk", options, choices) }
    }

    /// Up to the inside of the delta.
    fn open(&self, choice: u32, out: &mut Vec<u8>) {
        self.envelope.open(out);
        out.extend_from_slice(b"{\"index\":");
        json::number(u64::from(choice), out);
        out.extend_from_slice(b",\"delta\":{");
    }

    /// From the inside of the delta on.
    fn close(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(MORE);
        self.envelope.close(out);
    }
}

impl Writer for ChatStream {
    fn begin(&mut self, choice: u32, out: &mut Vec<u8>) {
        if !self.envelope.has(choice) {
            return;
        }
        self.open(choice, out);
        out.extend_from_slice(b"\"role\":\"assistant\",\"content\":\"\"");
        self.close(out);
    }

    fn events(&mut self, choice: u32, events: &Events, out: &mut Vec<u8>) {
        if !self.envelope.has(choice) {
            return;
        }
        for event in events.iter() {
            // Nothing in the frames says that a call is complete.
            if let Event::ToolEnd { .. } = event {
                continue;
            }
            self.open(choice, out);
            delta(event, out);
            self.close(out);
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
        self.open(choice, out);
        out.extend_from_slice(b"},\"logprobs\":null,");
        envelope::finish(envelope::chat_finish(finish), reason, out);
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

/// The inside of a delta.
fn delta(event: Event<'_>, out: &mut Vec<u8>) {
    match event {
        Event::Text(text) => {
            out.extend_from_slice(b"\"content\":");
            json::string(text, out);
        }
        Event::Reasoning(text) => {
            out.extend_from_slice(b"\"reasoning_content\":");
            let start = out.len();
            json::string(text, out);
            let end = out.len();
            out.extend_from_slice(b",\"reasoning\":");
            out.extend_from_within(start..end);
        }
        Event::ToolStart { index, id, name } => {
            out.extend_from_slice(b"\"tool_calls\":[{\"index\":");
            json::number(u64::from(index), out);
            out.extend_from_slice(b",\"id\":");
            json::string(id, out);
            out.extend_from_slice(b",\"type\":\"function\",\"function\":{\"name\":");
            json::string(name, out);
            out.extend_from_slice(b",\"arguments\":\"\"}}]");
        }
        Event::ToolArgs { index, text } => {
            out.extend_from_slice(b"\"tool_calls\":[{\"index\":");
            json::number(u64::from(index), out);
            out.extend_from_slice(b",\"function\":{\"arguments\":");
            json::string(text, out);
            out.extend_from_slice(b"}}]");
        }
        Event::ToolEnd { .. } => {}
    }
}
