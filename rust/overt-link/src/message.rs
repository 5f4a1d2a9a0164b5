//! What is said over the link. Requests are named by the API process; choices count from 0 within one.

use serde::{Deserialize, Serialize};

/// Sampling and stopping of one request, with every default already filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Tokens to make a choice, at least 1, clamped to the context.
    pub max_tokens: u32,
    /// 0 is greedy.
    pub temperature: f32,
    /// 1 keeps all.
    pub top_p: f32,
    /// 0 keeps all.
    pub top_k: u32,
    /// 0 keeps all.
    pub min_p: f32,
    /// The request's noise; choice i draws its own stream from it.
    pub seed: u64,
    /// Stop strings, none empty.
    pub stop: Vec<String>,
    /// Stop tokens beside the model's own.
    pub stop_token_ids: Vec<u32>,
    /// The model's end-of-turn tokens do not end a choice.
    pub ignore_eos: bool,
    /// Special tokens are no part of the text.
    pub skip_special_tokens: bool,
    /// A hidden special token ends any partial stop match: a parser acts on it at once.
    pub special_breaks_stop: bool,
    /// Lower runs sooner.
    pub priority: i32,
    /// Fair share: the API key.
    pub key: u64,
    /// Fair share inside the key.
    pub user: u64,
    /// Partition of the prefix cache.
    pub salt: u64,
}

/// A request: `prompts.len() × n` choices, choice `p × n + j` being the j-th of prompt p.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submit {
    /// Unique among live requests.
    pub request: u64,
    /// Token ids, none empty.
    pub prompts: Vec<Vec<u32>>,
    /// Choices a prompt, at least 1.
    pub n: u32,
    /// How to sample and when to stop.
    pub params: Params,
}

/// From the API process to the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToEngine {
    /// A new request; answered in the next batch by `admitted` or `refused`.
    Submit(Box<Submit>),
    /// The client left, or nothing more is wanted; needs no answer.
    Abort {
        /// Unknown requests are ignored: they may just have ended.
        request: u64,
    },
    /// The reader lags: keep the place, make no more tokens until told.
    Hold {
        /// The request.
        request: u64,
        /// Whether to hold or to go on.
        on: bool,
    },
}

/// Why a choice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Finish {
    /// The model's own end of turn; the token is not text.
    EndOfTurn,
    /// One of the request's `stop_token_ids`; the token is not text.
    StopToken(u32),
    /// One of the request's stop strings, by its index.
    StopText(u32),
    /// `max_tokens` or the context.
    Length,
}

/// One token of one choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The request.
    pub request: u64,
    /// The choice.
    pub choice: u32,
    /// The token.
    pub token: u32,
    /// Set on the choice's last token.
    pub finish: Option<Finish>,
}

/// A choice's prefill is done; sent with its first token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The request.
    pub request: u64,
    /// The choice.
    pub choice: u32,
    /// Prompt tokens read from the prefix cache.
    pub cached_tokens: u32,
}

/// Why a request was not admitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refused {
    /// The waiting queue is full.
    QueueFull {
        /// `--max-num-queued-reqs`.
        limit: u32,
    },
    /// The request can never run here; the text says why.
    Never(String),
}

/// Why a request ended without finishing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The step it ran in raised.
    Step,
    /// Its logits were NaN or infinite.
    NotFinite,
}

/// The engine's state after a step; counters only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gauges {
    /// Sequences that hold a slot.
    pub running: u64,
    /// Sequences that wait.
    pub waiting: u64,
    /// Blocks held by live sequences.
    pub blocks_used: u64,
    /// Blocks kept for their prefix, free to take.
    pub blocks_cached: u64,
    /// Blocks in all.
    pub blocks_total: u64,
    /// Preemptions.
    pub preemptions: u64,
    /// Prompt tokens looked up in the prefix cache.
    pub prefix_queries: u64,
    /// Of these, found.
    pub prefix_hits: u64,
    /// Steps that raised.
    pub step_failures: u64,
    /// Steps completed.
    pub steps: u64,
}

/// What one step brought, or what changed while idle.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Requests accepted into the queue.
    pub admitted: Vec<u64>,
    /// Requests that were not.
    pub refused: Vec<(u64, Refused)>,
    /// Choices whose first token is in `rows`.
    pub started: Vec<Started>,
    /// New tokens.
    pub rows: Vec<Row>,
    /// Requests that ended with an error.
    pub failed: Vec<(u64, Failure)>,
    /// The engine's state now.
    pub gauges: Gauges,
}

/// From the engine to the API process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToFront {
    /// The model is ready.
    Hello {
        /// JSON: the model, its limits and its text settings.
        meta: Vec<u8>,
        /// The tokenizer's `tokenizer.json`.
        tokenizer_json: Vec<u8>,
    },
    /// The model cannot be served; the text says why and what to do.
    CannotStart(String),
    /// A step, or news while idle.
    Batch(Box<Batch>),
}
