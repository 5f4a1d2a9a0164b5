//! A request as the engine sees it: choices that make tokens until something ends them.

use std::sync::Arc;

use overt_link::{Finish, Params, Submit};
use overt_sched::SeqId;
use overt_text::{StopMatcher, TokenTable};

pub(crate) struct Request {
    pub(crate) params: Params,
    pub(crate) choices: Vec<Choice>,
    /// Choices that make tokens still.
    pub(crate) live: usize,
    /// The reader lags.
    pub(crate) held: bool,
}

pub(crate) struct Choice {
    pub(crate) seq: SeqId,
    /// Its number within its prompt.
    pub(crate) number: u32,
    pub(crate) made: u32,
    /// Waits for choice 0 of its prompt, whose blocks it will share.
    pub(crate) follows: bool,
    pub(crate) done: bool,
    stop: StopMatcher,
}

impl Request {
    /// A request whose sequences are numbered from `first`.
    pub(crate) fn new(submit: &Submit, first: SeqId) -> Self {
        let stop = StopMatcher::new(&submit.params.stop);
        let total = submit.prompts.len() * submit.n as usize;
        let choices = (0..total)
            .map(|index| {
                let number = u32::try_from(index).unwrap_or(u32::MAX) % submit.n.max(1);
                Choice {
                    seq: first + index as u64,
                    number,
                    made: 0,
                    follows: number > 0,
                    done: false,
                    stop: stop.clone(),
                }
            })
            .collect();
        Self { params: submit.params.clone(), choices, live: total, held: false }
    }

    /// The sequences of the request with their prompts.
    pub(crate) fn sequences(submit: &Submit, first: SeqId) -> Vec<(SeqId, Arc<[u32]>)> {
        let prompts = submit.prompts.iter().flat_map(|prompt| {
            let prompt: Arc<[u32]> = prompt.as_slice().into();
            std::iter::repeat_n(prompt, submit.n as usize)
        });
        (first..).zip(prompts).collect()
    }
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
        if params.stop_token_ids.contains(&token) {
            return Some(Finish::StopToken(token));
        }
        if !params.ignore_eos && model.eos_token_ids.contains(&token) {
            return Some(Finish::EndOfTurn);
        }
        if model.table.is_special(token) && params.skip_special_tokens {
            if params.special_breaks_stop {
                self.stop.reset();
            }
        } else if let Some(index) = self.stop.push_bytes(model.table.bytes(token)) {
            return Some(Finish::StopText(u32::try_from(index).unwrap_or(u32::MAX)));
        }
        let spent = self.made >= params.max_tokens || length >= model.max_model_len;
        spent.then_some(Finish::Length)
    }
}

/// What the engine knows of the model.
pub(crate) struct Model {
    pub(crate) table: Arc<TokenTable>,
    pub(crate) eos_token_ids: Vec<u32>,
    pub(crate) max_model_len: u32,
    /// Sequences that fit the slots and the queue together.
    pub(crate) most_sequences: usize,
}
