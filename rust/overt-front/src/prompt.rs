//! From a request's bytes to token ids: parse, render, tokenise.

use std::ops::Range;

use overt_template::{Change, RenderInput, TemplateError, normalise};
use overt_text::Escaper;
use overt_wire::Protocol;
use serde_json::{Map, Value};

use crate::body::{self, ChatBody, Prompt};
use crate::error::RequestError;
use crate::generation::{Generation, Side};
use crate::model::ServedModel;
use crate::templates::NamedTemplate;

/// A prompt and what is echoed of it.
#[derive(Debug)]
pub(crate) struct Tokens {
    pub(crate) ids: Vec<u32>,
    /// The client's own text; none where it sent ids or the text was cut.
    pub(crate) text: Option<String>,
}

/// How a prompt is made of a body.
#[derive(Debug, Clone)]
pub(crate) struct Making<'a> {
    pub(crate) add_generation_prompt: bool,
    pub(crate) continue_final_message: bool,
    /// A last message of the assistant counts as the user's.
    pub(crate) assistant_to_user: bool,
    /// Variables of the template that fields and the operator give; the request's own come first.
    pub(crate) variables: &'a Map<String, Value>,
    /// Whether the tokenizer adds its own special tokens; none: to text prompts it does, to rendered chats it does
    /// not, since their template wrote them.
    pub(crate) special: Option<bool>,
    /// What stands behind the gap that the answer fills.
    pub(crate) suffix: Option<&'a str>,
    /// Tokens that will be left of a prompt, and the side that is cut.
    pub(crate) truncation: Option<(usize, Side)>,
}

impl<'a> Making<'a> {
    pub(crate) fn of(generation: &'a Generation, model: &ServedModel) -> Self {
        let most =
            generation.truncate_prompt_tokens.map(|most| most.unwrap_or(model.max_model_len));
        Self {
            truncation: most.map(|most| (most as usize, generation.truncation_side)),
            add_generation_prompt: generation.add_generation_prompt,
            continue_final_message: generation.continue_final_message,
            assistant_to_user: generation.assistant_to_user,
            variables: &generation.template_variables,
            special: generation.add_special_tokens,
            suffix: generation.suffix.as_deref(),
        }
    }
}

impl Making<'_> {
    fn keep(&self, model: &ServedModel, text: String) -> String {
        match self.truncation {
            Some((most, side)) => keep(model, text, most, side),
            None => text,
        }
    }
}

/// Every prompt of a body.
pub(crate) fn tokenize(
    model: &ServedModel,
    protocol: Protocol,
    body: &[u8],
    making: &Making<'_>,
) -> Result<Vec<Tokens>, RequestError> {
    if protocol == Protocol::Chat {
        return Ok(vec![chat(model, body, making)?]);
    }
    let prompts = body::prompts(body, model.vocab_size)?;
    let special = making.special.unwrap_or(true);
    let tokens = prompts.into_iter().map(|prompt| match (prompt, making.suffix) {
        (Prompt::Text(text), None) => {
            let text = making.keep(model, text);
            let ids = encode_cut(model, &text, special, "prompt", making.truncation)?;
            Ok(Tokens { ids, text: Some(text) })
        }
        (prompt, suffix) => {
            let text = match &prompt {
                Prompt::Text(text) => Some(text.clone()),
                Prompt::Ids(_) => None,
            };
            Ok(Tokens { ids: completion(model, prompt, suffix, special)?, text })
        }
    });
    tokens.collect()
}

/// Token ids of a prompt that need not be found in one text.
pub(crate) fn completion(
    model: &ServedModel,
    prompt: Prompt,
    suffix: Option<&str>,
    special: bool,
) -> Result<Vec<u32>, RequestError> {
    match (prompt, suffix) {
        (Prompt::Ids(ids), None) => Ok(ids),
        (Prompt::Text(text), None) => encode(model, &text, special, "prompt"),
        (Prompt::Text(text), Some(suffix)) => fill(model, &text, suffix, special),
        (Prompt::Ids(_), Some(_)) => Err(RequestError::invalid(
            "suffix",
            "`suffix` needs a `prompt` of text: send the text before the gap instead of token ids.",
        )),
    }
}

/// A prompt whose answer fills the gap between `before` and `after`.
fn fill(
    model: &ServedModel,
    before: &str,
    after: &str,
    special: bool,
) -> Result<Vec<u32>, RequestError> {
    let Some(fim) = model.fim else {
        return Err(RequestError::invalid(
            "suffix",
            "`suffix` needs a model that was trained to fill gaps, and this one's vocabulary has no tokens for it. \
             Leave it out.",
        ));
    };
    let first = encode(model, "", special, "prompt")?;
    let before = encode(model, &fim.head(before), false, "prompt")?;
    let after = encode(model, after, false, "suffix")?;
    Ok(fim.prompt(&first, &before, &after))
}

