//! A prompt shown instead of answered: its text, its tokens, and where every part of it came from.

use overt_template::{Change, Span, Traced};
use overt_wire::Protocol;
use serde::Serialize;
use serde_json::{Value, json};

use crate::adapted::Adapted;
use crate::body::{self, Prompt};
use crate::calls::Wanted;
use crate::conversation::Conversation;
use crate::error::RequestError;
use crate::generation::{Generation, Side};
use crate::model::ServedModel;
use crate::prepare::{self, Limits};
use crate::prompt::{self, Making, Source, Tokens};

/// Every prompt of a request.
#[derive(Debug, Serialize)]
pub struct Showing {
    /// One; of completions as many as were sent.
    pub prompts: Vec<Shown>,
    /// Fields that would be changed for the prompt's sake.
    pub adapted: Vec<Adapted>,
}

/// One prompt of a request.
#[derive(Debug, Serialize)]
pub struct Shown {
    /// The text; none where the client sent token ids.
    pub prompt_text: Option<String>,
    /// What the model sees.
    pub token_ids: Vec<u32>,
    /// Where each token stands in the text, in characters: start and end. None beside a text that is not, and where
    /// special tokens of the text are plain.
    pub token_offsets: Option<Vec<(usize, usize)>>,
    /// Tokens cut away, as the request asked; none where the text was so long that it was cut before it was
    /// tokenised.
    pub truncated_tokens: Option<usize>,
    /// Name of the chat template that made the text.
    pub template: Option<String>,
    /// Variables of the request that the template looked at.
    pub variables_used: Vec<String>,
    /// Variables of the request that it did not look at.
    pub variables_unused: Vec<String>,
    /// What was changed for the template's sake before it rendered.
    pub normalisations: Vec<Value>,
    /// Whether every span is known by more than likeness.
    pub exact: bool,
    /// Where each part of the text came from; they follow each other and cover it. Offsets are characters.
    pub spans: Vec<Value>,
}

/// Every prompt of a body as the model would see it, checked as if it were answered.
///
/// # Errors
/// What is wrong with the body, as an answer would say it.
pub fn show(
    model: &ServedModel,
    protocol: Protocol,
    body: &[u8],
    generation: &Generation,
    limits: &Limits,
) -> Result<Showing, RequestError> {
    let making = Making::of(generation, model);
    let made = if protocol == Protocol::Chat {
        vec![chat(model, body, &making)?]
    } else {
        let prompts = body::prompts(body, model.vocab_size)?;
        let made = prompts.into_iter().map(|prompt| completion(model, prompt, &making));
        made.collect::<Result<_, _>>()?
    };
    let (mut prompts, tokens): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    let prepared = prepare::check(model, protocol, body, tokens, generation, limits)?;
    for (shown, ids) in prompts.iter_mut().zip(prepared.prompts) {
        shown.keep(ids, generation.truncation_side);
    }
    Ok(Showing { prompts, adapted: prepared.adapted })
}

fn chat(
    model: &ServedModel,
    body: &[u8],
    making: &Making<'_>,
) -> Result<(Shown, Tokens), RequestError> {
    let conversation = Conversation::read(model, body, making)?;
    let traced = conversation.trace()?;
    let plain = conversation.plain(&traced)?;
    let source = Source { plain, ..Source::new(traced.text.clone(), "messages") };
    let encoded = encode(model, source, making, making.special.unwrap_or(false))?;
    let places = Places::of(&traced.text);
    let (variables_used, variables_unused) =
        conversation.input.kwargs.keys().cloned().partition(|name| traced.used.contains(name));
    let shown = Shown {
        token_ids: encoded.tokens.ids.clone(),
        token_offsets: encoded.offsets.map(|offsets| places.pairs(&offsets)),
        truncated_tokens: encoded.whole.then_some(0),
        template: Some(conversation.chosen.name.clone()),
        variables_used,
        variables_unused,
        normalisations: conversation.changes.iter().map(told_change).collect(),
        exact: traced.exact,
        spans: traced.spans.iter().map(|span| told_span(span, &places)).collect(),
        prompt_text: Some(traced.text),
    };
    let Conversation { adapted, wanted, .. } = conversation;
    Ok((shown, Tokens { adapted, wanted, ..encoded.tokens }))
}

