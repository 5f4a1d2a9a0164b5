//! The pool's threads: from a request's bytes to the engine.

use std::panic::{AssertUnwindSafe, catch_unwind};

use overt_link::{Submit, ToEngine};
use overt_parse::Plain;
use overt_text::{Detokenizer, StopMatcher};
use overt_wire::Protocol;

use crate::choice::Choice;
use crate::error::RequestError;
use crate::generation::Generation;
use crate::model::ServedModel;
use crate::prepare::{self, Limits, Prepared};
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
        let limits = Limits {
            max_choices: self.config.max_choices,
            max_prompt_logprobs_bytes: self.config.max_prompt_logprobs_bytes,
        };
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
        exchange.begin(choices, prompt_tokens, prepared.clamped);
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
    let format = model.format.filter(|_| generation.tools);
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
            let parser = match format {
                Some(format) => (format.build)(fastrand::u64(..)),
                None => Box::new(Plain::new(false)),
            };
            let telling = generation.logprobs.map(|_| Telling::new(speller.clone(), echoed));
            choices.push(Choice::new(
                Detokenizer::new(&model.tokenizer, skip, tail).flush_at_specials(format.is_some()),
                stop.clone(),
                generation.min_tokens,
                parser,
                format.is_some(),
                telling,
                generation.tell_ends,
            ));
        }
    }
    choices
}
