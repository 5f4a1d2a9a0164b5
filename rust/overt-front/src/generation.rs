//! What a request asks of sampling, stopping and framing, after validation.

use std::hash::{BuildHasher, RandomState};

use overt_link::{Beam, Params};
use overt_wire::Shape;
use serde_json::{Map, Value};

use crate::form::Form;

/// What happens to `max_tokens` beyond what the prompt leaves of the context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Overflow {
    /// It is clamped, and the client is told.
    #[default]
    Clamp,
    /// It is clamped, but more than the whole context is an error.
    ClampWithin,
    /// It is an error.
    Refuse,
}

/// Which end of a prompt is cut away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Side {
    /// Its beginning.
    #[default]
    Left,
    /// Its end.
    Right,
}

/// The validated fields of a request that do not need its text. Ranges are the field table's business.
#[derive(Debug, Clone, PartialEq)]
pub struct Generation {
    /// Tokens a choice; none: the rest of the context; 0: the echo alone.
    pub max_tokens: Option<u32>,
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
    /// 1 changes nothing.
    pub repetition_penalty: f32,
    /// 0 changes nothing.
    pub presence_penalty: f32,
    /// 0 changes nothing.
    pub frequency_penalty: f32,
    /// Added to the logits of tokens; each token once.
    pub logit_bias: Vec<(u32, f32)>,
    /// The only tokens that may be made; none: all.
    pub allowed_token_ids: Option<Vec<u32>>,
    /// Words that may not be written.
    pub bad_words: Vec<String>,
    /// Tokens before anything but `max_tokens` may end a choice.
    pub min_tokens: u32,
    /// None: drawn anew for the request.
    pub seed: Option<u64>,
    /// Choices a prompt that the answer has.
    pub n: u32,
    /// Choices a prompt that are made; the likeliest `n` are answered.
    pub best_of: u32,
    /// Beam search of width `n` instead of drawing.
    pub beam: bool,
    /// Of beam search: a text's score is its log probability divided by its length to this power.
    pub length_penalty: f32,
    /// Alternatives told beside each token's own log probability; none: no log probabilities.
    pub logprobs: Option<u32>,
    /// The same for the prompt.
    pub prompt_logprobs: Option<u32>,
    /// The prompt stands before the answer.
    pub echo: bool,
    /// Tokens among log probabilities are spelt `token_id:N`.
    pub tokens_as_ids: bool,
    /// Stop strings.
    pub stop: Vec<String>,
    /// Patterns that end a choice.
    pub stop_regex: Vec<String>,
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
    /// The body has a field that asks for constrained output.
    pub constrained: bool,
    /// A choice is over once a call has ended.
    pub one_call: bool,
    /// Calls are answered in OpenAI's older `function_call`.
    pub functions: bool,
    /// Reasoning stays in the answer's text.
    pub merges_reasoning: bool,
    /// Reasoning is told in one piece.
    pub gathers_reasoning: bool,
    /// Tokens of thinking before it is closed.
    pub thinking_budget: Option<u32>,
    /// Whether the template opens the assistant's turn.
    pub add_generation_prompt: bool,
    /// Whether the last message is left open, to be continued.
    pub continue_final_message: bool,
    /// A last message of the assistant is rendered as the user's.
    pub assistant_to_user: bool,
    /// Variables of the chat template that fields and the operator give.
    pub template_variables: Map<String, Value>,
    /// Whether the tokenizer adds its own special tokens; none: to prompts it does, to chats it does not.
    pub add_special_tokens: Option<bool>,
    /// What stands behind the gap that the answer fills.
    pub suffix: Option<String>,
    /// Cuts prompts to this many tokens; an inner none: to what the context leaves beside `max_tokens`.
    pub truncate_prompt_tokens: Option<Option<u32>>,
    /// Which end is cut.
    pub truncation_side: Side,
    /// What happens where `max_tokens` does not fit.
    pub overflow: Overflow,
    /// The field that gave `max_tokens`, for messages.
    pub max_tokens_field: String,
    /// The client sent it: a default that does not fit is nobody's business.
    pub max_tokens_sent: bool,
    /// Served as sent or not at all: what of the request is known not to be honoured already, a clause each.
    pub strict: Option<Vec<String>>,
    /// The response's id; none: one is made.
    pub id: Option<String>,
    /// `system_fingerprint`; none: the model's own.
    pub fingerprint: Option<String>,
    /// JSON members of the whole answer, without braces.
    pub extra: String,
    /// The answer tells what became of its fields.
    pub report: Option<Report>,
    /// One choice is made for each prompt and answered `n` times.
    pub copies: bool,
    /// Log probabilities and token ids tell of the token that ended a choice, too.
    pub tell_ends: bool,
    /// Ids of tokens with the answer.
    pub token_ids: bool,
    /// The answer tells the text of a chat's prompt.
    pub prompt_text: bool,
    /// Token counts on every chunk.
    pub continuous_usage: bool,
    /// Padding on every chunk.
    pub obfuscation: bool,
    /// How the answer is shaped.
    pub shape: Shape,
}

