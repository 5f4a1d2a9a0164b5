//! What a row's token comes to: the next of its choice, its end, an answer of a search, or a failure.

use overt_link::{Batch, Failure, Finish, Row, Started};
use overt_sched::{RowResult, SeqId};
use rustc_hash::FxHashMap;

use crate::answers::Table;
use crate::constraint::Step;
use crate::request::{Model, Request};

/// What a step's rows came to beyond their tokens.
#[derive(Default)]
pub(crate) struct Decided {
    /// Requests that cannot go on.
    pub(crate) broken: Vec<(u64, Failure)>,
    /// Choices whose blocks others wait for.
    pub(crate) freed: Vec<(u64, u32)>,
    /// Searches, by request and prompt, that have all continuations of their texts.
    pub(crate) grown: Vec<(u64, u32)>,
}

#[expect(
    clippy::too_many_arguments,
    reason = "the plan borrows the scheduler while the rest of the engine changes"
)]
pub(crate) fn decide_row(
    row: &overt_sched::Row,
    token: i32,
    answer: Option<(&Table<'_>, usize)>,
    requests: &mut FxHashMap<u64, Request>,
    owners: &mut FxHashMap<SeqId, (u64, u32)>,
    model: &Model,
    news: &mut Batch,
    decided: &mut Decided,
) -> RowResult {
    // A sequence that ended or was aborted since has no owner: its token is dropped.
    let Some(&(id, index)) = owners.get(&row.seq) else { return RowResult::Finish };
    let Some(request) = requests.get_mut(&id) else { return RowResult::Finish };
    let Ok(token) = u32::try_from(token) else {
        if !decided.broken.iter().any(|(broken, _)| *broken == id) {
            let failure = if token == -2 { Failure::NothingAllowed } else { Failure::NotFinite };
            decided.broken.push((id, failure));
        }
        return RowResult::Finish;
    };
    let alternatives = request.alternatives.unwrap_or(0);
    let logprobs = answer.map(|(table, place)| table.row(place, alternatives));
    if !request.searches.is_empty() {
        owners.remove(&row.seq);
        let prompt = index / request.n;
        let search = &mut request.searches[prompt as usize];
        search.cached.get_or_insert(row.cached_tokens);
        if search.answer((index % request.n) as usize, logprobs.unwrap_or_default()) {
            decided.grown.push((id, prompt));
        }
        return RowResult::Finish;
    }
    let choice = &mut request.choices[index as usize];
    if choice.made == 0 {
        news.started.push(Started { request: id, choice: index, cached_tokens: row.cached_tokens });
        if choice.number == 0 {
            decided.freed.push((id, index));
        }
    }
    let mut finish = choice.push(token, row.seq_len + 1, &request.params, model);
    if finish.is_none() && !choice.constraint.is_free() {
        match choice.constraint.accept(token, &model.table) {
            Ok(Step::Goes) => {}
            Ok(Step::Complete) => finish = Some(Finish::Complete),
            Err(error) => {
                if !decided.broken.iter().any(|(broken, _)| *broken == id) {
                    decided.broken.push((id, Failure::Grammar(error.to_string())));
                }
                return RowResult::Finish;
            }
        }
    }
    news.rows.push(Row {
        request: id,
        choice: index,
        token,
        finish,
        logprobs: logprobs.map(Box::new),
    });
    if finish.is_some() {
        choice.done = true;
        request.live -= 1;
        return RowResult::Finish;
    }
    RowResult::Token(token)
}
