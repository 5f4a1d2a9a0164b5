//! What a request asks of sampling, stopping and framing, after validation.

use std::hash::{BuildHasher, RandomState};

use overt_link::Params;

/// The validated fields of a request that do not need its text. Ranges are the field table's business.
#[derive(Debug, Clone, PartialEq)]
pub struct Generation {
    /// Tokens a choice; none: the rest of the context.
    pub max_tokens: Option<u32>,
    /// 0 is greedy.
    pub temperature: f32,
    /// 1 keeps all.
    pub top_p: f32,
    /// 0 keeps all.
    pub top_k: u32,
    /// 0 keeps all.
    pub min_p: f32,
    /// None: drawn anew for the request.
    pub seed: Option<u64>,
    /// Choices a prompt.
    pub n: u32,
    /// Stop strings.
    pub stop: Vec<String>,
    /// Stop tokens beside the model's own.
    pub stop_token_ids: Vec<u32>,
    /// The model's end-of-turn tokens do not end a choice.
    pub ignore_eos: bool,
    /// Special tokens are no part of the text.
    pub skip_special_tokens: bool,
    /// The stop string stays at the end of the text.
    pub include_stop: bool,
    /// Server-sent events instead of one JSON body.
    pub stream: bool,
    /// A usage frame.
    pub include_usage: bool,
    /// Lower runs sooner.
    pub priority: i32,
    /// Fair share inside the API key.
    pub user: Option<String>,
    /// The API key.
    pub key: Option<String>,
    /// Partition of the prefix cache.
    pub cache_salt: Option<String>,
    /// The served name to answer with.
    pub model: String,
    /// Whether tool calls are looked for in the output.
    pub tools: bool,
    /// Whether the template opens the assistant's turn.
    pub add_generation_prompt: bool,
    /// Whether the last message is left open, to be continued.
    pub continue_final_message: bool,
}

impl Generation {
    pub(crate) fn params(
        &self,
        max_tokens: u32,
        parser_reads_specials: bool,
        hasher: &RandomState,
    ) -> Params {
        let share = |name: &Option<String>| name.as_ref().map_or(0, |name| hasher.hash_one(name));
        Params {
            max_tokens,
            temperature: self.temperature,
            top_p: self.top_p,
            top_k: self.top_k,
            min_p: self.min_p,
            seed: self.seed.unwrap_or_else(|| fastrand::u64(..)),
            stop: self.stop.clone(),
            stop_token_ids: self.stop_token_ids.clone(),
            ignore_eos: self.ignore_eos,
            skip_special_tokens: self.skip_special_tokens,
            special_breaks_stop: parser_reads_specials,
            priority: self.priority,
            key: share(&self.key),
            user: share(&self.user),
            salt: share(&self.cache_salt),
        }
    }
}
