//! The engine's state and its two calls a step: `schedule` and `decide`.

use std::collections::VecDeque;
use std::sync::Arc;

use overt_link::{Batch, Failure, Gauges, LinkError, Row, Sender, Started, ToEngine, ToFront};
use overt_sched::{Layout, Plan, RowResult, Scheduler, SeqId, arena};
use overt_text::TokenTable;
use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::columns::{self, COLUMNS, FLAG_ALL_GREEDY};
use crate::inbox::Inbox;
use crate::request::{Model, Request};

/// The engine's limits; the process that loads the model decides them.
#[derive(Debug, Clone, Deserialize)]
pub struct Config {
    /// Tokens a KV block.
    pub block_size: u32,
    /// Blocks of the pool, block 0 included, which only padding rows write.
    pub num_blocks: u32,
    /// Sequences that may run at once.
    pub max_num_seqs: u32,
    /// Tokens a step.
    pub max_num_batched_tokens: u32,
    /// Tokens of a sequence, prompt and output.
    pub max_model_len: u32,
    /// Sequences that may wait; 0 is no bound.
    pub max_queued: u32,
    /// Whether prompts are looked up in the prefix cache.
    pub prefix_cache: bool,
    /// Whether a step is scheduled while the one before it runs.
    pub overlap: bool,
    /// Seeds the prefix cache's hash, secret from clients.
    pub hash_seed: u64,
    /// A request that waited longer goes first.
    pub starvation_us: u64,
    /// Tokens that end a choice.
    pub eos_token_ids: Vec<u32>,
}

/// Why the engine cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The API process is gone.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The caller's arena is smaller than the layout.
    #[error("the step arena has {given} words; the layout needs {needed}")]
    Arena {
        /// Words given.
        given: usize,
        /// Words needed.
        needed: usize,
    },
    /// The caller names a plan that is not running, or gives it too few tokens.
    #[error("plan {plan} {problem}")]
    Plan {
        /// The plan.
        plan: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// One row of a plan, for runners that make tokens without a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowInfo {
    /// The request as the API process named it.
    pub request: u64,
    /// The choice.
    pub choice: u32,
    /// The prompt's tokens.
    pub prompt: Vec<u32>,
    /// Tokens made so far.
    pub made: u32,
}

/// The engine: everything between the link and the model.
pub struct Engine {
    pub(crate) scheduler: Scheduler,
    layout: Layout,
    pub(crate) model: Model,
    overlap: bool,
    link: Sender<ToFront>,
    pub(crate) inbox: Inbox,
    pub(crate) mail: VecDeque<ToEngine>,
    pub(crate) requests: FxHashMap<u64, Request>,
    pub(crate) owners: FxHashMap<SeqId, (u64, u32)>,
    pub(crate) next_seq: SeqId,
    pub(crate) news: Batch,
    results: Vec<RowResult>,
    counters: Gauges,
    reported: Gauges,
    running: VecDeque<u64>,
}

impl Engine {
    /// An engine that answers over `link`.
    #[must_use]
    pub fn new(
        config: &Config,
        table: Arc<TokenTable>,
        link: Sender<ToFront>,
        inbox: Inbox,
    ) -> Self {
        // The health probe has a row and a block of its own.
        let rows = config.max_num_seqs + 1;
        let layout = arena::layout(
            rows as usize,
            (config.max_num_batched_tokens + 1) as usize,
            config.max_model_len.div_ceil(config.block_size) as usize,
            COLUMNS.len(),
        );
        let scheduler = Scheduler::new(overt_sched::Config {
            block_size: config.block_size,
            num_blocks: config.num_blocks,
            max_num_seqs: config.max_num_seqs,
            max_num_batched_tokens: config.max_num_batched_tokens,
            max_model_len: config.max_model_len,
            max_queued: config.max_queued,
            hash_seed: config.hash_seed,
            starvation_us: config.starvation_us,
            prefix_cache: config.prefix_cache,
            max_outstanding: if config.overlap { 2 } else { 1 },
        });
        let model = Model {
            table,
            eos_token_ids: config.eos_token_ids.clone(),
            max_model_len: config.max_model_len,
            most_sequences: match config.max_queued {
                0 => usize::MAX,
                queued => (config.max_num_seqs + queued) as usize,
            },
        };
        Self {
            scheduler,
            layout,
            model,
            overlap: config.overlap,
            link,
            inbox,
            mail: VecDeque::new(),
            requests: FxHashMap::default(),
            owners: FxHashMap::default(),
            next_seq: 0,
            news: Batch::default(),
            results: Vec::new(),
            counters: Gauges::default(),
            reported: Gauges::default(),
            running: VecDeque::new(),
        }
    }

