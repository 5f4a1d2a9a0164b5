//! Chat completions in one piece: `chat.completion`.

use overt_parse::{Event, Events};

use crate::envelope::{self, Said};
use crate::{
    ErrorBody, Finish, Head, Options, PromptToken, ReasoningField, StopReason, TokenLogprobs,
    Usage, Writer, error, json, logprobs, prompt_logprobs, token_ids,
};

/// Gathers, and writes everything in `end`.
pub(crate) struct ChatJson {
    /// The body up to the bracket that opens the choices.
    head: Vec<u8>,
    choices: Vec<Choice>,
    options: Options,
    /// The prompt's log probabilities, as JSON; empty: none.
    prompt: Vec<u8>,
    /// Members of the whole answer at its end, a comma before each: the head's and the prompt's ids.
    extra: Vec<u8>,
    prompt_ids: Vec<u8>,
    custom: Vec<String>,
    /// The choices to write; `None`: all.
    order: Option<Vec<u32>>,
}

/// All text is escaped as it comes.
#[derive(Default, Clone)]
struct Choice {
    content: Vec<u8>,
    reasoning: Vec<u8>,
    calls: Vec<Call>,
    /// Entries, commas between them.
    logprobs: Vec<u8>,
    /// Ids of the tokens, commas between them.
    ids: Vec<u8>,
    /// How far into `ids` they said something; those after may still turn out to be of hidden reasoning.
    said: usize,
    /// `"finish_reason":…` and the stop field.
    finish: Vec<u8>,
}

#[derive(Clone)]
struct Call {
    index: u32,
    /// Both as JSON.
    id: Vec<u8>,
    name: Vec<u8>,
    custom: bool,
    arguments: Vec<u8>,
}

impl ChatJson {
    pub(crate) fn new(head: &Head, options: Options, choices: u32) -> Self {
        let mut bytes = Vec::new();
        envelope::head(head, "chat.completion", &mut bytes);
        let mut extra = Vec::new();
        envelope::extra(head, &mut extra);
        Self {
            head: bytes,
            choices: vec![Choice::default(); choices as usize],
            options,
            prompt: Vec::new(),
            extra,
            prompt_ids: Vec::new(),
            custom: Vec::new(),
            order: None,
        }
    }
}

impl Writer for ChatJson {
    fn prompt_tokens(&mut self, prompt: u32, ids: &[u32]) {
        // A chat has one prompt.
        if prompt == 0 && self.options.token_ids {
            self.prompt_ids.clear();
            envelope::member("prompt_token_ids", &token_ids::array(ids), &mut self.prompt_ids);
        }
    }

    fn prompt_text(&mut self, text: &str) {
        envelope::prompt_text(text, &mut self.prompt_ids);
    }

    fn custom_tools(&mut self, names: &[String]) {
        self.custom = names.to_vec();
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
        let said = envelope::said(events, self.options.shape);
        if said == Said::Hidden {
            choice.ids.truncate(choice.said);
            return;
        }
        for event in events.iter() {
            choice.add(event, &self.custom);
        }
        let logprobs = if self.options.logprobs { logprobs } else { &[] };
        if !logprobs.is_empty() {
            if !choice.logprobs.is_empty() {
                choice.logprobs.push(b',');
            }
            logprobs::entries(logprobs, self.options.tokens_as_ids, &mut choice.logprobs);
        }
        if said == Said::Something || !logprobs.is_empty() {
            choice.said = choice.ids.len();
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
        let finish = envelope::chat_finish(finish, self.options.functions);
        envelope::finish(Some(finish), reason, self.options.shape.stop, &mut choice.finish);
    }

    fn prompt_logprobs(&mut self, prompt: u32, tokens: &[PromptToken], _out: &mut Vec<u8>) {
        // A chat has one prompt.
        if prompt == 0 {
            self.prompt.clear();
            prompt_logprobs::write(tokens, &mut self.prompt);
        }
    }

    fn select(&mut self, order: &[u32]) {
        self.order = Some(order.to_vec());
    }

    fn end(&mut self, usage: &Usage, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        let chosen = envelope::chosen(&self.choices, self.order.as_deref());
        for (index, (_, choice)) in chosen.enumerate() {
            if index > 0 {
                out.push(b',');
            }
            choice.write(index, self.options, out);
        }
        out.extend_from_slice(b"],");
        envelope::usage(usage, self.options.shape, out);
        if !self.prompt.is_empty() {
            envelope::member("prompt_logprobs", &self.prompt, out);
        }
        out.extend_from_slice(&self.extra);
        out.extend_from_slice(&self.prompt_ids);
        out.push(b'}');
    }

    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>) {
        error::write(error, self.options.shape.errors, out);
    }
}

