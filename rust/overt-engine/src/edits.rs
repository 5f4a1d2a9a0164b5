//! What a step changes of its rows' logits and wants to know of them, as one block of int32 words.
//!
//! Only rows that need something stand in it: bytes follow the entries, not rows times vocabulary.

use overt_grammar::MatchError;
use overt_sched::{Plan, Row, Scheduler};

use crate::request::{Choice, Model, Request};

/// Words of the block's header.
pub const HEADER_WORDS: usize = 10;

/// The lists of one step, each a column.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    bias: [Vec<i32>; 3],
    penalty: [Vec<i32>; 3],
    allowed_rows: Vec<i32>,
    allowed_starts: Vec<i32>,
    allowed_ids: Vec<i32>,
    prompt: [Vec<i32>; 2],
    logprob_rows: Vec<i32>,
    mask_rows: Vec<i32>,
    /// Masks of `mask_rows`, one behind the other, of `mask_words` words each.
    masks: Vec<u32>,
    mask_words: usize,
    asked: Asked,
    banned: Vec<u32>,
}

/// What a step was asked to tell of its rows, in the order of its answers.
#[derive(Debug, Default, Clone)]
pub(crate) struct Asked {
    /// Rows whose token's log probability is wanted.
    pub(crate) rows: Vec<u32>,
    /// Alternatives beside it, the most of any row.
    pub(crate) top: u32,
    /// Stretches of prompts.
    pub(crate) prompts: Vec<Stretch>,
    /// Alternatives, the most of any stretch.
    pub(crate) prompt_top: u32,
}