fn completion(
    model: &ServedModel,
    prompt: Prompt,
    making: &Making<'_>,
) -> Result<(Shown, Tokens), RequestError> {
    let special = making.special.unwrap_or(true);
    let (text, encoded) = match (prompt, making.suffix) {
        (Prompt::Text(text), None) => {
            let source = Source::new(text.clone(), "prompt");
            (Some(text), encode(model, source, making, special)?)
        }
        // Ids have no text, and what marks a gap is put between tokens: there is no one text that they stand in.
        (prompt, suffix) => {
            let tokens = prompt::completion(model, prompt, suffix, special)?;
            (None, Encoded { tokens, offsets: None, whole: true })
        }
    };
    let places = Places::of(text.as_deref().unwrap_or_default());
    let whole = json!({"start": 0, "end": places.count, "origin": "prompt", "derived": false});
    let shown = Shown {
        token_ids: encoded.tokens.ids.clone(),
        token_offsets: encoded.offsets.map(|offsets| places.pairs(&offsets)),
        truncated_tokens: encoded.whole.then_some(0),
        template: None,
        variables_used: Vec::new(),
        variables_unused: Vec::new(),
        normalisations: Vec::new(),
        exact: true,
        spans: if places.count > 0 { vec![whole] } else { Vec::new() },
        prompt_text: text,
    };
    Ok((shown, encoded.tokens))
}

/// Tokens and where they stand.
struct Encoded {
    tokens: Tokens,
    /// In bytes of the uncut text.
    offsets: Option<Vec<(usize, usize)>>,
    /// Of all the text, and not of as much as is kept.
    whole: bool,
}

/// The tokens that an answer's prompt would have, with their places.
fn encode(
    model: &ServedModel,
    mut source: Source<'_>,
    making: &Making<'_>,
    special: bool,
) -> Result<Encoded, RequestError> {
    let cut = source.fit(model, making.truncation)?;
    let (ids, offsets) = if source.plain.is_some() {
        (source.encode(model, special)?, None)
    } else {
        let encoded = model.tokenizer.encode_offsets(&source.text, special);
        let (ids, mut offsets) =
            encoded.map_err(|error| prompt::untokenised(source.field, &error))?;
        let before = cut.unwrap_or(0);
        offsets
            .iter_mut()
            .for_each(|(start, end)| (*start, *end) = (*start + before, *end + before));
        (prompt::check_ids(model, ids, source.field)?, Some(offsets))
    };
    let tokens =
        Tokens { ids, text: Some(source.text), adapted: Vec::new(), wanted: Wanted::default() };
    Ok(Encoded { tokens, offsets, whole: cut.is_none() })
}

impl Shown {
    /// Leaves of the tokens `ids`, which were cut at `side`.
    fn keep(&mut self, ids: Vec<u32>, side: Side) {
        let surplus = self.token_ids.len() - ids.len();
        if let Some(offsets) = &mut self.token_offsets {
            match side {
                Side::Left => drop(offsets.drain(..surplus)),
                Side::Right => offsets.truncate(ids.len()),
            }
        }
        self.truncated_tokens = self.truncated_tokens.map(|_| surplus);
        self.token_ids = ids;
    }
}

fn told_change(change: &Change) -> Value {
    json!({"name": change.normalisation.name(), "path": change.path})
}

/// A trace for those who count characters: the text, its spans, whether all of them are exact, the variables used.
#[must_use]
pub fn told_trace(traced: &Traced) -> Value {
    let places = Places::of(&traced.text);
    let spans: Vec<Value> = traced.spans.iter().map(|span| told_span(span, &places)).collect();
    json!({"text": traced.text, "spans": spans, "exact": traced.exact, "used": traced.used})
}

/// A span with its offsets in characters.
fn told_span(span: &Span, places: &Places) -> Value {
    let mut told = serde_json::to_value(span).unwrap_or_default();
    told["start"] = places.at(span.start).into();
    told["end"] = places.at(span.end).into();
    told["derived"] = span.derived.into();
    told
}

/// Characters before each byte of a text.
struct Places {
    /// Of every byte that begins a character, in order.
    starts: Vec<usize>,
    count: usize,
}

impl Places {
    fn of(text: &str) -> Self {
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        Self { count: starts.len(), starts }
    }

    fn at(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start < byte)
    }

    fn pairs(&self, offsets: &[(usize, usize)]) -> Vec<(usize, usize)> {
        offsets.iter().map(|(start, end)| (self.at(*start), self.at(*end))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn places_are_characters() {
        let places = Places::of("aé😀b");
        let at: Vec<usize> = [0, 1, 3, 7, 8].into_iter().map(|byte| places.at(byte)).collect();
        assert_eq!(at, [0, 1, 2, 3, 4]);
        assert_eq!(places.count, 4);
    }
}