    /// The arena's layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether the caller may schedule a step before it decides the one before it.
    #[must_use]
    pub fn overlaps(&self) -> bool {
        self.overlap
    }

    /// The mailbox, to wait on while nothing can run.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Says something outside a step: hello, or why there will be none.
    ///
    /// # Errors
    /// The API process is gone.
    pub fn say(&self, message: &ToFront) -> Result<(), EngineError> {
        Ok(self.link.send(message)?)
    }

    /// Reads the mail and plans a step into `arena`; `None` when nothing can run now.
    ///
    /// # Errors
    /// The API process is gone, or the arena is too small.
    pub fn schedule(
        &mut self,
        now_us: u64,
        arenas: [&mut [i32]; 2],
    ) -> Result<Option<u64>, EngineError> {
        self.read_mail(now_us);
        let Some(id) = self.scheduler.schedule(now_us) else {
            if self.running.is_empty() {
                self.send_news_if_any()?;
            }
            return Ok(None);
        };
        let [even, odd] = arenas;
        let arena = if id % 2 == 0 { even } else { odd };
        self.write_arena(id, arena)?;
        self.running.push_back(id);
        Ok(Some(id))
    }

    fn write_arena(&self, id: u64, arena: &mut [i32]) -> Result<(), EngineError> {
        let given = arena.len();
        let (owners, requests) = (&self.owners, &self.requests);
        let mut write_params = |seq: SeqId, row: &mut [i32]| {
            if let Some((request, choice)) = find(owners, requests, seq) {
                columns::write(&request.params, request.choices[choice].number, row);
            }
        };
        arena::write(&self.scheduler, id, &self.layout, &mut write_params, arena)
            .map_err(|_| EngineError::Arena { given, needed: self.layout.words() })?;
        let greedy = self.plan(id)?.rows.iter().all(|row| {
            find(owners, requests, row.seq)
                .is_none_or(|(request, _)| columns::is_greedy(&request.params))
        });
        let flags = arena::header_index("flags").unwrap_or(0);
        arena[flags] = if greedy { FLAG_ALL_GREEDY } else { 0 };
        Ok(())
    }

    /// Applies a step's tokens, one a row (-1: the logits were not finite), and tells the API process.
    ///
    /// # Errors
    /// The API process is gone, or the plan is not running.
    pub fn decide(&mut self, id: u64, tokens: &[i32]) -> Result<(), EngineError> {
        if self.running.front() != Some(&id) {
            return Err(EngineError::Plan { plan: id, problem: "is not the oldest that runs" });
        }
        if tokens.len() < self.plan(id)?.rows.len() {
            return Err(EngineError::Plan {
                plan: id,
                problem: "has more rows than tokens were given",
            });
        }
        self.running.pop_front();
        let mut results = std::mem::take(&mut self.results);
        results.clear();
        let mut broken = Vec::new();
        let mut freed = Vec::new();
        if let Some(plan) = self.scheduler.plan(id) {
            for (row, &token) in plan.rows.iter().zip(tokens) {
                let result = if row.sample {
                    decide_row(
                        row,
                        token,
                        &mut self.requests,
                        &self.owners,
                        &self.model,
                        &mut self.news,
                        &mut broken,
                        &mut freed,
                    )
                } else {
                    RowResult::None
                };
                results.push(result);
            }
        }
        self.scheduler.complete(id, &results);
        self.results = results;
        for (request, choice) in freed {
            self.release_followers(request, choice);
        }
        for request in broken {
            self.fail_request(request, Failure::NotFinite);
        }
        self.forget_finished();
        self.counters.steps += 1;
        self.send_news()
    }

    /// The running steps raised: their requests fail, all KV is dropped, everyone else recomputes.
    ///
    /// # Errors
    /// The API process is gone.
    pub fn fail(&mut self) -> Result<(), EngineError> {
        let mut failing: Vec<u64> = self
            .running
            .iter()
            .filter_map(|id| self.scheduler.plan(*id))
            .flat_map(|plan| plan.rows.iter())
            .filter_map(|row| self.owners.get(&row.seq).map(|(request, _)| *request))
            .collect();
        failing.sort_unstable();
        failing.dedup();
        self.running.clear();
        for request in failing {
            self.fail_request(request, Failure::Step);
        }
        self.scheduler.drop_all_kv();
        self.counters.step_failures += 1;
        self.send_news()
    }

