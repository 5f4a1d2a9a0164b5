//! Beam search over one prompt: the likeliest texts instead of drawn ones.
//!
//! As in transformers' `generate` with `early_stopping=False`: of the best continuations (so many that enough are left
//! however many of them end) those of the first width that end are done, the first width that do not go on; it is over
//! when no running text can beat the worst that is done. Every text of a step is a sequence of its own with one token to make; the prefix cache has all but the last
//! few of its tokens.

use std::sync::Arc;

use overt_link::{Finish, Logprobs, Params};
use overt_sched::SeqId;
use overt_text::StopMatcher;

use crate::request::{Model, end_of};

pub(crate) struct Search {
    prompt: Arc<[u32]>,
    width: usize,
    /// Tokens that end a text.
    ends: usize,
    length_penalty: f32,
    /// Tokens a text may have.
    most: u32,
    /// Texts that go on, the likeliest first.
    pub(crate) beams: Vec<Beam>,
    /// Of these, still at work.
    waiting: usize,
    /// Prompt tokens that the first step read from the prefix cache.
    pub(crate) cached: Option<u32>,
    done: Vec<Text>,
}

#[derive(Clone)]
pub(crate) struct Beam {
    pub(crate) seq: SeqId,
    tokens: Vec<u32>,
    told: Vec<Logprobs>,
    sum: f32,
    stop: StopMatcher,
    answer: Option<Logprobs>,
}

/// A text that ended.
pub(crate) struct Text {
    pub(crate) tokens: Vec<u32>,
    pub(crate) told: Vec<Logprobs>,
    pub(crate) finish: Finish,
    score: f32,
}

/// Alternatives to ask of every text: of more, none can matter.
pub(crate) fn alternatives(width: u32, params: &Params, model: &Model) -> u32 {
    let ends = u32::try_from(ends(params, model)).unwrap_or(u32::MAX);
    width.saturating_add(ends.max(width))
}

/// Tokens that end a text.
fn ends(params: &Params, model: &Model) -> usize {
    let eos = if params.ignore_eos { 0 } else { model.eos_token_ids.len() };
    eos + params.stop_token_ids.len()
}

struct Candidate {
    sum: f32,
    beam: usize,
    token: u32,
    told: Logprobs,
}

impl Search {
    /// A search that begins with `prompt` alone, as sequence `seq`.
    pub(crate) fn new(
        prompt: Arc<[u32]>,
        width: u32,
        params: &Params,
        model: &Model,
        stop: StopMatcher,
        seq: SeqId,
    ) -> Self {
        let room = model.max_model_len.saturating_sub(u32::try_from(prompt.len()).unwrap_or(0));
        let first =
            Beam { seq, tokens: Vec::new(), told: Vec::new(), sum: 0.0, stop, answer: None };
        Self {
            prompt,
            width: width as usize,
            ends: ends(params, model),
            length_penalty: params.beam.map_or(1.0, |beam| beam.length_penalty),
            most: params.max_tokens.min(room),
            beams: vec![first],
            waiting: 1,
            cached: None,
            done: Vec::new(),
        }
    }

    /// The likeliest continuations of text `beam` are known. Whether those of all texts are.
    pub(crate) fn answer(&mut self, beam: usize, answer: Logprobs) -> bool {
        let Some(beam) = self.beams.get_mut(beam) else { return false };
        if beam.answer.replace(answer).is_none() {
            self.waiting -= 1;
        }
        self.waiting == 0
    }

    /// Makes the next step's texts from the answers. Whether the search is over.
    pub(crate) fn advance(&mut self, params: &Params, model: &Model) -> bool {
        let candidates = self.candidates(params.logprobs.unwrap_or(0) as usize);
        let length = self.beams.first().map_or(0, |beam| beam.tokens.len()) + 1;
        let last = length >= self.most as usize;
        let scale = (length as f32).powf(self.length_penalty);
        let mut next: Vec<Beam> = Vec::with_capacity(self.width);
        for (place, candidate) in candidates.into_iter().enumerate() {
            let mut beam = self.beams[candidate.beam].clone();
            beam.answer = None;
            beam.sum = candidate.sum;
            beam.tokens.push(candidate.token);
            beam.told.push(candidate.told);
            let end = end_of(candidate.token, &mut beam.stop, params, model)
                .or_else(|| last.then_some(Finish::Length));
            match end {
                Some(finish) if place < self.width => self.done.push(Text {
                    tokens: beam.tokens,
                    told: beam.told,
                    finish,
                    score: candidate.sum / scale,
                }),
                None if next.len() < self.width => next.push(beam),
                _ => {}
            }
        }
        self.done.sort_by(|one, other| other.score.total_cmp(&one.score));
        self.done.truncate(self.width);
        let hope = next.first().map(|best| best.sum / scale);
        self.waiting = next.len();
        self.beams = next;
        match (hope, self.done.last()) {
            (None, _) => true,
            (Some(hope), Some(worst)) => self.done.len() == self.width && worst.score >= hope,
            (Some(_), None) => false,
        }
    }

    /// The likeliest continuations over all texts, the likeliest first: enough for width that go on.
    fn candidates(&mut self, alternatives: usize) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for (index, beam) in self.beams.iter_mut().enumerate() {
            let answer = beam.answer.take().unwrap_or_default();
            let shown: Vec<_> = answer.top.iter().copied().take(alternatives).collect();
            for (rank, &(token, logprob)) in (1..).zip(&answer.top) {
                if logprob.is_finite() {
                    let told = Logprobs { logprob, rank, top: shown.clone() };
                    let sum = beam.sum + logprob;
                    candidates.push(Candidate { sum, beam: index, token, told });
                }
            }
        }
        candidates.sort_by(|one, other| other.sum.total_cmp(&one.sum));
        candidates.truncate((self.ends + 1).max(2) * self.width);
        candidates
    }

    /// The tokens that text `beam` begins its next step with.
    pub(crate) fn input(&self, beam: usize) -> Arc<[u32]> {
        self.prompt.iter().chain(&self.beams[beam].tokens).copied().collect()
    }

    /// The best texts, the best first, at most the width.
    pub(crate) fn texts(&mut self) -> Vec<Text> {
        std::mem::take(&mut self.done)
    }
}
