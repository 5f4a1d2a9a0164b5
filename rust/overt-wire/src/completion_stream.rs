//! Streamed text completions: `text_completion` frames.

use overt_parse::{Event, Events};

use crate::envelope::{self, Envelope};
use crate::logprobs::Lists;
use crate::token_ids::{Prompts, Waiting};
use crate::{
    ErrorBody, Finish, Head, Options, StopReason, TokenLogprobs, Usage, Writer, error, json,
};

/// Writes frames as the events come.
pub(crate) struct CompletionStream {
    envelope: Envelope,
    /// The log probabilities of one frame; memory only.
    lists: Lists,
    prompts: Prompts,
    ids: Waiting,
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
    pub(crate) fn new(head: &Head, options: Options, choices: u32, per_prompt: u32) -> Self {
        Self {
            envelope: Envelope::new(head, "text_completion", options, choices),
            lists: Lists::default(),
            prompts: Prompts::new(options.token_ids, choices, per_prompt),
            ids: Waiting::new(options.token_ids, choices),
        }
    }

    /// Up to the word on how the choice ended.
    fn open(&mut self, choice: u32, text: &str, tokens: &[TokenLogprobs], out: &mut Vec<u8>) {
        self.envelope.open(out);
        out.extend_from_slice(b"\"index\":");
        json::number(u64::from(choice), out);
        out.extend_from_slice(b",\"text\":");
        json::string(text, out);
        if tokens.is_empty() {
            out.extend_from_slice(b",\"logprobs\":null,");
        } else {
            out.extend_from_slice(b",\"logprobs\":");
            self.lists.clear();
            self.lists.add(tokens, self.envelope.options.tokens_as_ids);
            self.lists.write(out);
            out.push(b',');
        }
    }

    /// A frame that says how nothing ended.
    fn more(&mut self, choice: u32, text: &str, tokens: &[TokenLogprobs], out: &mut Vec<u8>) {
        self.open(choice, text, tokens, out);
        out.extend_from_slice(b"\"finish_reason\":null");
        self.close(choice, out);
    }

    /// After the word on how the choice ended.
    fn close(&mut self, choice: u32, out: &mut Vec<u8>) {
        self.prompts.write(choice, out);
        self.ids.write(choice, out);
        self.envelope.close(out);
    }
}

impl Writer for CompletionStream {
    fn prompt_tokens(&mut self, prompt: u32, ids: &[u32]) {
        self.prompts.set(prompt, ids);
    }

    fn tokens(&mut self, choice: u32, ids: &[u32]) {
        self.ids.add(choice, ids);
    }

    fn usage(&mut self, usage: &Usage) {
        self.envelope.count(usage);
    }

    fn begin(&mut self, _choice: u32, _out: &mut Vec<u8>) {
        // Completions have no roles.
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
        // What no frame has carried yet.
        let mut tokens = if self.envelope.options.logprobs { logprobs } else { &[] };
        for text in events.iter().filter_map(words) {
            self.more(choice, text, std::mem::take(&mut tokens), out);
        }
        if !tokens.is_empty() {
            self.more(choice, "", tokens, out);
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
        self.open(choice, "", &[], out);
        let stop = self.envelope.options.shape.stop;
        envelope::finish(Some(envelope::completion_finish(finish)), reason, stop, out);
        self.close(choice, out);
    }

    fn end(&mut self, usage: &Usage, out: &mut Vec<u8>) {
        self.envelope.end(usage, out);
    }

    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>) {
        error::frames(error, self.envelope.options.shape.errors, out);
    }
}