    /// A row of a running plan.
    #[must_use]
    pub fn row(&self, plan: u64, row: usize) -> Option<RowInfo> {
        let row = self.scheduler.plan(plan)?.rows.get(row)?;
        let (request, choice) = *self.owners.get(&row.seq)?;
        let prompt_len = self.scheduler.prompt_len(row.seq)? as usize;
        let prompt = self.scheduler.tokens(row.seq)?.get(..prompt_len)?.to_vec();
        let made = self.requests.get(&request)?.choices.get(choice as usize)?.made;
        Some(RowInfo { request, choice, prompt, made: made + u32::from(row.input_pending) })
    }

    fn plan(&self, id: u64) -> Result<&Plan, EngineError> {
        self.scheduler.plan(id).ok_or(EngineError::Plan { plan: id, problem: "is not running" })
    }

    fn forget_finished(&mut self) {
        for row in self.news.rows.iter().filter(|row| row.finish.is_some()) {
            let Some(request) = self.requests.get(&row.request) else { continue };
            if request.live > 0 {
                self.owners.remove(&request.choices[row.choice as usize].seq);
            } else if let Some(request) = self.requests.remove(&row.request) {
                for choice in &request.choices {
                    self.owners.remove(&choice.seq);
                }
            }
        }
    }

    /// Sequences that the engine remembers: none when it is idle.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.owners.len().max(self.requests.len())
    }

    fn gauges(&self) -> Gauges {
        let stats = self.scheduler.stats();
        Gauges {
            running: u64::from(stats.running),
            waiting: u64::from(stats.waiting),
            blocks_used: u64::from(stats.blocks_used),
            blocks_cached: u64::from(stats.blocks_cached),
            blocks_total: u64::from(stats.blocks_total),
            preemptions: stats.preemptions,
            prefix_queries: stats.prefix_queries_tokens,
            prefix_hits: stats.prefix_hit_tokens,
            step_failures: self.counters.step_failures,
            steps: self.counters.steps,
        }
    }

    fn send_news_if_any(&mut self) -> Result<(), EngineError> {
        let unsaid = !self.news.admitted.is_empty()
            || !self.news.refused.is_empty()
            || !self.news.failed.is_empty();
        if unsaid || self.gauges() != self.reported { self.send_news() } else { Ok(()) }
    }

    fn send_news(&mut self) -> Result<(), EngineError> {
        self.news.gauges = self.gauges();
        self.reported = self.news.gauges;
        let message = ToFront::Batch(Box::new(std::mem::take(&mut self.news)));
        let sent = self.link.send(&message);
        // Keep the lists' memory for the next step.
        if let ToFront::Batch(mut news) = message {
            news.admitted.clear();
            news.refused.clear();
            news.started.clear();
            news.rows.clear();
            news.failed.clear();
            self.news = *news;
        }
        Ok(sent?)
    }
}

fn find<'a>(
    owners: &FxHashMap<SeqId, (u64, u32)>,
    requests: &'a FxHashMap<u64, Request>,
    seq: SeqId,
) -> Option<(&'a Request, usize)> {
    let (request, choice) = owners.get(&seq)?;
    Some((requests.get(request)?, *choice as usize))
}

#[expect(
    clippy::too_many_arguments,
    reason = "the plan borrows the scheduler while the rest of the engine changes"
)]
fn decide_row(
    row: &overt_sched::Row,
    token: i32,
    requests: &mut FxHashMap<u64, Request>,
    owners: &FxHashMap<SeqId, (u64, u32)>,
    model: &Model,
    news: &mut Batch,
    broken: &mut Vec<u64>,
    freed: &mut Vec<(u64, u32)>,
) -> RowResult {
    // A sequence that ended or was aborted since has no owner: its token is dropped.
    let Some(&(id, index)) = owners.get(&row.seq) else { return RowResult::Finish };
    let Some(request) = requests.get_mut(&id) else { return RowResult::Finish };
    let choice = &mut request.choices[index as usize];
    let Ok(token) = u32::try_from(token) else {
        if !broken.contains(&id) {
            broken.push(id);
        }
        return RowResult::Finish;
    };
    if choice.made == 0 {
        news.started.push(Started { request: id, choice: index, cached_tokens: row.cached_tokens });
        if choice.number == 0 {
            freed.push((id, index));
        }
    }
    let finish = choice.push(token, row.seq_len + 1, &request.params, model);
    news.rows.push(Row { request: id, choice: index, token, finish });
    if finish.is_some() {
        choice.done = true;
        request.live -= 1;
        return RowResult::Finish;
    }
    RowResult::Token(token)
}
