//! What the frames and bodies of all protocols share: head, usage, how a choice ended.

use crate::{Finish, Head, Options, StopReason, Usage, json, sse};

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

/// `"usage":{…}`.
pub(crate) fn usage(usage: &Usage, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\"usage\":{\"prompt_tokens\":");
    json::number(usage.prompt_tokens, out);
    out.extend_from_slice(b",\"completion_tokens\":");
    json::number(usage.completion_tokens, out);
    out.extend_from_slice(b",\"total_tokens\":");
    json::number(usage.prompt_tokens.saturating_add(usage.completion_tokens), out);
    out.extend_from_slice(b",\"prompt_tokens_details\":{\"cached_tokens\":");
    json::number(usage.cached_tokens, out);
    out.extend_from_slice(b"}}");
}

/// `"finish_reason":…,"stop_reason":…`.
pub(crate) fn finish(finish: &str, reason: Option<&StopReason>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\"finish_reason\":\"");
    out.extend_from_slice(finish.as_bytes());
    out.extend_from_slice(b"\",\"stop_reason\":");
    match reason {
        None => out.extend_from_slice(b"null"),
        Some(StopReason::Text(text)) => json::string(text, out),
        Some(StopReason::Token(id)) => json::number(u64::from(*id), out),
    }
}

/// How a choice ended; both null for one that never did.
pub(crate) fn finish_or_null(finish: &[u8], out: &mut Vec<u8>) {
    let unfinished: &[u8] = b"\"finish_reason\":null,\"stop_reason\":null";
    out.extend_from_slice(if finish.is_empty() { unfinished } else { finish });
}

/// Chat's word for an end.
pub(crate) fn chat_finish(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
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
    /// From `data: {` to the bracket that opens the choices.
    head: Vec<u8>,
    /// From the bracket that closes the choices to the blank line.
    tail: &'static [u8],
    include_usage: bool,
    choices: u32,
}

impl Envelope {
    pub(crate) fn new(head: &Head, object: &str, options: Options, choices: u32) -> Self {
        let mut bytes = sse::DATA.to_vec();
        self::head(head, object, &mut bytes);
        let tail: &[u8] = if options.include_usage { b"],\"usage\":null}\n\n" } else { b"]}\n\n" };
        Self { head: bytes, tail, include_usage: options.include_usage, choices }
    }

    /// A choice of this response.
    pub(crate) fn has(&self, choice: u32) -> bool {
        choice < self.choices
    }

    /// Opens a frame; the choice follows.
    pub(crate) fn open(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
    }

    /// Ends a frame after its choice.
    pub(crate) fn close(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.tail);
    }

    /// The usage frame if asked for, and `[DONE]`.
    pub(crate) fn end(&self, counts: &Usage, out: &mut Vec<u8>) {
        if self.include_usage {
            out.extend_from_slice(&self.head);
            out.extend_from_slice(b"],");
            usage(counts, out);
            out.extend_from_slice(b"}");
            out.extend_from_slice(sse::END);
        }
        out.extend_from_slice(sse::DONE);
    }
}
