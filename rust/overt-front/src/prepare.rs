//! Everything about a request that needs its text, before the engine sees it. Runs on the pool, never on the event
//! loop.

use overt_text::StopRegex;
use overt_wire::Protocol;

use crate::adapted::Adapted;
use crate::error::RequestError;
use crate::form::Form;
use crate::generation::{Generation, Overflow};
use crate::model::ServedModel;
use crate::prompt::{Making, Tokens, encode, tokenize, truncate};

/// What the engine and the choices need to know of a request's text.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) prompts: Vec<Vec<u32>>,
    /// The prompts' texts, where they are echoed or told.
    pub(crate) echoes: Vec<String>,
    pub(crate) bad_words: Vec<Vec<u32>>,
    pub(crate) patterns: Vec<StopRegex>,
    /// Tokens a choice may make, clamped to the context.
    pub(crate) max_tokens: u32,
    /// Fields that were changed on the way.
    pub(crate) adapted: Vec<Adapted>,
    /// The form of the answers; all prompts of a request have one.
    pub(crate) form: Form,
}

impl Prepared {
    /// One prompt and nothing else.
    pub(crate) fn of_prompt(prompt: Vec<u32>) -> Self {
        Self {
            prompts: vec![prompt],
            echoes: Vec::new(),
            bad_words: Vec::new(),
            patterns: Vec::new(),
            max_tokens: 1,
            adapted: Vec::new(),
            form: Form::default(),
        }
    }
}

/// What a request's text may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Choices of one request, over all its prompts.
    pub max_choices: usize,
    /// Of prompts that an answer repeats, with their log probabilities.
    pub max_prompt_logprobs_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_choices: 1024, max_prompt_logprobs_bytes: 16 << 20 }
    }
}

/// Bytes that one log probability takes on its way: id, value, rank, and its place in the answer.
const ENTRY_BYTES: usize = 80;

pub(crate) fn prepare(
    model: &ServedModel,
    protocol: Protocol,
    body: &[u8],
    generation: &Generation,
    limits: &Limits,
) -> Result<Prepared, RequestError> {
    let tokens = tokenize(model, protocol, body, &Making::of(generation, model))?;
    check(model, protocol, body, tokens, generation, limits)
}

/// Cuts prompts as the request asks, and checks all that depends on them.
pub(crate) fn check(
    model: &ServedModel,
    protocol: Protocol,
    body: &[u8],
    mut tokens: Vec<Tokens>,
    generation: &Generation,
    limits: &Limits,
) -> Result<Prepared, RequestError> {
    let patterns = patterns(&generation.stop_regex)?;
    let bad_words = bad_words(model, &generation.bad_words)?;
    if let Some(most) = generation.truncate_prompt_tokens {
        let most = most.unwrap_or_else(|| fitting(model, generation));
        for prompt in &mut tokens {
            truncate(prompt, most as usize, generation.truncation_side);
        }
    }
    let field = if protocol == Protocol::Chat { "messages" } else { "prompt" };
    let choices = tokens.len().saturating_mul(generation.told() as usize);
    if choices > limits.max_choices {
        return Err(RequestError::invalid(
            field,
            format!(
                "{} prompts with {} each are {choices} choices; a request may have at most {}.",
                tokens.len(),
                generation.told(),
                limits.max_choices
            ),
        ));
    }
    let told = generation.echo || generation.prompt_text;
    let echoes = if told { echoes(model, &tokens)? } else { Vec::new() };
    check_echoes(&echoes, generation, limits)?;
    let mut form = match tokens.first() {
        Some(first) => Form::of(model, protocol, body, &first.wanted, &first.ids, generation)?,
        None => Form::default(),
    };
    let (prompts, adapted): (Vec<_>, Vec<_>) =
        tokens.into_iter().map(|prompt| (prompt.ids, prompt.adapted)).unzip();
    let mut adapted = adapted.concat();
    adapted.append(&mut form.adapted);
    check_prompt_logprobs(&prompts, generation, limits)?;
    let (max_tokens, clamped) = room(model, &prompts, field, generation)?;
    if generation.min_tokens > max_tokens {
        return Err(RequestError::invalid(
            "min_tokens",
            format!(
                "`min_tokens` is {}, and a choice may have {max_tokens} tokens here at most. Send no more than that.",
                generation.min_tokens
            ),
        ));
    }
    adapted.extend(clamped.map(|most| Adapted::clamp(generation, most)));
    if let Some(effects) = &generation.strict {
        check_strict(effects, &adapted)?;
    }
    Ok(Prepared { prompts, echoes, bad_words, patterns, max_tokens, adapted, form })
}

/// Prompt tokens that leave room for `max_tokens`; where even one would not, what the context holds beside one token.
fn fitting(model: &ServedModel, generation: &Generation) -> u32 {
    let asked = generation.max_tokens.unwrap_or(1).max(1);
    match model.max_model_len.checked_sub(asked) {
        Some(room) if room > 0 => room,
        _ => model.max_model_len.saturating_sub(1),
    }
}

