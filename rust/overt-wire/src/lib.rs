//! Frames: SSE and JSON of each protocol, written straight to bytes.

mod chat_json;
mod chat_stream;
mod chunk;
mod completion_json;
mod completion_stream;
mod envelope;
mod error;
mod json;
mod sse;

use overt_parse::Events;

pub use chunk::chunk;
pub use error::error_body;
pub use sse::KEEP_ALIVE;

/// What every frame of a response repeats.
#[derive(Debug, Clone)]
pub struct Head {
    /// `chatcmpl-…` or `cmpl-…`, unique a response.
    pub id: String,
    /// Unix seconds.
    pub created: u64,
    /// The served model's name.
    pub model: String,
    /// `system_fingerprint`; left out when empty.
    pub fingerprint: String,
}

/// Token counts of a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of all prompts (once each, whatever n is).
    pub prompt_tokens: u64,
    /// Tokens of all choices, the stop token included.
    pub completion_tokens: u64,
    /// Prompt tokens read from the prefix cache.
    pub cached_tokens: u64,
}

/// Why a choice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// End of turn or a stop string.
    Stop,
    /// `max_tokens` or the context was used up.
    Length,
    /// The choice made tool calls.
    ToolCalls,
}

/// The stop string or token id that ended a choice (`stop_reason`, vLLM's extension: null at end of turn).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// A stop string of the request.
    Text(String),
    /// A stop token id of the request.
    Token(u32),
}

/// An error in OpenAI's shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorBody {
    /// What was wrong, where, what is allowed, what to do.
    pub message: String,
    /// `invalid_request_error`, `server_error`, …
    pub kind: String,
    /// The field at fault by its path.
    pub param: Option<String>,
    /// A stable word for programs.
    pub code: Option<String>,
}

/// Which of the request's options change the frames.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// `stream_options.include_usage`: a usage frame before `[DONE]`, `usage: null` on all others.
    pub include_usage: bool,
}

/// The protocols whose frames can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completions,
}

/// Turns one response's events into bytes. Streamed writers write as they go, others write everything in `end`.
pub trait Writer: Send {
    /// The first token of `choice` is here: role frame.
    fn begin(&mut self, choice: u32, out: &mut Vec<u8>);
    /// What `choice` said.
    fn events(&mut self, choice: u32, events: &Events, out: &mut Vec<u8>);
    /// `choice` ended.
    fn finish(
        &mut self,
        choice: u32,
        finish: Finish,
        reason: Option<&StopReason>,
        out: &mut Vec<u8>,
    );
    /// All choices ended: usage and `[DONE]`, or the whole JSON body.
    fn end(&mut self, usage: &Usage, out: &mut Vec<u8>);
    /// An error after the headers: one error frame and `[DONE]`. Streams only; elsewhere the JSON error body.
    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>);
}

/// The writer of one response with `choices` choices (their numbers are `0..choices`; of others nothing
/// is written).
///
/// The caller says `begin`, then `events` any number of times, then `finish` once for each choice, in any
/// order among the choices, and last `end`; or `error` at any point, after which nothing more.
#[must_use]
pub fn writer(
    protocol: Protocol,
    stream: bool,
    head: Head,
    options: Options,
    choices: u32,
) -> Box<dyn Writer> {
    match (protocol, stream) {
        (Protocol::Chat, true) => Box::new(chat_stream::ChatStream::new(&head, options, choices)),
        (Protocol::Chat, false) => Box::new(chat_json::ChatJson::new(&head, choices)),
        (Protocol::Completions, true) => {
            Box::new(completion_stream::CompletionStream::new(&head, options, choices))
        }
        (Protocol::Completions, false) => {
            Box::new(completion_json::CompletionJson::new(&head, choices))
        }
    }
}
