//! Streamed chat completions: `chat.completion.chunk` frames.

use overt_parse::{Event, Events};

use crate::envelope::{self, Envelope, Said};
use crate::token_ids::Waiting;
use crate::{
    ErrorBody, Finish, Head, Options, ReasoningField, StopReason, TokenLogprobs, Usage, Writer,
    error, json, logprobs,
};

/// Closes the delta and says how nothing ended, on all frames but the finish frame and those with log probabilities.
const MORE: &[u8] = b"},\"logprobs\":null,\"finish_reason\":null";

/// Writes frames as the events come.
pub(crate) struct ChatStream {
    envelope: Envelope,
    ids: Waiting,
    calls: Calls,
}

impl ChatStream {
    pub(crate) fn new(head: &Head, options: Options, choices: u32) -> Self {
        let envelope = Envelope::new(head, "chat.completion.chunk", options, choices);
        Self { envelope, ids: Waiting::new(options.token_ids, choices), calls: Calls::default() }
    }

    /// Up to the inside of the delta.
    fn open(&mut self, choice: u32, out: &mut Vec<u8>) {
        self.envelope.open(out);
        out.extend_from_slice(b"\"index\":");
        json::number(u64::from(choice), out);
        out.extend_from_slice(b",\"delta\":{");
    }

    /// From the inside of the delta to the end of a frame that says how nothing ended.
    fn close(&mut self, choice: u32, tokens: &[TokenLogprobs], out: &mut Vec<u8>) {
        if tokens.is_empty() {
            out.extend_from_slice(MORE);
        } else {
            out.extend_from_slice(b"},\"logprobs\":");
            out.extend_from_slice(logprobs::CHAT_OPEN);
            logprobs::entries(tokens, self.envelope.options.tokens_as_ids, out);
            out.extend_from_slice(logprobs::CHAT_CLOSE);
            out.extend_from_slice(b",\"finish_reason\":null");
        }
        self.ids.write(choice, out);
        self.envelope.close(out);
    }
}

impl Writer for ChatStream {
    fn prompt_tokens(&mut self, prompt: u32, ids: &[u32]) {
        // A chat has one prompt.
        if prompt == 0 && self.envelope.options.token_ids {
            self.envelope.prompt_tokens(ids);
        }
    }

    fn prompt_text(&mut self, text: &str) {
        self.envelope.prompt_text(text);
    }

    fn custom_tools(&mut self, names: &[String]) {
        self.calls.custom = names.to_vec();
    }

    fn tokens(&mut self, choice: u32, ids: &[u32]) {
        self.ids.add(choice, ids);
    }

    fn usage(&mut self, usage: &Usage) {
        self.envelope.count(usage);
    }

    fn begin(&mut self, choice: u32, out: &mut Vec<u8>) {
        if !self.envelope.has(choice) {
            return;
        }
        self.open(choice, out);
        out.extend_from_slice(b"\"role\":\"assistant\",\"content\":\"\"");
        // Ids of tokens stand beside what the tokens said.
        out.extend_from_slice(MORE);
        self.envelope.close(out);
    }

    fn events(
        &mut self,
        choice: u32,
        events: &Events,
        logprobs: &[TokenLogprobs],
        out: &mut Vec<u8>,
    ) {
        if !self.envelope.has(choice) {
            return;
        }
        let Options { logprobs: asked, shape, functions, .. } = self.envelope.options;
        if envelope::said(events, shape) == Said::Hidden {
            return self.ids.forget(choice);
        }
        // What no frame has carried yet.
        let mut tokens = if asked { logprobs } else { &[] };
        for event in events.iter() {
            match event {
                // Nothing in the frames says that a call is complete.
                Event::ToolEnd { .. } => continue,
                Event::Reasoning(_) if shape.reasoning == ReasoningField::None => continue,
                _ => {}
            }
            self.open(choice, out);
            match (event, functions) {
                (Event::Text(_) | Event::Reasoning(_), _) => delta(event, shape.reasoning, out),
                (_, true) => function(event, out),
                (_, false) => self.calls.delta(choice, event, out),
            }
            self.close(choice, std::mem::take(&mut tokens), out);
        }
        if !tokens.is_empty() {
            self.open(choice, out);
            out.extend_from_slice(b"\"content\":\"\"");
            self.close(choice, tokens, out);
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
        let Options { shape, functions, .. } = self.envelope.options;
        let finish = envelope::chat_finish(finish, functions);
        envelope::finish(Some(finish), reason, shape.stop, out);
        self.ids.write(choice, out);
        self.envelope.close(out);
    }

    fn end(&mut self, usage: &Usage, out: &mut Vec<u8>) {
        self.envelope.end(usage, out);
    }

    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>) {
        error::frames(error, self.envelope.options.shape.errors, out);
    }
}

/// The inside of a delta.
fn delta(event: Event<'_>, field: ReasoningField, out: &mut Vec<u8>) {
    match event {
        Event::Text(text) => {
            out.extend_from_slice(b"\"content\":");
            json::string(text, out);
        }
        Event::Reasoning(text) => {
            out.extend_from_slice(match field {
                ReasoningField::Reasoning => b"\"reasoning\":",
                _ => b"\"reasoning_content\":",
            });
            let start = out.len();
            json::string(text, out);
            if field == ReasoningField::Both {
                let end = out.len();
                out.extend_from_slice(b",\"reasoning\":");
                out.extend_from_within(start..end);
            }
        }
        Event::ToolStart { .. } | Event::ToolArgs { .. } | Event::ToolEnd { .. } => {}
    }
}

/// Which calls are of custom tools.
#[derive(Default)]
struct Calls {
    custom: Vec<String>,
    /// By choice and number.
    open: Vec<(u32, u32)>,
}

impl Calls {
    /// The inside of a delta of `tool_calls`.
    fn delta(&mut self, choice: u32, event: Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::ToolStart { index, id, name } => {
                let custom = self.custom.iter().any(|custom| custom == name);
                if custom {
                    self.open.push((choice, index));
                }
                out.extend_from_slice(b"\"tool_calls\":[{\"index\":");
                json::number(u64::from(index), out);
                out.extend_from_slice(b",\"id\":");
                json::string(id, out);
                out.extend_from_slice(if custom {
                    b",\"type\":\"custom\",\"custom\":{\"name\":"
                } else {
                    b",\"type\":\"function\",\"function\":{\"name\":"
                });
                json::string(name, out);
                out.extend_from_slice(if custom {
                    b",\"input\":\"\"}}]"
                } else {
                    b",\"arguments\":\"\"}}]"
                });
            }
            Event::ToolArgs { index, text } => {
                out.extend_from_slice(b"\"tool_calls\":[{\"index\":");
                json::number(u64::from(index), out);
                out.extend_from_slice(if self.open.contains(&(choice, index)) {
                    b",\"custom\":{\"input\":"
                } else {
                    b",\"function\":{\"arguments\":"
                });
                json::string(text, out);
                out.extend_from_slice(b"}}]");
            }
            _ => {}
        }
    }
}

/// The inside of a delta of `function_call`.
fn function(event: Event<'_>, out: &mut Vec<u8>) {
    match event {
        Event::ToolStart { name, .. } => {
            out.extend_from_slice(b"\"function_call\":{\"name\":");
            json::string(name, out);
            out.extend_from_slice(b",\"arguments\":\"\"}");
        }
        Event::ToolArgs { text, .. } => {
            out.extend_from_slice(b"\"function_call\":{\"arguments\":");
            json::string(text, out);
            out.push(b'}');
        }
        _ => {}
    }
}