/// What an answer tells of its request's fields, as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Objects, commas between them.
    pub effects: String,
    /// Members beside `effects`, without braces; may be empty.
    pub more: String,
}

impl Default for Generation {
    /// One greedy choice in one piece, with nothing set.
    fn default() -> Self {
        Self {
            max_tokens: None,
            temperature: 0.0,
            top_p: 1.0,
            top_k: 0,
            min_p: 0.0,
            typical_p: 1.0,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            logit_bias: Vec::new(),
            allowed_token_ids: None,
            bad_words: Vec::new(),
            min_tokens: 0,
            seed: None,
            n: 1,
            best_of: 1,
            beam: false,
            length_penalty: 1.0,
            logprobs: None,
            prompt_logprobs: None,
            echo: false,
            tokens_as_ids: false,
            stop: Vec::new(),
            stop_regex: Vec::new(),
            stop_token_ids: Vec::new(),
            ignore_eos: false,
            skip_special_tokens: true,
            include_stop: false,
            stream: false,
            include_usage: false,
            priority: 0,
            user: None,
            key: None,
            cache_salt: None,
            model: String::new(),
            constrained: false,
            one_call: false,
            functions: false,
            merges_reasoning: false,
            gathers_reasoning: false,
            thinking_budget: None,
            add_generation_prompt: true,
            continue_final_message: false,
            assistant_to_user: false,
            template_variables: Map::new(),
            add_special_tokens: None,
            suffix: None,
            truncate_prompt_tokens: None,
            truncation_side: Side::Left,
            overflow: Overflow::Clamp,
            max_tokens_field: "max_tokens".into(),
            max_tokens_sent: true,
            strict: None,
            id: None,
            fingerprint: None,
            extra: String::new(),
            report: None,
            copies: false,
            tell_ends: false,
            token_ids: false,
            prompt_text: false,
            continuous_usage: false,
            obfuscation: false,
            shape: Shape::default(),
        }
    }
}

impl Generation {
    /// Alternatives wanted at each prompt token, for `prompt_logprobs` or an echo with log probabilities.
    pub(crate) fn prompt_alternatives(&self) -> Option<u32> {
        let echoed = self.logprobs.filter(|_| self.echo);
        self.prompt_logprobs.max(echoed)
    }

    /// `max_tokens`, where the client sent it.
    pub(crate) fn sent_max_tokens(&self) -> Option<u32> {
        self.max_tokens.filter(|_| self.max_tokens_sent)
    }

    /// Choices a prompt that are made.
    pub(crate) fn made(&self) -> u32 {
        if self.copies { 1 } else { self.best_of.max(self.n).max(1) }
    }

    /// Choices a prompt that the answer tells of while they are made.
    pub(crate) fn told(&self) -> u32 {
        if self.copies { self.n.max(1) } else { self.made() }
    }

    /// Whether more choices are made than answered.
    pub(crate) fn picks(&self) -> bool {
        self.best_of > self.n
    }

    pub(crate) fn params(
        &self,
        max_tokens: u32,
        bad_words: Vec<Vec<u32>>,
        form: &Form,
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
            typical_p: self.typical_p,
            repetition_penalty: self.repetition_penalty,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            logit_bias: self.logit_bias.clone(),
            allowed_token_ids: self.allowed_token_ids.clone(),
            bad_words,
            min_tokens: self.min_tokens,
            seed: self.seed.unwrap_or_else(|| fastrand::u64(..)),
            logprobs: self.logprobs.or(self.picks().then_some(0)),
            prompt_logprobs: self.prompt_alternatives(),
            beam: self.beam.then_some(Beam { length_penalty: self.length_penalty }),
            stop: self.stop.clone(),
            stop_regex: self.stop_regex.clone(),
            stop_token_ids: self.stop_token_ids.clone(),
            ignore_eos: self.ignore_eos,
            skip_special_tokens: self.skip_special_tokens,
            special_breaks_stop: parser_reads_specials,
            grammar: form.grammar.clone(),
            thinking: form.thinking.clone(),
            priority: self.priority,
            key: share(&self.key),
            user: share(&self.user),
            salt: share(&self.cache_salt),
        }
    }
}
