//! What the frames and bodies of all protocols share: head, usage, how a choice ended.

use overt_parse::{Event, Events};

use crate::{
    Finish, Head, Options, ReasoningField, Shape, StopField, StopReason, Usage, json, sse,
    token_ids,
};

/// `"id":…,"object":…,"created":…,"model":…,"choices":[` after an opening brace.
pub(crate) fn head(head: &Head, object: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"id\":");
    json::string(&head.id, out);
    out.extend_from_slice(b",\"object\":");
    json::string(object, out);
    out.extend_from_slice(b",\"created\":");
    json::number(head.created, out);
    out.extend_from_slice(b",\"model\":");
    json::string(&head.model, out);
    if !head.fingerprint.is_empty() {
        out.extend_from_slice(b",\"system_fingerprint\":");
        json::string(&head.fingerprint, out);
    }
    out.extend_from_slice(b",\"choices\":[");
}

/// The head's further members, a comma before them.
pub(crate) fn extra(head: &Head, out: &mut Vec<u8>) {
    if !head.extra.is_empty() {
        out.push(b',');
        out.extend_from_slice(head.extra.as_bytes());
    }
}

/// `,"prompt_text":"…"`
pub(crate) fn prompt_text(text: &str, out: &mut Vec<u8>) {
    let mut written = Vec::with_capacity(text.len() + 2);
    json::string(text, &mut written);
    member("prompt_text", &written, out);
}

/// `,"name":json`.
pub(crate) fn member(name: &str, json: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    out.extend_from_slice(json);
}

/// `"usage":{…}`.
pub(crate) fn usage(usage: &Usage, shape: Shape, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\"usage\":{\"prompt_tokens\":");
    json::number(usage.prompt_tokens, out);
    out.extend_from_slice(b",\"completion_tokens\":");
    json::number(usage.completion_tokens, out);
    out.extend_from_slice(b",\"total_tokens\":");
    json::number(usage.prompt_tokens.saturating_add(usage.completion_tokens), out);
    if shape.cached_tokens {
        out.extend_from_slice(b",\"prompt_tokens_details\":{\"cached_tokens\":");
        json::number(usage.cached_tokens, out);
        out.push(b'}');
    }
    if let Some(tokens) = usage.reasoning_tokens {
        out.extend_from_slice(b",\"completion_tokens_details\":{\"reasoning_tokens\":");
        json::number(tokens, out);
        out.push(b'}');
    }
    out.push(b'}');
}

/// `"finish_reason":…` and the stop field; both null for a choice that never ended.
pub(crate) fn finish(
    finish: Option<&str>,
    reason: Option<&StopReason>,
    stop: StopField,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"\"finish_reason\":");
    json::optional(finish, out);
    out.extend_from_slice(match stop {
        StopField::StopReason => b",\"stop_reason\":",
        StopField::MatchedStop => b",\"matched_stop\":",
        StopField::None => return,
    });
    match reason {
        None => out.extend_from_slice(b"null"),
        Some(StopReason::Text(text)) => json::string(text, out),
        Some(StopReason::Token(id)) => json::number(u64::from(*id), out),
    }
}

/// What clients get of a chat's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// Text of some field.
    Something,
    /// Nothing was said.
    Nothing,
    /// Reasoning alone, which this shape does not deliver.
    Hidden,
}

pub(crate) fn said(events: &Events, shape: Shape) -> Said {
    let mut said = Said::Nothing;
    for event in events.iter() {
        match event {
            Event::ToolEnd { .. } => {}
            Event::Reasoning(_) if shape.reasoning == ReasoningField::None => said = Said::Hidden,
            _ => return Said::Something,
        }
    }
    said
}

/// The choices that a body writes, each with its number in the response: all, or those of `order`.
pub(crate) fn chosen<'a, T>(
    choices: &'a [T],
    order: Option<&'a [u32]>,
) -> impl Iterator<Item = (usize, &'a T)> {
    let count = order.map_or(choices.len(), <[u32]>::len);
    (0..count).filter_map(move |at| {
        let choice = order.map_or(at, |order| order[at] as usize);
        Some((choice, choices.get(choice)?))
    })
}

