//! From a request's bytes to token ids: parse, render, tokenise.

use std::ops::Range;

use overt_wire::Protocol;
use serde_json::{Map, Value};

use crate::adapted::Adapted;
use crate::body::{self, Prompt};
use crate::calls::Wanted;
use crate::conversation::Conversation;
use crate::error::RequestError;
use crate::generation::{Generation, Side};
use crate::model::ServedModel;

/// A prompt and what is echoed of it.
#[derive(Debug)]
pub(crate) struct Tokens {
    pub(crate) ids: Vec<u32>,
    /// The client's own text; none where it sent ids or the text was cut.
    pub(crate) text: Option<String>,
    /// Fields that were changed on the way.
    pub(crate) adapted: Vec<Adapted>,
    /// What a chat says of calls.
    pub(crate) wanted: Wanted,
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

/// A prompt's text on its way to tokens.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) text: String,
    /// Where special tokens are plain text; none: nowhere.
    pub(crate) plain: Option<Vec<Range<usize>>>,
    /// The field that it stands in.
    pub(crate) field: &'a str,
}

impl<'a> Source<'a> {
    pub(crate) fn new(text: String, field: &'a str) -> Self {
        Self { text, plain: None, field }
    }

    /// Of a rendered chat.
    fn rendered(conversation: &Conversation<'_>) -> Result<Self, RequestError> {
        if !conversation.escapes() {
            return Ok(Self::new(conversation.render()?, "messages"));
        }
        let traced = conversation.trace()?;
        let plain = conversation.plain(&traced)?;
        Ok(Self { plain, ..Self::new(traced.text, "messages") })
    }

    /// Cuts it to what so many tokens may be made of, and refuses what no cutting into tokens makes fit. Returns the
    /// bytes that were cut from its beginning, none where nothing was cut.
    pub(crate) fn fit(
        &mut self,
        model: &ServedModel,
        truncation: Option<(usize, Side)>,
    ) -> Result<Option<usize>, RequestError> {
        let Some((most, side)) = truncation else {
            check_length(model, &self.text, self.field)?;
            return Ok(None);
        };
        // With some to spare, so that no token that is kept is one that the cut made.
        let bytes = (most + 64).saturating_mul(model.longest_token);
        if self.text.len() <= bytes {
            return Ok(None);
        }
        let kept = match side {
            Side::Left => self.text.ceil_char_boundary(self.text.len() - bytes)..self.text.len(),
            Side::Right => 0..self.text.floor_char_boundary(bytes),
        };
        for range in self.plain.iter_mut().flatten() {
            let within = |at: usize| at.clamp(kept.start, kept.end) - kept.start;
            *range = within(range.start)..within(range.end);
        }
        self.text = self.text[kept.clone()].to_owned();
        Ok(Some(kept.start))
    }

    /// Its tokens. `special`: between those that the tokenizer puts around a text.
    pub(crate) fn encode(
        &self,
        model: &ServedModel,
        special: bool,
    ) -> Result<Vec<u32>, RequestError> {
        match &self.plain {
            Some(plain) => encode_plain(model, &self.text, plain, special),
            None => encode_fitting(model, &self.text, special, self.field),
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
        let conversation = Conversation::read(model, body, making)?;
        let mut source = Source::rendered(&conversation)?;
        source.fit(model, making.truncation)?;
        let ids = source.encode(model, making.special.unwrap_or(false))?;
        let Conversation { adapted, wanted, .. } = conversation;
        return Ok(vec![Tokens { ids, text: Some(source.text), adapted, wanted }]);
    }
    let special = making.special.unwrap_or(true);
    let tokens = body::prompts(body, model.vocab_size)?.into_iter().map(|prompt| match prompt {
        Prompt::Text(text) if making.suffix.is_none() => {
            let mut source = Source::new(text, "prompt");
            source.fit(model, making.truncation)?;
            let ids = source.encode(model, special)?;
            Ok(Tokens {
                ids,
                text: Some(source.text),
                adapted: Vec::new(),
                wanted: Wanted::default(),
            })
        }
        prompt => completion(model, prompt, making.suffix, special),
    });
    tokens.collect()
}

/// A prompt whose tokens need not be found in one text.
pub(crate) fn completion(
    model: &ServedModel,
    prompt: Prompt,
    suffix: Option<&str>,
    special: bool,
) -> Result<Tokens, RequestError> {
    let (ids, text) = match (prompt, suffix) {
        (Prompt::Ids(ids), None) => (ids, None),
        (Prompt::Text(text), None) => (encode(model, &text, special, "prompt")?, Some(text)),
        (Prompt::Text(text), Some(suffix)) => (fill(model, &text, suffix, special)?, Some(text)),
        (Prompt::Ids(_), Some(_)) => {
            return Err(RequestError::invalid(
                "suffix",
                "`suffix` needs a `prompt` of text: send the text before the gap instead of token ids.",
            ));
        }
    };
    Ok(Tokens { ids, text, adapted: Vec::new(), wanted: Wanted::default() })
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

/// Token ids of `text`, which stands in `field`.
pub(crate) fn encode(
    model: &ServedModel,
    text: &str,
    special: bool,
    field: &str,
) -> Result<Vec<u32>, RequestError> {
    check_length(model, text, field)?;
    encode_fitting(model, text, special, field)
}

fn encode_fitting(
    model: &ServedModel,
    text: &str,
    special: bool,
    field: &str,
) -> Result<Vec<u32>, RequestError> {
    let ids = if special {
        model.tokenizer.encode(text, true)
    } else {
        model.tokenizer.encode_cached(text, &model.cache)
    };
    check_ids(model, ids.map_err(|error| untokenised(field, &error))?, field)
}

/// Token ids of a chat in which no special token is read where it touches `plain`. `special`: between those that the
/// tokenizer puts around a text.
fn encode_plain(
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

/// Not worth the time: no cutting into tokens makes this fit.
fn check_length(model: &ServedModel, text: &str, field: &str) -> Result<(), RequestError> {
    if text.len() / model.longest_token <= model.max_model_len as usize {
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
