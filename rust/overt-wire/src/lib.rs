//! Frames: SSE and JSON of each protocol, written straight to bytes.
//!
//! A [`Writer`] turns the events of one response into its frames or its one body, with the log
//! probabilities of the tokens that made them and of the prompt's where the request asked for them.

mod chat_json;
mod chat_stream;
mod chunk;
mod completion_json;
mod completion_stream;
mod envelope;
mod error;
mod json;
mod logprobs;
mod prompt_logprobs;
mod shape;
mod sse;
mod token_ids;

use overt_parse::Events;

pub use chunk::chunk;
pub use error::error_body;
pub use logprobs::{TokenLogprobs, TokenText};
pub use prompt_logprobs::{PromptEntry, PromptToken};
pub use shape::{ErrorShape, ReasoningField, Shape, StopField};
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
    /// More members of the whole answer as JSON (`"a":1,"b":{}`, no outer braces), in its body or in its stream's
    /// first frame; may be empty. They are written as they are, and so must be valid and name no other member.
    pub extra: String,
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
    /// Tokens of the answer that were reasoning; none where the model's reasoning is not told apart.
    pub reasoning_tokens: Option<u64>,
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

/// The stop string, pattern or token id that ended a choice, in the [`StopField`] (an extension of vLLM and SGLang:
/// null at end of turn).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// A stop string or pattern of the request, as the request has it.
    Text(String),
    /// A stop token id of the request.
    Token(u32),
}

/// An error, as OpenAI names it; [`ErrorShape`] says what of it is written.
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
    /// The HTTP status that goes, or would go, with it.
    pub status: u16,
}

/// Which of the request's options change the frames.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// `stream_options.include_usage`: a usage frame before `[DONE]`, `usage: null` on all others unless
    /// `continuous_usage` fills it.
    pub include_usage: bool,
    /// The request asked for log probabilities; else `logprobs` is null everywhere, whatever is passed.
    pub logprobs: bool,
    /// Tokens among log probabilities are spelt `token_id:N` (`return_tokens_as_token_ids`, vLLM's extension).
    pub tokens_as_ids: bool,
    /// Every frame with a choice carries the counts so far, with or without `include_usage`
    /// (`stream_options.continuous_usage_stats`, vLLM's extension).
    pub continuous_usage: bool,
    /// The ids of the prompt's and the answer's tokens are written (`return_token_ids`, vLLM's extension).
    pub token_ids: bool,
    /// `stream_options.include_obfuscation`: random padding at the end of every frame with a choice, which makes
    /// the frame's length a multiple of 64 bytes, so that it tells next to nothing of how much the frame says.
    pub obfuscation: bool,
    /// Calls stand in `function_call`, as clients of OpenAI's older `functions` read them. Such an answer has one
    /// call at most.
    pub functions: bool,
    /// The server whose clients are answered.
    pub shape: Shape,
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
    /// The ids of prompt number `prompt`, before the first `begin`. Written with [`Options::token_ids`] only, as
    /// `prompt_token_ids`: of a chat's body and its stream's first frame; of every completion choice that continues
    /// the prompt, in a stream on the choice's first frame.
    fn prompt_tokens(&mut self, _prompt: u32, _ids: &[u32]) {}
    /// The text of a chat's prompt, after its ids and before the first `begin`: `prompt_text` of the body, or of the
    /// stream's first frame.
    fn prompt_text(&mut self, _text: &str) {}
    /// The names of custom tools: their calls are written with `custom` and `input` in place of `function` and
    /// `arguments`.
    fn custom_tools(&mut self, _names: &[String]) {}
    /// The ids of the tokens that `choice` made since the last call. Written with [`Options::token_ids`] only, as
    /// `token_ids` of the choice: in a stream on its next frame from `events` or `finish`, and frames without new
    /// ids have no such field; in a body all together.
    fn tokens(&mut self, _choice: u32, _ids: &[u32]) {}
    /// The counts so far, which frames carry from now on ([`Options::continuous_usage`], streams only).
    fn usage(&mut self, _usage: &Usage) {}
    /// The first token of `choice` is here: role frame.
    fn begin(&mut self, choice: u32, out: &mut Vec<u8>);
    /// What `choice` said. `logprobs`: those of the tokens whose text `events` releases; in a stream they
    /// stand in the first frame written here, an empty one where there would be none.
    fn events(
        &mut self,
        choice: u32,
        events: &Events,
        logprobs: &[TokenLogprobs],
        out: &mut Vec<u8>,
    );
    /// `choice` ended.
    fn finish(
        &mut self,
        choice: u32,
        finish: Finish,
        reason: Option<&StopReason>,
        out: &mut Vec<u8>,
    );
    /// The log probabilities of prompt number `prompt`, before `end`. Bodies only: `prompt_logprobs` of the
    /// response (chat) or of every choice that continues the prompt. Streams have no place for them.
    fn prompt_logprobs(&mut self, _prompt: u32, _tokens: &[PromptToken], _out: &mut Vec<u8>) {}
    /// Only these choices are written by `end`, in this order, numbered from 0 (`best_of`). Bodies only: a
    /// stream has sent its choices by then.
    fn select(&mut self, _order: &[u32]) {}
    /// All choices ended: usage and `[DONE]`, or the whole JSON body.
    fn end(&mut self, usage: &Usage, out: &mut Vec<u8>);
    /// An error after the headers: one error frame and `[DONE]`. Streams only; elsewhere the JSON error body.
    fn error(&mut self, error: &ErrorBody, out: &mut Vec<u8>);
}

/// The writer of one response with `choices` choices (their numbers are `0..choices`; of others nothing
/// is written), `per_prompt` of them for each prompt: choice `c` continues prompt `c / per_prompt`.
///
/// The caller says `begin`, then `events` any number of times, then `finish` once for each choice, in any
/// order among the choices, and last `end`; or `error` at any point, after which nothing more. Ids and counts
/// (`tokens`, `usage`) come before the call that writes what they belong to.
#[must_use]
pub fn writer(
    protocol: Protocol,
    stream: bool,
    head: Head,
    options: Options,
    choices: u32,
    per_prompt: u32,
) -> Box<dyn Writer> {
    match (protocol, stream) {
        (Protocol::Chat, true) => Box::new(chat_stream::ChatStream::new(&head, options, choices)),
        (Protocol::Chat, false) => Box::new(chat_json::ChatJson::new(&head, options, choices)),
        (Protocol::Completions, true) => {
            Box::new(completion_stream::CompletionStream::new(&head, options, choices, per_prompt))
        }
        (Protocol::Completions, false) => {
            Box::new(completion_json::CompletionJson::new(&head, options, choices, per_prompt))
        }
    }
}
