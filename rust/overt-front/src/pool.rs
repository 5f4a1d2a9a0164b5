//! The pool's threads: from a request's bytes to the engine.

use std::panic::{AssertUnwindSafe, catch_unwind};

use overt_link::{Submit, ToEngine};
use overt_parse::{Options, Parser};
use overt_text::{Detokenizer, StopMatcher};
use overt_wire::Protocol;

use crate::choice::{Choice, Reader};
use crate::error::RequestError;
use crate::form::Form;
use crate::generation::Generation;
use crate::model::ServedModel;
use crate::prepare::{self, Prepared};
use crate::shaping::Shaping;
use crate::shared::{Job, Shared};
use crate::telling::{Speller, Telling};

impl Shared {
    /// Works on one job. A panic in a tokenizer or a template fails the request that caused it and no other.
    pub(crate) fn prepare(&self, job: &Job) {
        // A client that left while its job waited has no exchange any more.
        if !self.state.lock().exchanges.contains_key(&job.handle) {
            return;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| self.work(job)));
        let error = match outcome {
            Ok(Ok((prepared, choices))) => return self.send_off(job, prepared, choices),
            Ok(Err(error)) => error,
            Err(_) => RequestError::internal("The request's text could not be prepared."),
        };
        self.state.lock().fail(job.handle, &error);
        self.wake.set();
    }

    fn work(&self, job: &Job) -> Result<(Prepared, Vec<Choice>), RequestError> {
        let Some(model) = self.model.get() else {
            return Err(RequestError::unavailable("The model is still loading."));
        };
        let limits = self.config.limits();
        let prepared = prepare::prepare(model, job.protocol, &job.body, &job.generation, &limits)?;
        let choices = choices(model, job.protocol, &job.generation, &prepared);
        Ok((prepared, choices))
    }

    /// Under the state's lock, so that an abort can never overtake its request.
    fn send_off(&self, job: &Job, prepared: Prepared, choices: Vec<Choice>) {
        let mut state = self.state.lock();
        let Some(exchange) = state.exchanges.get_mut(&job.handle) else { return };
        if exchange.ended {
            return;
        }
        let generation = &job.generation;
        let reads_specials = choices.iter().any(Choice::reads_specials);
        let prompt_tokens = prepared.prompts.iter().map(|prompt| prompt.len() as u64).sum();
        exchange.begin(choices, prompt_tokens, prepared.adapted, &prepared.form);
        let text = prepared.echoes.first().filter(|_| generation.prompt_text).cloned();
        if generation.echo || generation.token_ids || generation.prompt_logprobs.is_some() {
            let echoes = if generation.echo { prepared.echoes } else { Vec::new() };
            exchange.keep_prompts(prepared.prompts.clone(), echoes);
        }
        if let Some(text) = text {
            exchange.prompt_text(&text);
        }
        let params = generation.params(
            prepared.max_tokens,
            prepared.bad_words,
            &prepared.form,
            reads_specials,
            &self.hasher,
        );
        self.tell(ToEngine::Submit(Box::new(Submit {
            request: job.handle,
            prompts: prepared.prompts,
            n: generation.made(),
            params,
            probe: false,
        })));
    }
}

pub(crate) fn choices(
    model: &ServedModel,
    protocol: Protocol,
    generation: &Generation,
    prepared: &Prepared,
) -> Vec<Choice> {
    let chat = protocol == Protocol::Chat;
    let (calls, reasoning) =
        if chat { (model.reading.calls, model.reading.reasoning) } else { (None, None) };
    let reads = calls.is_some() || reasoning.is_some();
    let skip = generation.skip_special_tokens;
    let stop = StopMatcher::new(&generation.stop)
        .patterns(&prepared.patterns)
        .include_stop(generation.include_stop);
    let speller = Speller::new(&model.tokenizer, protocol, skip);
    let per_prompt = generation.made() as usize;
    let mut choices = Vec::with_capacity(prepared.prompts.len() * per_prompt);
    for (index, prompt) in prepared.prompts.iter().enumerate() {
        let tail = &prompt[prompt.len().saturating_sub(8)..];
        let echoed = prepared.echoes.get(index).map_or(0, |text| text.chars().count() as u64);
        for _ in 0..per_prompt {
            let options = Options { seed: fastrand::u64(..), ..prepared.form.reading.clone() };
            let parser = Parser::new(calls, reasoning, options);
            let telling = generation.logprobs.map(|_| Telling::new(speller.clone(), echoed));
            choices.push(Choice::new(
                Detokenizer::new(&model.tokenizer, skip, tail).flush_at_specials(reads),
                stop.clone(),
                generation.min_tokens,
                Reader {
                    parser,
                    reads_specials: reads,
                    tells_reasoning: reasoning.is_some(),
                    named: prepared.form.named,
                    shaping: shaping(generation, &prepared.form),
                },
                telling,
                generation.tell_ends,
            ));
        }
    }
    choices
}

/// What is changed of a choice's events; none for most.
fn shaping(generation: &Generation, form: &Form) -> Option<Box<Shaping>> {
    let one_call = generation.one_call || generation.functions;
    let gathers = generation.gathers_reasoning;
    if !one_call && !gathers && form.custom.is_empty() {
        return None;
    }
    Some(Box::new(Shaping::new(one_call, gathers, form.custom.clone())))
}
