//! Text completions in one piece: `text_completion`.

use overt_parse::Events;

use crate::completion_stream::words;
use crate::logprobs::Lists;
use crate::{
    ErrorBody, Finish, Head, Options, PromptToken, StopReason, TokenLogprobs, Usage, Writer,
    envelope, error, json, prompt_logprobs, token_ids,
};

/// Gathers, and writes everything in `end`.
pub(crate) struct CompletionJson {
    /// The body up to the bracket that opens the choices.
    head: Vec<u8>,
    choices: Vec<Choice>,
    /// Choices that continue one prompt, at least 1.
    per_prompt: usize,
    options: Options,
    /// Members of the whole answer at its end, a comma before each.
    extra: Vec<u8>,
    /// The choices to write; `None`: all.
    order: Option<Vec<u32>>,
}

#[derive(Default, Clone)]
struct Choice {
    /// Escaped.
    text: Vec<u8>,
    logprobs: Lists,
    /// What the choice says of its prompt, a comma before each member, at the first choice that continues it.
    prompt: Vec<u8>,
    prompt_ids: Vec<u8>,
    /// Ids of the tokens, commas between them.
    ids: Vec<u8>,
    /// `"finish_reason":…` and the stop field.
    finish: Vec<u8>,
}

impl CompletionJson {
    pub(crate) fn new(head: &Head, options: Options, choices: u32, per_prompt: u32) -> Self {
        let mut bytes = Vec::new();
        envelope::head(head, "text_completion", &mut bytes);
        let mut extra = Vec::new();
        envelope::extra(head, &mut extra);
        Self {
            head: bytes,
            choices: vec![Choice::default(); choices as usize],
            per_prompt: per_prompt.max(1) as usize,
            options,
            extra,
            order: None,
        }
    }

    /// The first of the choices that continue prompt number `prompt`.
    fn first(&mut self, prompt: u32) -> Option<&mut Choice> {
        self.choices.get_mut((prompt as usize).saturating_mul(self.per_prompt))
    }
}

impl Writer for CompletionJson {
    fn prompt_tokens(&mut self, prompt: u32, ids: &[u32]) {
        if self.options.token_ids
            && let Some(choice) = self.first(prompt)
        {
            choice.prompt_ids.clear();
            envelope::member("prompt_token_ids", &token_ids::array(ids), &mut choice.prompt_ids);
        }
    }

    fn tokens(&mut self, choice: u32, ids: &[u32]) {
        if self.options.token_ids
            && let Some(choice) = self.choices.get_mut(choice as usize)
        {
            token_ids::join(ids, &mut choice.ids);
        }
    }

    fn begin(&mut self, _choice: u32, _out: &mut Vec<u8>) {}

    fn events(
        &mut self,
        choice: u32,
        events: &Events,
        logprobs: &[TokenLogprobs],
        _out: &mut Vec<u8>,
    ) {
        let Some(choice) = self.choices.get_mut(choice as usize) else { return };
        for text in events.iter().filter_map(words) {
            json::escape(text, &mut choice.text);
        }
        if self.options.logprobs {
            choice.logprobs.add(logprobs, self.options.tokens_as_ids);
        }
    }

    fn finish(
        &mut self,
        choice: u32,
        finish: Finish,
        reason: Option<&StopReason>,
        _out: &mut Vec<u8>,
    ) {
        let Some(choice) = self.choices.get_mut(choice as usize) else { return };
        choice.finish.clear();
        let finish = Some(envelope::completion_finish(finish));
        envelope::finish(finish, reason, self.options.shape.stop, &mut choice.finish);
    }

    fn prompt_logprobs(&mut self, prompt: u32, tokens: &[PromptToken], _out: &mut Vec<u8>) {
        let Some(choice) = self.first(prompt) else { return };
        choice.prompt.clear();
        envelope::member("prompt_logprobs", b"", &mut choice.prompt);
        prompt_logprobs::write(tokens, &mut choice.prompt);
    }

    fn select(&mut self, order: &[u32]) {
        self.order = Some(order.to_vec());
    }

    fn end(&mut self, usage: &Usage, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        let chosen = envelope::chosen(&self.choices, self.order.as_deref());
        for (index, (original, choice)) in chosen.enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(b"{\"index\":");
            json::number(index as u64, out);
            out.extend_from_slice(b",\"text\":\"");
            out.extend_from_slice(&choice.text);
            out.extend_from_slice(b"\",\"logprobs\":");
            if self.options.logprobs {
                choice.logprobs.write(out);
            } else {
                out.extend_from_slice(b"null");
            }
            out.push(b',');
            if choice.finish.is_empty() {
                envelope::finish(None, None, self.options.shape.stop, out);
            } else {
                out.extend_from_slice(&choice.finish);
            }
            let first = &self.choices[original - original % self.per_prompt];
            out.extend_from_slice(&first.prompt);
            out.extend_from_slice(&first.prompt_ids);
            if self.options.token_ids {
                token_ids::write(&choice.ids, out);
            }
            out.push(b'}');
        }
        out.extend_from_slice(b"],");
        envelope::usage(usage, self.options.shape, out);
        out.extend_from_slice(&self.extra);
        out.push(b'}');
    }

    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>) {
        error::write(error, self.options.shape.errors, out);
    }
}