/// The tokens a choice may make, and what the longest prompt leaves where the request asked for more.
fn room(
    model: &ServedModel,
    prompts: &[Vec<u32>],
    field: &str,
    generation: &Generation,
) -> Result<(u32, Option<u32>), RequestError> {
    let (mut least, mut most) = (u32::MAX, 0);
    for (index, prompt) in prompts.iter().enumerate() {
        let path = if prompts.len() > 1 { format!("{field}[{index}]") } else { field.to_owned() };
        let room = room_after(model, prompt.len(), &path)?;
        if let Some(asked) = generation.sent_max_tokens().filter(|asked| *asked > room) {
            check_overflow(model, prompt.len(), asked, generation)?;
        }
        (least, most) = (least.min(room), most.max(room));
    }
    // Each sequence ends at the context by itself; what is told is what the longest prompt leaves. An echo alone
    // needs a token too: logits are of the tokens before it.
    let max_tokens = generation.max_tokens.map_or(most, |asked| asked.clamp(1, most));
    Ok((max_tokens, generation.sent_max_tokens().filter(|asked| *asked > least).map(|_| least)))
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

/// The prompt leaves less than `asked` tokens: whether that is an error.
fn check_overflow(
    model: &ServedModel,
    length: usize,
    asked: u32,
    generation: &Generation,
) -> Result<(), RequestError> {
    let limit = model.max_model_len;
    let refused = match generation.overflow {
        Overflow::Clamp => false,
        Overflow::ClampWithin => asked > limit,
        Overflow::Refuse => true,
    };
    if !refused {
        return Ok(());
    }
    let field = &generation.max_tokens_field;
    Err(RequestError::invalid(
        field,
        format!(
            "The prompt has {length} tokens and `{field}` asks for {asked} more, {} in all; the context holds \
             {limit}. Ask for at most {} or send a shorter prompt.",
            length as u64 + u64::from(asked),
            u64::from(limit).saturating_sub(length as u64)
        ),
    )
    .code("context_length_exceeded"))
}

/// A strict request is served exactly as it says or not at all.
fn check_strict(effects: &[String], adapted: &[Adapted]) -> Result<(), RequestError> {
    let late: Vec<String> = adapted.iter().map(Adapted::clause).collect();
    let all: Vec<&str> = effects.iter().chain(&late).map(String::as_str).collect();
    if all.is_empty() {
        return Ok(());
    }
    Err(RequestError::bad(format!(
        "The request is strict, and {} of its fields cannot be served as sent: {}. Change or leave out these \
         fields, or send the request without strict mode.",
        all.len(),
        all.join("; ")
    ))
    .code("not_honoured"))
}

fn patterns(patterns: &[String]) -> Result<Vec<StopRegex>, RequestError> {
    let compiled = patterns.iter().enumerate().map(|(index, pattern)| {
        StopRegex::compile(pattern).map_err(|error| {
            RequestError::invalid(
                format!("stop_regex[{index}]"),
                format!("`stop_regex[{index}]` cannot be used: {error}."),
            )
        })
    });
    compiled.collect()
}

/// The token sequences that spell each word, at the start of a text and inside one.
fn bad_words(model: &ServedModel, words: &[String]) -> Result<Vec<Vec<u32>>, RequestError> {
    let mut sequences = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let path = format!("bad_words[{index}]");
        for text in [word.clone(), format!(" {}", word.trim_start())] {
            sequences.push(encode(model, &text, false, &path)?);
        }
    }
    sequences.retain(|sequence: &Vec<u32>| !sequence.is_empty());
    sequences.sort_unstable();
    sequences.dedup();
    Ok(sequences)
}

fn check_prompt_logprobs(
    prompts: &[Vec<u32>],
    generation: &Generation,
    limits: &Limits,
) -> Result<(), RequestError> {
    let Some(alternatives) = generation.prompt_alternatives() else { return Ok(()) };
    let tokens: usize = prompts.iter().map(Vec::len).sum();
    let entries = tokens.saturating_mul(alternatives as usize + 1);
    let bytes = entries.saturating_mul(generation.told() as usize).saturating_mul(ENTRY_BYTES);
    if bytes <= limits.max_prompt_logprobs_bytes {
        return Ok(());
    }
    let field = if generation.prompt_logprobs.is_some() { "prompt_logprobs" } else { "logprobs" };
    Err(RequestError::invalid(
        field,
        format!(
            "Log probabilities of {tokens} prompt tokens with {alternatives} alternatives each, told in {} choices, \
             take about {bytes} bytes, and this server allows {}. Ask for fewer alternatives or choices, or send a \
             shorter prompt.",
            generation.told(),
            limits.max_prompt_logprobs_bytes
        ),
    ))
}

/// Echoed text stands before every choice.
fn check_echoes(
    echoes: &[String],
    generation: &Generation,
    limits: &Limits,
) -> Result<(), RequestError> {
    if !generation.echo {
        return Ok(());
    }
    let text: usize = echoes.iter().map(String::len).sum();
    let bytes = text.saturating_mul(generation.told() as usize);
    if bytes <= limits.max_prompt_logprobs_bytes {
        return Ok(());
    }
    Err(RequestError::invalid(
        "echo",
        format!(
            "The prompts echoed before each of {} choices are {bytes} bytes, and this server allows {}. Ask for fewer \
             choices or leave out `echo`.",
            generation.told(),
            limits.max_prompt_logprobs_bytes
        ),
    ))
}

/// What stands before each prompt's answers: the client's own text, or that of its tokens.
fn echoes(model: &ServedModel, prompts: &[Tokens]) -> Result<Vec<String>, RequestError> {
    let texts = prompts.iter().map(|prompt| match &prompt.text {
        Some(text) => Ok(text.clone()),
        None => model.tokenizer.decode(&prompt.ids, false).map_err(|error| {
            RequestError::invalid("prompt", format!("The tokens cannot be decoded: {error}."))
        }),
    });
    texts.collect()
}