fn chat(model: &ServedModel, body: &[u8], making: &Making<'_>) -> Result<Tokens, RequestError> {
    let conversation = Conversation::read(model, body, making)?;
    let rendered = conversation.render()?;
    let special = making.special.unwrap_or(false);
    if conversation.escaped {
        let (text, plain) = model.escaper.restore(&rendered);
        check_length(model, &text, "messages", making.truncation)?;
        let ids = encode_plain(model, &text, &plain, special)?;
        return Ok(Tokens { ids, text: Some(text) });
    }
    let text = making.keep(model, rendered);
    let ids = encode_cut(model, &text, special, "messages", making.truncation)?;
    Ok(Tokens { ids, text: Some(text) })
}

/// A chat as its template takes it.
#[derive(Debug)]
pub(crate) struct Conversation<'a> {
    pub(crate) chosen: &'a NamedTemplate,
    pub(crate) input: RenderInput,
    /// What was changed for the template's sake.
    pub(crate) changes: Vec<Change>,
    /// Special tokens in the client's text stand as single characters, to be restored.
    pub(crate) escaped: bool,
}

impl<'a> Conversation<'a> {
    pub(crate) fn read(
        model: &'a ServedModel,
        body: &[u8],
        making: &Making<'_>,
    ) -> Result<Self, RequestError> {
        let mut body = body::chat(body)?;
        let Some(chosen) = model.templates.of(body.tools.is_some()) else {
            return Err(without_template(model));
        };
        let changes = normalise(&mut body.messages, &mut body.tools, &chosen.wants)
            .map_err(|unfit| RequestError::invalid(unfit.path, unfit.message))?;
        if making.assistant_to_user && !making.continue_final_message {
            body.last_assistant_to_user();
        }
        let mut kwargs = making.variables.clone();
        kwargs.extend(body.chat_template_kwargs.unwrap_or_default());
        let mut input = RenderInput {
            messages: body.messages,
            tools: body.tools,
            documents: body.documents,
            add_generation_prompt: making.add_generation_prompt && !making.continue_final_message,
            continue_final_message: making.continue_final_message,
            kwargs,
            special_tokens: model.special_tokens.clone(),
        };
        let escaped = model.escapes && escape(&model.escaper, &mut input);
        Ok(Self { chosen, input, changes, escaped })
    }

    fn render(&self) -> Result<String, RequestError> {
        self.chosen.template.render(&self.input).map_err(|error| self.refused(&error))
    }

    /// Why the template did not render.
    pub(crate) fn refused(&self, error: &TemplateError) -> RequestError {
        match ChatBody::without_content(&self.input.messages) {
            Some(index) if matches!(error, TemplateError::Render { .. }) => {
                let path = format!("messages[{index}].content");
                let message =
                    format!("`{path}` is missing, and the chat template needs it ({error}).");
                RequestError::invalid(path, message)
            }
            _ => RequestError::invalid(
                "messages",
                format!("The conversation does not fit the chat template: {error}."),
            ),
        }
    }
}

fn without_template(model: &ServedModel) -> RequestError {
    RequestError::bad(match &model.prompt_format {
        Some(format) => format!(
            "This model's conversations are written by {format}, which this server does not have, and not by a chat \
             template. Start the server with --chat-template, or use /v1/completions with a prompt in that format."
        ),
        None => "This model has no chat template. Start the server with --chat-template, or use /v1/completions."
            .to_owned(),
    })
}

/// Puts a single character in place of every special token that the client's text spells. Whether there was one.
fn escape(escaper: &Escaper, input: &mut RenderInput) -> bool {
    let mut found = escape_value(escaper, &mut input.messages);
    for value in [&mut input.tools, &mut input.documents].into_iter().flatten() {
        found |= escape_value(escaper, value);
    }
    for value in input.kwargs.values_mut() {
        found |= escape_value(escaper, value);
    }
    found
}

/// The depth of a body is bounded where it is read.
fn escape_value(escaper: &Escaper, value: &mut Value) -> bool {
    match value {
        Value::String(text) => match escaper.escape(text) {
            Some(escaped) => {
                *text = escaped;
                true
            }
            None => false,
        },
        Value::Array(items) => {
            items.iter_mut().fold(false, |found, item| escape_value(escaper, item) | found)
        }
        Value::Object(members) => {
            let mut found = false;
            if members.keys().any(|key| escaper.escape(key).is_some()) {
                found = true;
                *members = std::mem::take(members)
                    .into_iter()
                    .map(|(key, value)| (escaper.escape(&key).unwrap_or(key), value))
                    .collect();
            }
            members.values_mut().fold(found, |found, member| escape_value(escaper, member) | found)
        }
        _ => false,
    }
}

