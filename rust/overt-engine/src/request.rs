//! A request as the engine sees it: choices that make tokens until something ends them.

use std::sync::Arc;

use overt_link::{Finish, Params, Submit};
use overt_sched::SeqId;
use overt_text::{StopMatcher, StopRegex, TokenTable};

use crate::beam::{self, Search};
use crate::constraint::Constraint;
use crate::counts::Counts;

pub(crate) struct Request {
    pub(crate) params: Params,
    /// Choices a prompt.
    pub(crate) n: u32,
    pub(crate) choices: Vec<Choice>,
    /// One a prompt, where texts are searched for instead of drawn. The choices get theirs at its end.
    pub(crate) searches: Vec<Search>,
    /// Choices that make tokens still.
    pub(crate) live: usize,
    /// The reader lags.
    pub(crate) held: bool,
    /// Rows of it have entries in a step's edits.
    pub(crate) edited: bool,
    /// Alternatives whose log probabilities are wanted at every token; none: not even the token's own.
    pub(crate) alternatives: Option<u32>,
}

pub(crate) struct Choice {
    pub(crate) seq: SeqId,
    /// Its number within its prompt.
    pub(crate) number: u32,
    pub(crate) made: u32,
    /// Waits for choice 0 of its prompt, whose blocks it will share.
    pub(crate) follows: bool,
    pub(crate) done: bool,
    /// What it made, where penalties need it.
    pub(crate) counts: Option<Counts>,
    /// First token of its prompt whose log probability was not asked for; none: they are not wanted of it.
    pub(crate) prompt_asked: Option<u32>,
    /// What holds its next token.
    pub(crate) constraint: Constraint,
    stop: StopMatcher,
}

impl Request {
    /// A request whose sequences are numbered from `first`: one a choice, or one a prompt where it searches.
    ///
    /// `stop` finds its stops, `constraint` holds each of its choices.
    pub(crate) fn new(
        submit: &Submit,
        first: SeqId,
        model: &Model,
        stop: &StopMatcher,
        constraint: &Constraint,
    ) -> Self {
        let params = &submit.params;
        let n = submit.n.max(1);
        let total = submit.prompts.len() * n as usize;
        let mut searches = Vec::new();
        if params.beam.is_some() {
            searches = (first..)
                .zip(&submit.prompts)
                .map(|(seq, prompt)| {
                    Search::new(prompt.as_slice().into(), n, params, model, stop.clone(), seq)
                })
                .collect();
        }
        let mut choices = Vec::with_capacity(total);
        for prompt in &submit.prompts {
            let counts = penalises(params).then(|| {
                Counts::of_prompt(if params.repetition_penalty == 1.0 { &[] } else { prompt })
            });
            for number in 0..n {
                let alone = searches.is_empty();
                choices.push(Choice {
                    seq: if alone { first + choices.len() as u64 } else { SeqId::MAX },
                    number,
                    made: 0,
                    follows: alone && number > 0,
                    done: false,
                    counts: counts.clone(),
                    prompt_asked: (params.prompt_logprobs.is_some() && number == 0).then_some(1),
                    constraint: constraint.clone(),
                    stop: stop.clone(),
                });
            }
        }
        let edited = is_edited(params);
        let alternatives = match params.beam {
            Some(_) => Some(params.logprobs.unwrap_or(0).max(beam::alternatives(n, params, model))),
            None => params.logprobs,
        };
        Self {
            alternatives,
            params: params.clone(),
            n,
            choices,
            searches,
            live: total,
            held: false,
            edited,
        }
    }

    /// The sequences of the request with their prompts.
    pub(crate) fn sequences(submit: &Submit, first: SeqId) -> Vec<(SeqId, Arc<[u32]>)> {
        let copies = if submit.params.beam.is_some() { 1 } else { submit.n as usize };
        let prompts = submit.prompts.iter().flat_map(|prompt| {
            let prompt: Arc<[u32]> = prompt.as_slice().into();
            std::iter::repeat_n(prompt, copies)
        });
        (first..).zip(prompts).collect()
    }

    /// The sequences that live now.
    pub(crate) fn live_sequences(&self) -> impl Iterator<Item = SeqId> {
        let searched = self.searches.iter().flat_map(|search| &search.beams).map(|beam| beam.seq);
        let drawn = self.choices.iter().filter(|choice| !choice.done).map(|choice| choice.seq);
        let searches = !self.searches.is_empty();
        searched.chain(drawn.filter(move |_| !searches))
    }

    /// Whether tokens that the prompt holds count as repeated.
    pub(crate) fn repeats(&self) -> bool {
        self.params.repetition_penalty != 1.0
    }
}

fn penalises(params: &Params) -> bool {
    params.repetition_penalty != 1.0
        || params.frequency_penalty != 0.0
        || params.presence_penalty != 0.0
}

fn is_edited(params: &Params) -> bool {
    penalises(params)
        || !params.logit_bias.is_empty()
        || params.allowed_token_ids.is_some()
        || !params.bad_words.is_empty()
        || params.min_tokens > 0
        || params.logprobs.is_some()
        || params.prompt_logprobs.is_some()
        || params.beam.is_some()
        || params.grammar.is_some()
        || params.thinking.is_some()
}

/// Finds a request's stops; why its patterns cannot be used, which the API process should have refused.
pub(crate) fn stop_matcher(params: &Params) -> Result<StopMatcher, String> {
    let patterns: Result<Vec<_>, _> =
        params.stop_regex.iter().map(|pattern| StopRegex::compile(pattern)).collect();
    let patterns = patterns.map_err(|error| error.to_string())?;
    Ok(StopMatcher::new(&params.stop).patterns(&patterns))
}

impl Choice {
    /// Counts `token` and says whether it ends the choice. `length` is the sequence's length with it.
    pub(crate) fn push(
        &mut self,
        token: u32,
        length: u32,
        params: &Params,
        model: &Model,
    ) -> Option<Finish> {
        self.made += 1;
        if let Some(counts) = &mut self.counts {
            counts.add(token);
        }
        if self.made <= params.min_tokens {
            // What may not end yet is no part of a stop either.
            if !model.table.is_special(token) || !params.skip_special_tokens {
                self.stop.pass_bytes(model.table.bytes(token));
            } else if params.special_breaks_stop {
                self.stop.reset();
            }
        } else if let Some(finish) = end_of(token, &mut self.stop, params, model) {
            return Some(finish);
        }
        let spent = self.made >= params.max_tokens || length >= model.max_model_len;
        spent.then_some(Finish::Length)
    }
}

/// Whether `token` ends a text; `stop` has read those before it.
pub(crate) fn end_of(
    token: u32,
    stop: &mut StopMatcher,
    params: &Params,
    model: &Model,
) -> Option<Finish> {
    if params.stop_token_ids.contains(&token) {
        return Some(Finish::StopToken(token));
    }
    if !params.ignore_eos && model.eos_token_ids.contains(&token) {
        return Some(Finish::EndOfTurn);
    }
    if model.table.is_special(token) && params.skip_special_tokens {
        if params.special_breaks_stop {
            stop.reset();
        }
        return None;
    }
    let index = stop.push_bytes(model.table.bytes(token))?;
    Some(Finish::StopText(u32::try_from(index).unwrap_or(u32::MAX)))
}

/// What the engine knows of the model.
pub(crate) struct Model {
    pub(crate) table: Arc<TokenTable>,
    pub(crate) eos_token_ids: Vec<u32>,
    pub(crate) max_model_len: u32,
    /// Sequences that fit the slots and the queue together.
    pub(crate) most_sequences: usize,
}