/// Tokens of a prompt whose log probabilities a step tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) request: u64,
    pub(crate) choice: u32,
    /// Place of the first in the prompt.
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Edits {
    /// Adds what `row`, the `at`-th of its step, needs.
    pub(crate) fn add(
        &mut self,
        at: usize,
        row: &Row,
        request: &mut Request,
        index: usize,
        scheduler: &Scheduler,
        model: &Model,
    ) -> Result<(), MatchError> {
        let at = word(at);
        if row.sample {
            let forced = request.choices[index].constraint.forced();
            if let Some(token) = forced {
                self.allow(at, &[token]);
            } else {
                self.mask(at, request, index, model)?;
                let choice = &request.choices[index];
                self.ban(at, row, request, choice, scheduler, model);
                self.penalise(at, request, choice);
                if let Some(ids) = &request.params.allowed_token_ids {
                    self.allow(at, ids);
                }
            }
            if let Some(top) = request.alternatives {
                self.logprob_rows.push(at);
                self.asked.rows.push(at.cast_unsigned());
                self.asked.top = self.asked.top.max(top);
            }
        }
        Ok(())
    }

    fn allow(&mut self, at: i32, ids: &[u32]) {
        self.allowed_rows.push(at);
        self.allowed_starts.push(word(self.allowed_ids.len()));
        self.allowed_ids.extend(ids.iter().map(|id| id.cast_signed()));
    }

    /// The tokens that the choice's grammar allows.
    fn mask(
        &mut self,
        at: i32,
        request: &mut Request,
        index: usize,
        model: &Model,
    ) -> Result<(), MatchError> {
        let Some(matcher) = &mut request.choices[index].constraint.matcher else { return Ok(()) };
        self.mask_words = overt_grammar::words(model.table.len());
        let start = self.masks.len();
        self.masks.resize(start + self.mask_words, 0);
        let mask = &mut self.masks[start..];
        if let Err(error) = matcher.fill(mask) {
            self.masks.truncate(start);
            return Err(error);
        }
        if request.params.ignore_eos {
            // The grammar's own end still ends the choice.
            for &end in &model.eos_token_ids {
                if let Some(word) = mask.get_mut(end as usize / 32) {
                    *word &= !(1 << (end % 32));
                }
            }
        }
        self.mask_rows.push(at);
        Ok(())
    }

    /// Asks for the log probabilities of the prompt tokens that follow those of `row`. Returns the place of the
    /// first prompt token that is still not asked for.
    pub(crate) fn ask_prompt(
        &mut self,
        row: &Row,
        owner: (u64, u32),
        top: u32,
        asked: u32,
        prompt: &[u32],
    ) -> u32 {
        let Some((first, end)) = stretch(row, asked, prompt.len()) else { return asked };
        let start = row.seq_len - row.query_len;
        for place in first..end {
            self.prompt[0].push((row.query_start + place - 1 - start).cast_signed());
            self.prompt[1].push(prompt[place as usize].cast_signed());
        }
        let (request, choice) = owner;
        self.asked.prompts.push(Stretch { request, choice, first, count: end - first });
        self.asked.prompt_top = self.asked.prompt_top.max(top);
        end
    }

    /// Biases and bans, each token once: a banned one needs no bias.
    fn ban(
        &mut self,
        at: i32,
        row: &Row,
        request: &Request,
        choice: &Choice,
        scheduler: &Scheduler,
        model: &Model,
    ) {
        let params = &request.params;
        self.banned.clear();
        if choice.made < params.min_tokens {
            self.banned.extend(&params.stop_token_ids);
            if !params.ignore_eos {
                self.banned.extend(&model.eos_token_ids);
            }
        }
        if !params.bad_words.is_empty() {
            let tokens = scheduler.tokens(row.seq).unwrap_or_default();
            let made = &tokens[tokens.len().saturating_sub(choice.made as usize)..];
            self.banned.extend(params.bad_words.iter().filter_map(|word| {
                let (last, before) = word.split_last()?;
                made.ends_with(before).then_some(*last)
            }));
        }
        self.banned.sort_unstable();
        self.banned.dedup();
        for &token in &self.banned {
            push(&mut self.bias, [at, token.cast_signed(), bits(f32::NEG_INFINITY)]);
        }
        for &(token, bias) in &params.logit_bias {
            if self.banned.binary_search(&token).is_err() {
                push(&mut self.bias, [at, token.cast_signed(), bits(bias)]);
            }
        }
    }

    fn penalise(&mut self, at: i32, request: &Request, choice: &Choice) {
        if let Some(counts) = &choice.counts {
            let skip_unmade = !request.repeats();
            for &(token, count) in counts.entries() {
                if count > 0 || !skip_unmade {
                    push(
                        &mut self.penalty,
                        [at, token.cast_signed(), i32::try_from(count).unwrap_or(i32::MAX)],
                    );
                }
            }
        }
    }

    /// The block, and what its answers are; none when no row needs anything. Empties the lists.
    pub(crate) fn take(&mut self) -> Option<(Vec<u8>, Asked)> {
        self.allowed_starts.push(word(self.allowed_ids.len()));
        let header = [
            word(self.bias[0].len()),
            word(self.penalty[0].len()),
            word(self.allowed_rows.len()),
            word(self.allowed_ids.len()),
            word(self.prompt[0].len()),
            self.asked.prompt_top.cast_signed(),
            word(self.logprob_rows.len()),
            self.asked.top.cast_signed(),
            word(self.mask_rows.len()),
            word(self.mask_words),
        ];
        let mut lists: Vec<&mut Vec<i32>> = Vec::new();
        lists.extend(&mut self.bias);
        lists.extend(&mut self.penalty);
        lists.extend([&mut self.allowed_rows, &mut self.allowed_starts, &mut self.allowed_ids]);
        lists.extend(&mut self.prompt);
        lists.push(&mut self.logprob_rows);
        lists.push(&mut self.mask_rows);
        // The one start of no rows is no entry.
        let words =
            HEADER_WORDS + lists.iter().map(|list| list.len()).sum::<usize>() + self.masks.len();
        let empty = words == HEADER_WORDS + 1;
        let mut bytes = Vec::with_capacity(if empty { 0 } else { words * 4 });
        if !empty {
            bytes.extend_from_slice(bytemuck::cast_slice(&header));
        }
        for list in lists {
            if !empty {
                bytes.extend_from_slice(bytemuck::cast_slice(list));
            }
            list.clear();
        }
        bytes.extend_from_slice(bytemuck::cast_slice(&self.masks));
        self.masks.clear();
        let asked = std::mem::take(&mut self.asked);
        (!empty).then_some((bytes, asked))
    }
}

/// Prompt tokens `[first, end)` whose log probabilities `row` can tell: those behind its own tokens that were not
/// asked for yet.
fn stretch(row: &Row, asked: u32, prompt_len: usize) -> Option<(u32, u32)> {
    let start = row.seq_len - row.query_len;
    let first = asked.max(start + 1);
    let end = (row.seq_len + 1).min(u32::try_from(prompt_len).unwrap_or(u32::MAX));
    (first < end).then_some((first, end))
}

/// Whether some row of `plan` tells log probabilities of its prompt.
pub(crate) fn asks_prompt<'a>(
    plan: &Plan,
    mut owner: impl FnMut(u64) -> Option<&'a Choice>,
    mut prompt_len: impl FnMut(u64) -> Option<u32>,
) -> bool {
    plan.rows.iter().any(|row| {
        let Some(asked) = owner(row.seq).and_then(|choice| choice.prompt_asked) else {
            return false;
        };
        prompt_len(row.seq).is_some_and(|len| stretch(row, asked, len as usize).is_some())
    })
}

fn push(columns: &mut [Vec<i32>; 3], values: [i32; 3]) {
    for (column, value) in columns.iter_mut().zip(values) {
        column.push(value);
    }
}

fn word(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn bits(value: f32) -> i32 {
    value.to_bits().cast_signed()
}
