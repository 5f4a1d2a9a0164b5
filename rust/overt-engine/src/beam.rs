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

/// A text that goes on.
pub(crate) struct Beam {
    pub(crate) seq: SeqId,
    /// Its last token; none: it has none yet.
    last: Option<Arc<Node>>,
    length: usize,
    sum: f32,
    stop: StopMatcher,
    answer: Option<Logprobs>,
}

/// A token of a text. Texts that began alike share their beginnings.
struct Node {
    token: u32,
    told: Logprobs,
    before: Option<Arc<Node>>,
}

impl Drop for Node {
    /// One after the other: texts are longer than a stack is deep.
    fn drop(&mut self) {
        let mut before = self.before.take();
        while let Some(mut node) = before.and_then(Arc::into_inner) {
            before = node.before.take();
        }
    }
}

/// A text that ended.
pub(crate) struct Text {
    last: Arc<Node>,
    pub(crate) finish: Finish,
    score: f32,
}

impl Text {
    /// Its tokens with what is told of each, in order.
    pub(crate) fn tokens(&self) -> Vec<(u32, Logprobs)> {
        let mut tokens: Vec<_> =
            nodes(Some(&self.last)).map(|node| (node.token, node.told.clone())).collect();
        tokens.reverse();
        tokens
    }
}

/// A text's tokens, the last one first.
fn nodes(last: Option<&Arc<Node>>) -> impl Iterator<Item = &Node> {
    std::iter::successors(last.map(Arc::as_ref), |node| node.before.as_deref())
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

/// A text with one more token.
struct Candidate {
    sum: f32,
    beam: usize,
    token: u32,
    logprob: f32,
    rank: u32,
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
        let first = Beam { seq, last: None, length: 0, sum: 0.0, stop, answer: None };
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
        let candidates = self.candidates();
        let alternatives = params.logprobs.unwrap_or(0) as usize;
        let length = self.beams.first().map_or(0, |beam| beam.length) + 1;
        let last = length >= self.most as usize;
        let scale = (length as f32).powf(self.length_penalty);
        let mut next: Vec<Beam> = Vec::with_capacity(self.width);
        for (place, candidate) in candidates.into_iter().enumerate() {
            if place >= self.width && next.len() >= self.width {
                break;
            }
            let parent = &self.beams[candidate.beam];
            let mut stop = parent.stop.clone();
            let end = end_of(candidate.token, &mut stop, params, model)
                .or_else(|| last.then_some(Finish::Length));
            let wanted = if end.is_some() { place < self.width } else { next.len() < self.width };
            if !wanted {
                continue;
            }
            let top = parent.answer.iter().flat_map(|answer| &answer.top).take(alternatives);
            let told = Logprobs {
                logprob: candidate.logprob,
                rank: candidate.rank,
                top: top.copied().collect(),
            };
            let node = Arc::new(Node { token: candidate.token, told, before: parent.last.clone() });
            match end {
                Some(finish) => {
                    self.done.push(Text { last: node, finish, score: candidate.sum / scale });
                }
                None => next.push(Beam {
                    seq: 0,
                    last: Some(node),
                    length,
                    sum: candidate.sum,
                    stop,
                    answer: None,
                }),
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
    fn candidates(&self) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for (index, beam) in self.beams.iter().enumerate() {
            for (rank, &(token, logprob)) in (1..).zip(beam.answer.iter().flat_map(|it| &it.top)) {
                if logprob.is_finite() {
                    let sum = beam.sum + logprob;
                    candidates.push(Candidate { sum, beam: index, token, logprob, rank });
                }
            }
        }
        candidates.sort_by(|one, other| other.sum.total_cmp(&one.sum));
        candidates.truncate((self.ends + 1).max(2) * self.width);
        candidates
    }

    /// The tokens that text `beam` begins its next step with.
    pub(crate) fn input(&self, beam: usize) -> Arc<[u32]> {
        let mut tokens = self.prompt.to_vec();
        tokens.extend(nodes(self.beams[beam].last.as_ref()).map(|node| node.token));
        tokens[self.prompt.len()..].reverse();
        tokens.into()
    }

    /// The best texts, the best first, at most the width.
    pub(crate) fn texts(&mut self) -> Vec<Text> {
        std::mem::take(&mut self.done)
    }
}
