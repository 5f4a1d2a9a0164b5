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
    /// 1 keeps all.
    pub typical_p: f32,
    /// Divides positive and multiplies negative logits of tokens of prompt and output; 1 changes nothing.
    pub repetition_penalty: f32,
    /// Taken from a token's logit for each time it was made.
    pub frequency_penalty: f32,
    /// Taken from a token's logit once it was made.
    pub presence_penalty: f32,
    /// Added to the logits of tokens; each token once.
    pub logit_bias: Vec<(u32, f32)>,
    /// The only tokens that may be made; none: all.
    pub allowed_token_ids: Option<Vec<u32>>,
    /// Token sequences that may not be made, none empty.
    pub bad_words: Vec<Vec<u32>>,
    /// Tokens before anything but `max_tokens` may end the choice.
    pub min_tokens: u32,
    /// The request's noise; choice i draws its own stream from it.
    pub seed: u64,
    /// Alternatives whose log probabilities are told beside each token's own; none: no log probabilities.
    pub logprobs: Option<u32>,
    /// The same for the tokens of the prompt.
    pub prompt_logprobs: Option<u32>,
    /// Search for the likeliest texts instead of drawing; `n` is the width.
    pub beam: Option<Beam>,
    /// Stop strings, none empty.
    pub stop: Vec<String>,
    /// Patterns that end a choice (see `overt_text::StopRegex`), numbered behind the strings.
    pub stop_regex: Vec<String>,
    /// Stop tokens beside the model's own.
    pub stop_token_ids: Vec<u32>,
    /// The model's end-of-turn tokens do not end a choice.
    pub ignore_eos: bool,
    /// Special tokens are no part of the text.
    pub skip_special_tokens: bool,
    /// A hidden special token ends any partial stop match: a parser acts on it at once.
    pub special_breaks_stop: bool,
    /// What the output must be; none: anything.
    pub grammar: Option<Box<overt_grammar::Source>>,
    /// Bounds the thinking; none: it may go on.
    pub thinking: Option<Box<ThinkingBudget>>,
    /// Lower runs sooner.
    pub priority: i32,
    /// Fair share: the API key.
    pub key: u64,
    /// Fair share inside the key.
    pub user: u64,
    /// Partition of the prefix cache.
    pub salt: u64,
}

impl Default for Params {
    /// Draws from all tokens, one token, with nothing set.
    fn default() -> Self {
        Self {
            max_tokens: 1,
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            min_p: 0.0,
            typical_p: 1.0,
            repetition_penalty: 1.0,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
            logit_bias: Vec::new(),
            allowed_token_ids: None,
            bad_words: Vec::new(),
            min_tokens: 0,
            seed: 0,
            logprobs: None,
            prompt_logprobs: None,
            beam: None,
            stop: Vec::new(),
            stop_regex: Vec::new(),
            stop_token_ids: Vec::new(),
            ignore_eos: false,
            skip_special_tokens: true,
            special_breaks_stop: false,
            grammar: None,
            thinking: None,
            priority: 0,
            key: 0,
            user: 0,
            salt: 0,
        }
    }
}

/// How long a choice may think, and how its thinking is closed in the model's own format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinkingBudget {
    /// Tokens of thinking before it is closed.
    pub tokens: u32,
    /// The prompt has opened it.
    pub open: bool,
    /// Texts that open it.
    pub opens: Vec<String>,
    /// Texts that close it.
    pub closes: Vec<String>,
    /// The tokens that are made when the budget is spent; not empty.
    pub closing: Vec<u32>,
}

/// Beam search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Beam {
    /// A text's score is its log probability divided by its length to this power.
    pub length_penalty: f32,
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
    /// The health probe: one token past the queue, in a row and a block of its own.
    pub probe: bool,
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
    /// Nothing more is wanted of one choice; needs no answer.
    End {
        /// The request; unknown ones are ignored.
        request: u64,
        /// The choice.
        choice: u32,
    },
}

/// Why a choice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Finish {
    /// The model's own end of turn; the token is not text.
    EndOfTurn,
    /// One of the request's `stop_token_ids`; the token is not text.
    StopToken(u32),
    /// One of the request's stop strings or, numbered behind them, patterns.
    StopText(u32),
    /// `max_tokens` or the context.
    Length,
    /// The grammar allows nothing more; the token is text.
    Complete,
}

/// How likely a token was where it stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Logprobs {
    /// Natural logarithm of its probability.
    pub logprob: f32,
    /// 1: the likeliest.
    pub rank: u32,
    /// The likeliest tokens there, the likeliest first.
    pub top: Vec<(u32, f32)>,
}

/// Log probabilities of a stretch of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptLogprobs {
    /// The request.
    pub request: u64,
    /// The prompt.
    pub prompt: u32,
    /// Place of the first token told of; nothing stands before token 0, so it has none.
    pub first: u32,
    /// One a token.
    pub tokens: Vec<Logprobs>,
}

/// One token of one choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The request.
    pub request: u64,
    /// The choice.
    pub choice: u32,
    /// The token.
    pub token: u32,
    /// Set on the choice's last token.
    pub finish: Option<Finish>,
    /// Where the request asked for it.
    pub logprobs: Option<Box<Logprobs>>,
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
    /// Its grammar cannot be used.
    Grammar {
        /// The field it came from.
        param: String,
        /// What is wrong.
        message: String,
    },
}

/// Why a request ended without finishing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The step it ran in raised.
    Step,
    /// Its logits were NaN or infinite.
    NotFinite,
    /// What it allows, bans and biases leaves no token to take.
    NothingAllowed,
    /// Its grammar could not be followed any further; the text says why.
    Grammar(String),
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Requests accepted into the queue.
    pub admitted: Vec<u64>,
    /// Requests that were not.
    pub refused: Vec<(u64, Refused)>,
    /// Choices whose first token is in `rows`.
    pub started: Vec<Started>,
    /// Prompts' log probabilities; all of a prompt's come before its first token or with it.
    pub prompt_logprobs: Vec<PromptLogprobs>,
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
