//! What goes into a scheduler: its limits, a new sequence, the reasons to refuse one; and its gauges.

use std::sync::Arc;

/// Names a sequence; the caller never uses one twice.
pub type SeqId = u64;

/// The scheduler's limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Tokens a KV block (at least 1).
    pub block_size: u32,
    /// KV blocks in all. Block 0 is a dummy that padding rows write and the last block is the health probe's;
    /// sequences share the others.
    pub num_blocks: u32,
    /// Sequences that may run at once (at least 1). The probe runs beside them, in slot `max_num_seqs`.
    pub max_num_seqs: u32,
    /// Tokens a step (at least 1). A running probe may add one.
    pub max_num_batched_tokens: u32,
    /// Tokens of a sequence, prompt and output.
    pub max_model_len: u32,
    /// Sequences that may wait beyond those for which a slot is free; 0 is no bound.
    pub max_queued: u32,
    /// Keys the prefix cache's hash; keep it from clients.
    pub hash_seed: u64,
    /// A sequence that waited longer than this goes before all others, the oldest first.
    pub starvation_us: u64,
    /// Whether computed blocks are kept for prompts that begin alike.
    pub prefix_cache: bool,
    /// Plans that may be out at once: 1, or 2 to schedule a step while the one before it runs.
    pub max_outstanding: u32,
}

/// A sequence to add.
#[derive(Debug, Clone)]
pub struct NewSeq {
    /// Its name.
    pub id: SeqId,
    /// The prompt's tokens; at least one.
    pub prompt: Arc<[u32]>,
    /// Tokens it may produce; 0 counts as 1.
    pub max_tokens: u32,
    /// Lower runs sooner.
    pub priority: i32,
    /// The API key that it is charged to.
    pub key: u64,
    /// The user inside the key.
    pub user: u64,
    /// The prefix cache's partition: only sequences of one salt share blocks.
    pub salt: u64,
    /// Whether its prompt is looked up in the prefix cache.
    pub read_prefix: bool,
    /// Whether it belongs to a request that has its room in the queue already.
    pub has_room: bool,
    /// Whether it is the health probe, which runs in a slot and a block of its own, past the queue.
    pub probe: bool,
}

/// Why a sequence is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Too many sequences wait.
    #[error("the waiting queue is full (its limit is {limit} sequences); try again later")]
    QueueFull {
        /// Sequences that may wait.
        limit: u32,
    },
    /// The prompt has no token.
    #[error("the prompt has no tokens; at least 1 is needed")]
    EmptyPrompt,
    /// The prompt leaves no room for an output token.
    #[error(
        "the prompt has {prompt_tokens} tokens, which leaves no room for an answer within the model's context of \
         {max_model_len} tokens; shorten the prompt"
    )]
    TooLong {
        /// The prompt's tokens.
        prompt_tokens: u32,
        /// The model's context.
        max_model_len: u32,
    },
    /// The sequence would not fit into the KV cache even if it ran alone.
    #[error(
        "the request may need {blocks_needed} KV cache blocks and there are {blocks_total}; shorten the prompt or \
         lower the output limit"
    )]
    NeverFits {
        /// Blocks for the prompt and all tokens it may produce.
        blocks_needed: u32,
        /// Blocks that it could have.
        blocks_total: u32,
    },
    /// A sequence of that name is live.
    #[error("sequence {id} is already scheduled; every sequence needs an id of its own")]
    DuplicateId {
        /// The name.
        id: SeqId,
    },
}

/// Gauges and cumulative counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sequences that have a slot.
    pub running: u32,
    /// Live sequences without one: queued, held, or preempted.
    pub waiting: u32,
    /// Blocks that sequences can use: without the dummy and the probe's.
    pub blocks_total: u32,
    /// Of these, held by live sequences; a shared block counts once.
    pub blocks_used: u32,
    /// Of these, held by nobody but kept for prompts that begin alike.
    pub blocks_cached: u32,
    /// Times a running sequence lost its blocks to another.
    pub preemptions: u64,
    /// Prompt tokens looked up in the prefix cache, counted at a sequence's first admission.
    pub prefix_queries_tokens: u64,
    /// Of these, found.
    pub prefix_hit_tokens: u64,
}
