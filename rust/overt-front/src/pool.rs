//! The pool's threads: from a request's bytes to the engine.

use overt_link::{Submit, ToEngine};
use overt_parse::Plain;
use overt_text::{Detokenizer, StopMatcher};

use crate::choice::Choice;
use crate::error::RequestError;
use crate::generation::Generation;
use crate::model::ServedModel;
use crate::prepare::{self, Prepared};
use crate::shared::{Job, Shared, State};

impl Shared {
    pub(crate) fn prepare(&self, job: &Job) {
        let outcome = match self.model.get() {
            None => Err(RequestError::unavailable("The model is still loading.")),
            Some(model) => prepare::prepare(model, job.protocol, &job.body, &job.generation)
                .map(|prepared| (model, prepared)),
        };
        let mut state = self.state.lock();
        match outcome {
            Ok((model, prepared)) => self.send_off(&mut state, job, model, prepared),
            Err(error) => {
                state.fail(job.handle, &error);
                self.wake.set();
            }
        }
    }

    /// Under the state's lock, so that an abort can never overtake its request.
    fn send_off(&self, state: &mut State, job: &Job, model: &ServedModel, prepared: Prepared) {
        // A client that left meanwhile has no exchange any more.
        let Some(exchange) = state.exchanges.get_mut(&job.handle) else { return };
        if exchange.ended {
            return;
        }
        let generation = &job.generation;
        let format = model.format.filter(|_| generation.tools);
        let reads_specials = format.is_some();
        let choices = choices(model, generation, &prepared);
        let prompt_tokens = prepared.prompts.iter().map(|prompt| prompt.len() as u64).sum();
        exchange.begin(choices, prompt_tokens, prepared.max_tokens);
        self.tell(&ToEngine::Submit(Box::new(Submit {
            request: job.handle,
            prompts: prepared.prompts,
            n: generation.n,
            params: generation.params(prepared.max_tokens, reads_specials, &self.hasher),
        })));
    }
}

fn choices(model: &ServedModel, generation: &Generation, prepared: &Prepared) -> Vec<Choice> {
    let format = model.format.filter(|_| generation.tools);
    let stop = StopMatcher::new(&generation.stop).include_stop(generation.include_stop);
    let per_prompt = generation.n as usize;
    prepared
        .prompts
        .iter()
        .flat_map(|prompt| std::iter::repeat_n(prompt, per_prompt))
        .map(|prompt| {
            let tail = &prompt[prompt.len().saturating_sub(8)..];
            let parser = match format {
                Some(format) => (format.build)(fastrand::u64(..)),
                None => Box::new(Plain::new(false)),
            };
            Choice::new(
                Detokenizer::new(&model.tokenizer, generation.skip_special_tokens, tail)
                    .flush_at_specials(format.is_some()),
                stop.clone(),
                parser,
                format.is_some(),
            )
        })
        .collect()
}