/// Chat's word for an end; `functions`: as clients of the older `functions` read it.
pub(crate) fn chat_finish(finish: Finish, functions: bool) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::ToolCalls if functions => "function_call",
        Finish::ToolCalls => "tool_calls",
    }
}

/// Completions' word for an end: there are no tool calls, their end is a stop.
pub(crate) fn completion_finish(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop | Finish::ToolCalls => "stop",
        Finish::Length => "length",
    }
}

/// The bytes around the one choice of a stream's frame.
pub(crate) struct Envelope {
    pub(crate) options: Options,
    /// From `data: {` to the bracket that opens the choices.
    head: Vec<u8>,
    choices: u32,
    /// The counts so far.
    counts: Usage,
    /// What the first frame has more than the others, a comma before each member; empty from then on.
    extra: Vec<u8>,
    prompt_ids: Vec<u8>,
    /// Where in the output the open frame begins.
    start: usize,
}

/// With padding the length of a frame is a multiple of this.
const BLOCK: usize = 64;

impl Envelope {
    pub(crate) fn new(head: &Head, object: &str, options: Options, choices: u32) -> Self {
        let mut bytes = sse::DATA.to_vec();
        self::head(head, object, &mut bytes);
        let mut members = Vec::new();
        extra(head, &mut members);
        Self {
            options,
            head: bytes,
            choices,
            counts: Usage::default(),
            extra: members,
            prompt_ids: Vec::new(),
            start: 0,
        }
    }

    /// A choice of this response.
    pub(crate) fn has(&self, choice: u32) -> bool {
        choice < self.choices
    }

    /// From now on frames carry these counts, if any.
    pub(crate) fn count(&mut self, counts: &Usage) {
        self.counts = *counts;
    }

    /// The ids of a chat's prompt, for the first frame.
    pub(crate) fn prompt_tokens(&mut self, ids: &[u32]) {
        self.prompt_ids.clear();
        member("prompt_token_ids", &token_ids::array(ids), &mut self.prompt_ids);
    }

    /// The text of a chat's prompt, for the first frame.
    pub(crate) fn prompt_text(&mut self, text: &str) {
        prompt_text(text, &mut self.prompt_ids);
    }

    /// Opens a frame; the inside of the choice follows.
    pub(crate) fn open(&mut self, out: &mut Vec<u8>) {
        self.start = out.len();
        out.extend_from_slice(&self.head);
        out.push(b'{');
    }

    /// Ends a frame after the inside of its choice.
    pub(crate) fn close(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"}]");
        if self.options.continuous_usage {
            out.push(b',');
            usage(&self.counts, self.options.shape, out);
        } else if self.options.include_usage {
            out.extend_from_slice(b",\"usage\":null");
        }
        self.first(out);
        if self.options.obfuscation {
            out.extend_from_slice(b",\"obfuscation\":\"");
            // The quote, the brace and what ends the frame are still to come.
            let length = out.len() - self.start + 2 + sse::END.len();
            let padding = BLOCK - length % BLOCK;
            // All of these are ASCII.
            out.extend((0..padding).map(|_| fastrand::alphanumeric() as u8));
            out.push(b'"');
        }
        out.push(b'}');
        out.extend_from_slice(sse::END);
    }

    fn first(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.extra);
        out.append(&mut self.prompt_ids);
    }

    /// The usage frame if asked for, and `[DONE]`.
    pub(crate) fn end(&mut self, counts: &Usage, out: &mut Vec<u8>) {
        if self.options.include_usage {
            out.extend_from_slice(&self.head);
            out.extend_from_slice(b"],");
            usage(counts, self.options.shape, out);
            self.first(out);
            out.push(b'}');
            out.extend_from_slice(sse::END);
        }
        out.extend_from_slice(sse::DONE);
    }
}
