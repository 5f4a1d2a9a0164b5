//! From a request's bytes to token ids: parse, render, tokenise. Runs on the pool, never on the event loop.

use overt_template::RenderInput;
use overt_wire::Protocol;

use crate::body::{self, Prompt};
use crate::error::RequestError;
use crate::generation::Generation;
use crate::model::ServedModel;

/// What the engine and the choices need to know of a request's text.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) prompts: Vec<Vec<u32>>,
    /// Tokens a choice may make, clamped to the context.
    pub(crate) max_tokens: u32,
    /// What is left of the context behind the longest prompt, where the request asked for more.
    pub(crate) clamped: Option<u32>,
}

/// Choices of one request, over all its prompts.
const MAX_CHOICES: usize = 1024;

pub(crate) fn prepare(
    model: &ServedModel,
    protocol: Protocol,
    body: &[u8],
    generation: &Generation,
) -> Result<Prepared, RequestError> {
    let prompts = tokenize(
        model,
        protocol,
        body,
        generation.add_generation_prompt,
        generation.continue_final_message,
        None,
    )?;
    let field = if protocol == Protocol::Chat { "messages" } else { "prompt" };
    let choices = prompts.len().saturating_mul(generation.n as usize);
    if choices > MAX_CHOICES {
        return Err(RequestError::invalid(
            field,
            format!(
                "{} prompts with n = {} are {choices} choices; a request may have at most {MAX_CHOICES}.",
                prompts.len(),
                generation.n
            ),
        ));
    }
    let (mut least, mut most) = (u32::MAX, 0);
    for (index, prompt) in prompts.iter().enumerate() {
        let path = if prompts.len() > 1 { format!("{field}[{index}]") } else { field.to_owned() };
        let room = room_after(model, prompt.len(), &path)?;
        (least, most) = (least.min(room), most.max(room));
    }
    // Each sequence ends at the context by itself; what is told is what the longest prompt leaves.
    let max_tokens = generation.max_tokens.map_or(most, |asked| asked.min(most));
    let clamped = generation.max_tokens.filter(|asked| *asked > least).map(|_| least);
    Ok(Prepared { prompts, max_tokens, clamped })
}

fn room_after(model: &ServedModel, length: usize, path: &str) -> Result<u32, RequestError> {
    if length == 0 {
        return Err(RequestError::invalid(
            path,
            format!("`{path}` has no tokens: there is nothing to continue."),
        ));
    }
    let limit = model.max_model_len;
    match u32::try_from(length) {
        Ok(length) if length < limit => Ok(limit - length),
        _ => Err(RequestError::invalid(
            path,
            format!(
                "The prompt has {length} tokens, and the context holds {limit} with the answer. Send at most {} tokens.",
                limit.saturating_sub(1)
            ),
        )
        .code("context_length_exceeded")),
    }
}

/// Token ids of every prompt of a body. `special`: whether the tokenizer adds its own special tokens;
/// none: to text prompts it does, to rendered chats it does not, since their template wrote them.
pub(crate) fn tokenize(
    model: &ServedModel,
    protocol: Protocol,
    body: &[u8],
    add_generation_prompt: bool,
    continue_final_message: bool,
    special: Option<bool>,
) -> Result<Vec<Vec<u32>>, RequestError> {
    match protocol {
        Protocol::Chat => {
            let text = render(model, body, add_generation_prompt, continue_final_message)?;
            Ok(vec![encode(model, &text, special.unwrap_or(false), "messages")?])
        }
        Protocol::Completions => body::prompts(body, model.vocab_size)?
            .into_iter()
            .map(|prompt| match prompt {
                Prompt::Ids(ids) => Ok(ids),
                Prompt::Text(text) => encode(model, &text, special.unwrap_or(true), "prompt"),
            })
            .collect(),
    }
}

fn render(
    model: &ServedModel,
    body: &[u8],
    add_generation_prompt: bool,
    continue_final_message: bool,
) -> Result<String, RequestError> {
    let body = body::chat(body)?;
    let Some(template) = &model.template else {
        return Err(RequestError::bad(
            "This model has no chat template. Start the server with --chat-template, or use /v1/completions.",
        ));
    };
    let input = RenderInput {
        messages: body.messages,
        tools: body.tools,
        documents: body.documents,
        add_generation_prompt: add_generation_prompt && !continue_final_message,
        continue_final_message,
        kwargs: body.chat_template_kwargs.unwrap_or_default(),
        special_tokens: model.special_tokens.clone(),
    };
    template.render(&input).map_err(|error| {
        RequestError::invalid("messages", format!("The chat template refused the request: {error}"))
    })
}

fn encode(
    model: &ServedModel,
    text: &str,
    special: bool,
    field: &str,
) -> Result<Vec<u32>, RequestError> {
    // Not worth the time: no cutting into tokens makes this fit.
    if text.len() / model.longest_token > model.max_model_len as usize {
        return Err(RequestError::invalid(
            field,
            format!(
                "The prompt has {} bytes, far more than the context of {} tokens can hold.",
                text.len(),
                model.max_model_len
            ),
        )
        .code("context_length_exceeded"));
    }
    model.tokenizer.encode(text, special).map_err(|error| {
        RequestError::invalid(field, format!("The text cannot be tokenised: {error}"))
    })
}
