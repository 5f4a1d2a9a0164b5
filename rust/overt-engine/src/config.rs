//! What the engine is told at its start, and why it cannot go on.

use overt_link::LinkError;
use serde::Deserialize;

/// The engine's limits; the process that loads the model decides them.
#[derive(Debug, Clone, Deserialize)]
pub struct Config {
    /// Tokens a KV block.
    pub block_size: u32,
    /// Blocks of the pool, block 0 included, which only padding rows write.
    pub num_blocks: u32,
    /// Sequences that may run at once.
    pub max_num_seqs: u32,
    /// Tokens a step.
    pub max_num_batched_tokens: u32,
    /// Tokens of a sequence, prompt and output.
    pub max_model_len: u32,
    /// Sequences that may wait; 0 is no bound.
    pub max_queued: u32,
    /// Whether prompts are looked up in the prefix cache.
    pub prefix_cache: bool,
    /// Whether a step is scheduled while the one before it runs.
    pub overlap: bool,
    /// Seeds the prefix cache's hash, secret from clients.
    pub hash_seed: u64,
    /// A request that waited longer goes first.
    pub starvation_us: u64,
    /// Tokens that end a choice.
    pub eos_token_ids: Vec<u32>,
}

/// Why the engine cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The API process is gone.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The caller's arena is smaller than the layout.
    #[error("the step arena has {given} words; the layout needs {needed}")]
    Arena {
        /// Words given.
        given: usize,
        /// Words needed.
        needed: usize,
    },
    /// The caller names a plan that is not running, or gives it too few tokens.
    #[error("plan {plan} {problem}")]
    Plan {
        /// The plan.
        plan: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
}