impl Choice {
    fn add(&mut self, event: Event<'_>, custom: &[String]) {
        match event {
            Event::Text(text) => json::escape(text, &mut self.content),
            Event::Reasoning(text) => json::escape(text, &mut self.reasoning),
            Event::ToolStart { index, id, name } => {
                let custom = custom.iter().any(|custom| custom == name);
                let written = |text| {
                    let mut out = Vec::new();
                    json::string(text, &mut out);
                    out
                };
                let (id, name) = (written(id), written(name));
                self.calls.push(Call { index, id, name, custom, arguments: Vec::new() });
            }
            Event::ToolArgs { index, text } => {
                if let Some(call) = self.calls.iter_mut().rev().find(|call| call.index == index) {
                    json::escape(text, &mut call.arguments);
                }
            }
            Event::ToolEnd { .. } => {}
        }
    }

    fn write(&self, index: usize, options: Options, out: &mut Vec<u8>) {
        let Options { logprobs, token_ids: ids, shape, functions, .. } = options;
        out.extend_from_slice(b"{\"index\":");
        json::number(index as u64, out);
        out.extend_from_slice(b",\"message\":{\"role\":\"assistant\",\"content\":");
        if self.content.is_empty() && !self.calls.is_empty() && !shape.empty_content {
            out.extend_from_slice(b"null");
        } else {
            out.push(b'"');
            out.extend_from_slice(&self.content);
            out.push(b'"');
        }
        out.extend_from_slice(b",\"refusal\":null");
        if let (true, Some(call)) = (functions, self.calls.first()) {
            out.extend_from_slice(b",\"function_call\":{\"name\":");
            call.body("arguments", out);
        } else if !self.calls.is_empty() {
            out.extend_from_slice(b",\"tool_calls\":");
            for (at, call) in self.calls.iter().enumerate() {
                out.push(if at == 0 { b'[' } else { b',' });
                call.write(out);
            }
            out.push(b']');
        }
        let fields: &[&str] = match shape.reasoning {
            _ if self.reasoning.is_empty() => &[],
            ReasoningField::Both => &["reasoning_content", "reasoning"],
            ReasoningField::Reasoning => &["reasoning"],
            ReasoningField::ReasoningContent => &["reasoning_content"],
            ReasoningField::None => &[],
        };
        for field in fields {
            envelope::member(field, b"\"", out);
            out.extend_from_slice(&self.reasoning);
            out.push(b'"');
        }
        out.extend_from_slice(b"},\"logprobs\":");
        if logprobs {
            out.extend_from_slice(logprobs::CHAT_OPEN);
            out.extend_from_slice(&self.logprobs);
            out.extend_from_slice(logprobs::CHAT_CLOSE);
        } else {
            out.extend_from_slice(b"null");
        }
        out.push(b',');
        if self.finish.is_empty() {
            envelope::finish(None, None, shape.stop, out);
        } else {
            out.extend_from_slice(&self.finish);
        }
        if ids {
            token_ids::write(&self.ids, out);
        }
        out.push(b'}');
    }
}

impl Call {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"id\":");
        out.extend_from_slice(&self.id);
        if self.custom {
            out.extend_from_slice(b",\"type\":\"custom\",\"custom\":{\"name\":");
            self.body("input", out);
        } else {
            out.extend_from_slice(b",\"type\":\"function\",\"function\":{\"name\":");
            self.body("arguments", out);
        }
        out.push(b'}');
    }

    /// From the name on, `arguments` under this field.
    fn body(&self, field: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.name);
        envelope::member(field, b"\"", out);
        out.extend_from_slice(&self.arguments);
        out.extend_from_slice(b"\"}");
    }
}
