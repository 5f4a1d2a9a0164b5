//! The served model as text knows it: tokenizer, template, parser, limits. Told by the engine's hello.

use overt_text::{EncodeCache, SpecialTokens, Tokenizer};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::fim::Fim;
use crate::reading::Formats;
use crate::templates::{NamedSource, Templates};

/// The part of the hello that text needs; the rest is for the routes.
#[derive(Debug, Deserialize)]
struct Meta {
    model: Limits,
    #[serde(default)]
    chat_templates: Vec<NamedSource>,
    #[serde(default)]
    special_tokens: Map<String, Value>,
    #[serde(default)]
    response_template: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Limits {
    max_model_len: u32,
    vocab_size: u32,
    #[serde(default)]
    fingerprint: String,
    #[serde(default)]
    prompt_format: Option<String>,
}

/// How the operator wants text to be read.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// The format of tool calls: `auto`, `none` or a format's name.
    pub tool_call_parser: String,
    /// The format of reasoning: `auto`, `none` or a format's name.
    pub reasoning_parser: String,
    /// `none`: outputs are not held to grammars.
    pub grammar_backend: String,
    /// Special tokens that a client's text spells are plain text.
    pub escape_special_tokens: bool,
    /// Bytes of texts whose tokens are remembered.
    pub encode_cache_bytes: u64,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            tool_call_parser: "auto".to_owned(),
            reasoning_parser: "auto".to_owned(),
            grammar_backend: "auto".to_owned(),
            escape_special_tokens: false,
            encode_cache_bytes: 64 << 20,
        }
    }
}

/// Everything needed to turn a request into tokens and tokens into text.
pub struct ServedModel {
    /// The tokenizer.
    pub tokenizer: Tokenizer,
    /// Texts whose tokens are known: a conversation's earlier turns.
    pub cache: EncodeCache,
    /// Finds special tokens in texts.
    pub specials: SpecialTokens,
    /// Special tokens that a client's text spells are plain text.
    pub escapes: bool,
    /// The chat templates.
    pub templates: Templates,
    /// What writes prompts in place of a template, in words; none: a template does, or nothing.
    pub prompt_format: Option<String>,
    /// Special tokens by role (`bos_token`, …), as templates see them.
    pub special_tokens: Map<String, Value>,
    /// The formats that outputs are read in.
    pub reading: Formats,
    /// Its tokens for prompts with a gap, where it has them.
    pub fim: Option<Fim>,
    /// Tokens of a sequence, prompt and output.
    pub max_model_len: u32,
    /// Bytes of the longest token, at least 1.
    pub longest_token: usize,
    /// Rows of the logits: ids of a prompt are below it.
    pub vocab_size: u32,
    /// Changes with the weights, the tokenizer or the template.
    pub fingerprint: String,
}

impl ServedModel {
    /// Reads the hello, or as much of it as prompts need.
    ///
    /// # Errors
    /// A message for the operator: a broken tokenizer or template, an unknown parser.
    pub fn new(meta: &[u8], tokenizer_json: &[u8], reading: &Reading) -> Result<Self, String> {
        let meta: Meta = serde_json::from_slice(meta)
            .map_err(|error| format!("the engine's hello is malformed: {error}"))?;
        let tokenizer = Tokenizer::from_bytes(tokenizer_json).map_err(|error| error.to_string())?;
        let templates = Templates::compile(meta.chat_templates, &meta.special_tokens)?;
        let table = tokenizer.table();
        let ids = 0..u32::try_from(table.len()).unwrap_or(u32::MAX);
        let longest = ids.map(|id| table.bytes(id).len().max(table.spelling(id).len())).max();
        Ok(Self {
            longest_token: longest.unwrap_or(1).max(1),
            fim: Fim::find(&tokenizer),
            cache: EncodeCache::new(reading.encode_cache_bytes),
            specials: SpecialTokens::of(&tokenizer),
            escapes: reading.escape_special_tokens,
            reading: Formats::choose(
                reading,
                templates.of(true).map_or("", |chosen| chosen.template.source()),
                &tokenizer,
                meta.response_template.as_ref(),
            )?,
            tokenizer,
            templates,
            prompt_format: meta.model.prompt_format,
            special_tokens: meta.special_tokens,
            max_model_len: meta.model.max_model_len,
            vocab_size: meta.model.vocab_size,
            fingerprint: meta.model.fingerprint,
        })
    }
}
