//! The served model as text knows it: tokenizer, template, parser, limits. Told by the engine's hello.

use overt_parse::Format;
use overt_template::Template;
use overt_text::Tokenizer;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::fim::Fim;

/// The part of the hello that text needs; the rest is for the routes.
#[derive(Debug, Deserialize)]
struct Meta {
    model: Limits,
    chat_template: Option<String>,
    #[serde(default)]
    special_tokens: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Limits {
    max_model_len: u32,
    vocab_size: u32,
    #[serde(default)]
    fingerprint: String,
}

/// Everything needed to turn a request into tokens and tokens into text.
pub struct ServedModel {
    /// The tokenizer.
    pub tokenizer: Tokenizer,
    /// The chat template, where the model has one.
    pub template: Option<Template>,
    /// Special tokens by role (`bos_token`, …), as templates see them.
    pub special_tokens: Map<String, Value>,
    /// The format tool calls are read in; none: they stay text.
    pub format: Option<&'static Format>,
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
    /// Reads the hello. `parser` is `auto`, `none` or a format's name.
    ///
    /// # Errors
    /// A message for the operator: a broken tokenizer or template, an unknown parser.
    pub fn new(meta: &[u8], tokenizer_json: &[u8], parser: &str) -> Result<Self, String> {
        let meta: Meta = serde_json::from_slice(meta)
            .map_err(|error| format!("the engine's hello is malformed: {error}"))?;
        let tokenizer = Tokenizer::from_bytes(tokenizer_json).map_err(|error| error.to_string())?;
        let source = meta.chat_template.as_deref();
        let template = source
            .map(|source| {
                Template::compile(source)
                    .map_err(|error| format!("the chat template does not compile: {error}"))
            })
            .transpose()?;
        let table = tokenizer.table();
        let ids = 0..u32::try_from(table.len()).unwrap_or(u32::MAX);
        let longest = ids.map(|id| table.bytes(id).len().max(table.spelling(id).len())).max();
        Ok(Self {
            longest_token: longest.unwrap_or(1).max(1),
            fim: Fim::find(&tokenizer),
            tokenizer,
            template,
            special_tokens: meta.special_tokens,
            format: choose_format(parser, source.unwrap_or_default())?,
            max_model_len: meta.model.max_model_len,
            vocab_size: meta.model.vocab_size,
            fingerprint: meta.model.fingerprint,
        })
    }
}

fn choose_format(parser: &str, template: &str) -> Result<Option<&'static Format>, String> {
    match parser {
        "none" => Ok(None),
        "auto" => Ok(overt_parse::names()
            .filter_map(overt_parse::find)
            .find(|format| format.markers.iter().any(|marker| template.contains(marker)))),
        name => overt_parse::find(name).map(Some).ok_or_else(|| {
            let known: Vec<_> = overt_parse::names().collect();
            format!(
                "--tool-call-parser {name} is unknown; allowed are auto, none, {}",
                known.join(", ")
            )
        }),
    }
}
