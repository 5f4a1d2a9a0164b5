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
    /// Whether the tokenizer adds its own special tokens; none: to text prompts it does, to rendered chats it does
    /// not, since their template wrote them.
    pub(crate) special: Option<bool>,
    /// What stands behind the gap that the answer fills.
    pub(crate) suffix: Option<&'a str>,
}

impl<'a> Making<'a> {
    pub(crate) fn of(generation: &'a Generation) -> Self {
        Self {
            add_generation_prompt: generation.add_generation_prompt,
            continue_final_message: generation.continue_final_message,
            assistant_to_user: generation.assistant_to_user,
            special: generation.add_special_tokens,
            suffix: generation.suffix.as_deref(),
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
        let text = render(model, body, making)?;
        let ids = encode(model, &text, making.special.unwrap_or(false), "messages")?;
        return Ok(vec![Tokens { ids, text: Some(text) }]);
    }
    let prompts = body::prompts(body, model.vocab_size)?;
    let special = making.special.unwrap_or(true);
    let tokens = prompts.into_iter().map(|prompt| match (prompt, making.suffix) {
        (Prompt::Ids(ids), None) => Ok(Tokens { ids, text: None }),
        (Prompt::Text(text), None) => {
            let ids = encode(model, &text, special, "prompt")?;
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
    // Not worth the time: no cutting into tokens makes this fit.
    if text.len() / model.longest_token > model.max_model_len as usize {
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
    model.tokenizer.encode(text, special).map_err(|error| {
        RequestError::invalid(field, format!("The text cannot be tokenised: {error}"))
    })
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
