//! From a request's bytes to token ids: parse, render, tokenise.

use overt_template::{RenderInput, TemplateError};
use overt_wire::Protocol;

use crate::body::{self, ChatBody, Prompt};
use crate::error::RequestError;
use crate::generation::{Generation, Side};
use crate::model::ServedModel;

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
    /// Messages of the developer count as the system's.
    pub(crate) developer_to_system: bool,
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
            developer_to_system: generation.developer_to_system,
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
        let text = making.keep(model, render(model, body, making)?);
        let special = making.special.unwrap_or(false);
        let ids = encode_cut(model, &text, special, "messages", making.truncation)?;
        return Ok(vec![Tokens { ids, text: Some(text) }]);
    }
    let prompts = body::prompts(body, model.vocab_size)?;
    let special = making.special.unwrap_or(true);
    let tokens = prompts.into_iter().map(|prompt| match (prompt, making.suffix) {
        (Prompt::Ids(ids), None) => Ok(Tokens { ids, text: None }),
        (Prompt::Text(text), None) => {
            let text = making.keep(model, text);
            let ids = encode_cut(model, &text, special, "prompt", making.truncation)?;
            Ok(Tokens { ids, text: Some(text) })
        }
        (Prompt::Text(text), Some(suffix)) => {
            let ids = fill(model, &text, suffix, special)?;
            Ok(Tokens { ids, text: Some(text) })
        }
        (Prompt::Ids(_), Some(_)) => Err(RequestError::invalid(
            "suffix",
            "`suffix` needs a `prompt` of text: send the text before the gap instead of token ids.",
        )),
    });
    tokens.collect()
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

fn render(model: &ServedModel, body: &[u8], making: &Making<'_>) -> Result<String, RequestError> {
    let mut body = body::chat(body)?;
    if making.developer_to_system {
        body.developer_to_system();
    }
    if making.assistant_to_user && !making.continue_final_message {
        body.last_assistant_to_user();
    }
    let Some(template) = &model.template else {
        return Err(RequestError::bad(
            "This model has no chat template. Start the server with --chat-template, or use /v1/completions.",
        ));
    };
    let input = RenderInput {
        messages: body.messages,
        tools: body.tools,
        documents: body.documents,
        add_generation_prompt: making.add_generation_prompt && !making.continue_final_message,
        continue_final_message: making.continue_final_message,
        kwargs: body.chat_template_kwargs.unwrap_or_default(),
        special_tokens: model.special_tokens.clone(),
    };
    template.render(&input).map_err(|error| match ChatBody::without_content(&input.messages) {
        Some(index) if matches!(error, TemplateError::Render { .. }) => {
            let path = format!("messages[{index}].content");
            let message = format!("`{path}` is missing, and the chat template needs it ({error}).");
            RequestError::invalid(path, message)
        }
        _ => RequestError::invalid(
            "messages",
            format!("The conversation does not fit the chat template: {error}."),
        ),
    })
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
    // Not worth the time: no cutting into tokens makes this fit. What is cut to size is not that long.
    if truncation.is_none() && text.len() / model.longest_token > model.max_model_len as usize {
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
        return Err(if prompt { error.code("context_length_exceeded") } else { error });
    }
    let ids = model.tokenizer.encode(text, special).map_err(|error| {
        RequestError::invalid(field, format!("The text cannot be tokenised: {error}"))
    })?;
    // Some tokenizers have tokens for other uses of a model, which this one's embeddings do not know.
    if let Some(id) = ids.iter().find(|id| **id >= model.vocab_size) {
        let spelling = model.tokenizer.id_to_token(*id).unwrap_or_default();
        return Err(RequestError::invalid(
            field,
            format!(
                "The text has the token `{spelling}`, which this model does not take. Leave it out."
            ),
        ));
    }
    Ok(ids)
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
