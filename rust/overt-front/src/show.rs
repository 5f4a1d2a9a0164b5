//! A prompt shown instead of answered: its text, its tokens, and where every part of it came from.

use overt_template::{Change, Span, Traced};
use overt_wire::Protocol;
use serde::Serialize;
use serde_json::{Value, json};

use crate::body::{self, Prompt};
use crate::error::RequestError;
use crate::generation::{Generation, Side};
use crate::model::ServedModel;
use crate::prompt::{self, Conversation, Making};

/// One prompt of a request.
#[derive(Debug, Serialize)]
pub struct Shown {
    /// The text; none where the client sent token ids.
    pub prompt_text: Option<String>,
    /// What the model sees.
    pub token_ids: Vec<u32>,
    /// Where each token stands in the text, in characters: start and end. None beside a text that is not.
    pub token_offsets: Option<Vec<(usize, usize)>>,
    /// Tokens cut away, as the request asked.
    pub truncated_tokens: usize,
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

/// Every prompt of a body as the model would see it.
///
/// # Errors
/// What is wrong with the body.
pub fn show(
    model: &ServedModel,
    protocol: Protocol,
    body: &[u8],
    generation: &Generation,
) -> Result<Vec<Shown>, RequestError> {
    let making = Making::of(generation, model);
    let mut shown = if protocol == Protocol::Chat {
        vec![chat(model, body, &making)?]
    } else {
        let prompts = body::prompts(body, model.vocab_size)?;
        prompts
            .into_iter()
            .map(|prompt| completion(model, prompt, &making))
            .collect::<Result<_, _>>()?
    };
    if let Some(most) = generation.truncate_prompt_tokens {
        let most = most.unwrap_or(model.max_model_len) as usize;
        for prompt in &mut shown {
            truncate(prompt, most, generation.truncation_side);
        }
    }
    Ok(shown)
}

fn chat(model: &ServedModel, body: &[u8], making: &Making<'_>) -> Result<Shown, RequestError> {
    let conversation = Conversation::read(model, body, making)?;
    let traced = conversation
        .chosen
        .template
        .trace(&conversation.input)
        .map_err(|error| conversation.refused(&error))?;
    let special = making.special.unwrap_or(false);
    let (text, spans, ids, offsets) = if conversation.escaped {
        let (text, plain) = model.escaper.restore(&traced.text);
        prompt::check_length(model, &text, "messages", making.truncation)?;
        let ids = prompt::encode_plain(model, &text, &plain, special)?;
        (text, restored(model, &traced), ids, None)
    } else {
        prompt::check_length(model, &traced.text, "messages", making.truncation)?;
        let (ids, offsets) = encode(model, &traced.text, special, "messages")?;
        (traced.text, traced.spans, ids, Some(offsets))
    };
    let places = Places::of(&text);
    let (variables_used, variables_unused) =
        conversation.input.kwargs.keys().cloned().partition(|name| traced.used.contains(name));
    Ok(Shown {
        token_ids: ids,
        token_offsets: offsets.map(|offsets| places.pairs(&offsets)),
        truncated_tokens: 0,
        template: Some(conversation.chosen.name.clone()),
        variables_used,
        variables_unused,
        normalisations: conversation.changes.iter().map(told_change).collect(),
        exact: traced.exact,
        spans: spans.iter().map(|span| told_span(span, &places)).collect(),
        prompt_text: Some(text),
    })
}

fn completion(
    model: &ServedModel,
    prompt: Prompt,
    making: &Making<'_>,
) -> Result<Shown, RequestError> {
    let special = making.special.unwrap_or(true);
    let (text, ids, offsets) = match (prompt, making.suffix) {
        (Prompt::Ids(ids), None) => (None, ids, None),
        (Prompt::Text(text), None) => {
            prompt::check_length(model, &text, "prompt", making.truncation)?;
            let (ids, offsets) = encode(model, &text, special, "prompt")?;
            (Some(text), ids, Some(offsets))
        }
        // What marks the gap is put between the tokens: there is no one text that they stand in.
        (prompt, suffix) => (None, prompt::completion(model, prompt, suffix, special)?, None),
    };
    let places = Places::of(text.as_deref().unwrap_or_default());
    let whole = json!({"start": 0, "end": places.count, "origin": "prompt", "derived": false});
    Ok(Shown {
        token_ids: ids,
        token_offsets: offsets.map(|offsets| places.pairs(&offsets)),
        truncated_tokens: 0,
        template: None,
        variables_used: Vec::new(),
        variables_unused: Vec::new(),
        normalisations: Vec::new(),
        exact: true,
        spans: if places.count > 0 { vec![whole] } else { Vec::new() },
        prompt_text: text,
    })
}

type Encoded = (Vec<u32>, Vec<(usize, usize)>);

fn encode(
    model: &ServedModel,
    text: &str,
    special: bool,
    field: &str,
) -> Result<Encoded, RequestError> {
    let (ids, offsets) = model
        .tokenizer
        .encode_offsets(text, special)
        .map_err(|error| prompt::untokenised(field, &error))?;
    Ok((prompt::check_ids(model, ids, field)?, offsets))
}

/// Spans of a text in which escaped tokens are spelt out again.
fn restored(model: &ServedModel, traced: &Traced) -> Vec<Span> {
    let mut at = 0;
    let spans = traced.spans.iter().map(|span| {
        let start = at;
        at += model.escaper.restore(&traced.text[span.start..span.end]).0.len();
        Span { start, end: at, ..span.clone() }
    });
    spans.collect()
}

fn truncate(shown: &mut Shown, most: usize, side: Side) {
    let surplus = shown.token_ids.len().saturating_sub(most);
    let kept = match side {
        Side::Left => surplus..shown.token_ids.len(),
        Side::Right => 0..shown.token_ids.len() - surplus,
    };
    shown.truncated_tokens = surplus;
    shown.token_ids = shown.token_ids[kept.clone()].to_vec();
    if let Some(offsets) = &mut shown.token_offsets {
        *offsets = offsets[kept].to_vec();
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