/// Token ids of `text`, which stands in `field`.
pub(crate) fn encode(
    model: &ServedModel,
    text: &str,
    special: bool,
    field: &str,
) -> Result<Vec<u32>, RequestError> {
    encode_cut(model, text, special, field, None)
}

/// The same for a text of which `truncation` will leave so many tokens.
fn encode_cut(
    model: &ServedModel,
    text: &str,
    special: bool,
    field: &str,
    truncation: Option<(usize, Side)>,
) -> Result<Vec<u32>, RequestError> {
    check_length(model, text, field, truncation)?;
    let ids = if special {
        model.tokenizer.encode(text, true)
    } else {
        model.tokenizer.encode_cached(text, &model.cache)
    };
    check_ids(model, ids.map_err(|error| untokenised(field, &error))?, field)
}

/// Token ids of a chat in which no special token is read where it touches `plain`. `special`: between those that the
/// tokenizer puts around a text.
pub(crate) fn encode_plain(
    model: &ServedModel,
    text: &str,
    plain: &[Range<usize>],
    special: bool,
) -> Result<Vec<u32>, RequestError> {
    let ids = model.tokenizer.encode_plain(text, plain, Some(&model.cache));
    let mut ids = ids.map_err(|error| untokenised("messages", &error))?;
    if special {
        let around = |special| {
            let ids = model.tokenizer.encode("a", special);
            ids.map_err(|error| untokenised("messages", &error))
        };
        let (bare, mut framed) = (around(false)?, around(true)?);
        if let Some(at) = framed.windows(bare.len()).position(|window| window == bare) {
            framed.splice(at..at + bare.len(), ids);
            ids = framed;
        }
    }
    check_ids(model, ids, "messages")
}

pub(crate) fn untokenised(field: &str, error: &overt_text::TextError) -> RequestError {
    RequestError::invalid(field, format!("The text cannot be tokenised: {error}"))
}

/// Not worth the time: no cutting into tokens makes this fit. What is cut to size is not that long.
pub(crate) fn check_length(
    model: &ServedModel,
    text: &str,
    field: &str,
    truncation: Option<(usize, Side)>,
) -> Result<(), RequestError> {
    if truncation.is_some() || text.len() / model.longest_token <= model.max_model_len as usize {
        return Ok(());
    }
    let prompt = matches!(field, "messages" | "prompt");
    let what = if prompt { "The prompt".to_owned() } else { format!("`{field}`") };
    let error = RequestError::invalid(
        field,
        format!(
            "{what} has {} bytes, far more than the context of {} tokens can hold.",
            text.len(),
            model.max_model_len
        ),
    );
    Err(if prompt { error.code("context_length_exceeded") } else { error })
}

/// Some tokenizers have tokens for other uses of a model, which this one's embeddings do not know.
pub(crate) fn check_ids(
    model: &ServedModel,
    ids: Vec<u32>,
    field: &str,
) -> Result<Vec<u32>, RequestError> {
    let Some(id) = ids.iter().find(|id| **id >= model.vocab_size) else { return Ok(ids) };
    let spelling = model.tokenizer.id_to_token(*id).unwrap_or_default();
    Err(RequestError::invalid(
        field,
        format!(
            "The text has the token `{spelling}`, which this model does not take. Leave it out."
        ),
    ))
}

/// As much of a text as `most` tokens may be made of, from the side that is kept. With some to spare, so that no token
/// that is kept is one that the cut made.
fn keep(model: &ServedModel, text: String, most: usize, side: Side) -> String {
    let bytes = (most + 64).saturating_mul(model.longest_token);
    if text.len() <= bytes {
        return text;
    }
    match side {
        Side::Left => text[text.ceil_char_boundary(text.len() - bytes)..].to_owned(),
        Side::Right => text[..text.floor_char_boundary(bytes)].to_owned(),
    }
}

/// Cuts a prompt to what the request asked for.
pub(crate) fn truncate(tokens: &mut Tokens, most: usize, side: Side) {
    let Some(surplus) = tokens.ids.len().checked_sub(most).filter(|surplus| *surplus > 0) else {
        return;
    };
    match side {
        Side::Left => drop(tokens.ids.drain(..surplus)),
        Side::Right => tokens.ids.truncate(most),
    }
    tokens.text = None;
}
