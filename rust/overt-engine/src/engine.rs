//! The engine's state and its two calls a step: `schedule` and `decide`.

use std::collections::VecDeque;
use std::sync::Arc;

use overt_link::{Batch, Failure, Gauges, PromptLogprobs, Sender, ToFront};
use overt_sched::{Layout, Plan, RowResult, Scheduler, SeqId, arena};
use overt_text::TokenTable;
use rustc_hash::FxHashMap;

use crate::answers::Table;
use crate::columns::{self, COLUMNS, FLAG_ALL_GREEDY, FLAG_PROMPT_LOGPROBS};
use crate::config::{Config, EngineError};
use crate::decide::{Decided, decide_row};
use crate::edits::{self, Asked, Edits};
use crate::inbox::{Inbox, Mail};
use crate::request::{Model, Request};

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
    pub(crate) mail: VecDeque<Mail>,
    pub(crate) requests: FxHashMap<u64, Request>,
    pub(crate) owners: FxHashMap<SeqId, (u64, u32)>,
    pub(crate) next_seq: SeqId,
    pub(crate) news: Batch,
    results: Vec<RowResult>,
    counters: Gauges,
    reported: Gauges,
    running: VecDeque<Running>,
    edits: Edits,
    pub(crate) now: u64,
}

/// A plan that is out.
struct Running {
    id: u64,
    /// Some row of it has entries in the step's edits.
    edited: bool,
    /// What it was asked to tell.
    asked: Asked,
    /// Requests whose grammars cannot be followed any further; what their rows make is dropped.
    stuck: Vec<(u64, String)>,
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
            edits: Edits::default(),
            now: 0,
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
        let edited = self.write_arena(id, arena)?;
        self.running.push_back(Running { id, edited, asked: Asked::default(), stuck: Vec::new() });
        Ok(Some(id))
    }

    /// Whether some row of the plan has entries in its edits.
    fn write_arena(&self, id: u64, arena: &mut [i32]) -> Result<bool, EngineError> {
        let given = arena.len();
        let (owners, requests) = (&self.owners, &self.requests);
        let mut write_params = |seq: SeqId, row: &mut [i32]| {
            if let Some((request, choice)) = find(owners, requests, seq) {
                columns::write(&request.params, request.choices[choice].number, row);
            }
        };
        arena::write(&self.scheduler, id, &self.layout, &mut write_params, arena)
            .map_err(|_| EngineError::Arena { given, needed: self.layout.words() })?;
        let plan = self.plan(id)?;
        let (mut greedy, mut edited) = (true, false);
        for row in &plan.rows {
            if let Some((request, _)) = find(owners, requests, row.seq) {
                greedy &= columns::is_greedy(&request.params);
                edited |= request.edited;
            }
        }
        let asks_prompt = edited
            && edits::asks_prompt(
                plan,
                |seq| find(owners, requests, seq).map(|(request, choice)| &request.choices[choice]),
                |seq| self.scheduler.prompt_len(seq),
            );
        let flags = arena::header_index("flags").unwrap_or(0);
        arena[flags] = if greedy { FLAG_ALL_GREEDY } else { 0 }
            | if asks_prompt { FLAG_PROMPT_LOGPROBS } else { 0 };
        Ok(edited)
    }

    /// What a plan changes of its rows' logits and wants to know of them, for the step's sampling; none: nothing.
    /// To be asked for when the plan before it is decided, since it follows what was made.
    ///
    /// int32 words in the machine's byte order: a header of 10 (entries of bias, of penalty; rows and ids of allowed;
    /// entries of prompt and the most alternatives of one; rows of logprobs and the most alternatives of one; rows of
    /// masks and words of one), then
    /// the columns: bias rows, tokens, float bits; penalty rows, tokens, counts; allowed rows, starts (one more than
    /// rows), ids; prompt positions among the step's tokens, targets; logprob rows; mask rows, then their masks, bit
    /// `i % 32` of word `i / 32` being 1 where token `i` is allowed.
    pub fn edits(&mut self, id: u64) -> Option<Vec<u8>> {
        let running = self.running.iter_mut().find(|running| running.id == id)?;
        if !running.edited {
            return None;
        }
        let plan = self.scheduler.plan(id)?;
        for (at, row) in plan.rows.iter().enumerate() {
            let Some(&owner) = self.owners.get(&row.seq) else { continue };
            let Some(request) = self.requests.get_mut(&owner.0) else { continue };
            if !request.edited {
                continue;
            }
            let index = owner.1 as usize;
            let added = self.edits.add(at, row, request, index, &self.scheduler, &self.model);
            if let Err(error) = added {
                running.stuck.push((owner.0, error.to_string()));
            }
            if let (Some(asked), Some(top)) =
                (request.choices[index].prompt_asked, request.params.prompt_logprobs)
            {
                let length = self.scheduler.prompt_len(row.seq).unwrap_or(0) as usize;
                let tokens = self.scheduler.tokens(row.seq).unwrap_or_default();
                let prompt = &tokens[..length.min(tokens.len())];
                let asked = self.edits.ask_prompt(row, owner, top, asked, prompt);
                request.choices[index].prompt_asked = Some(asked);
            }
        }
        let (block, asked) = self.edits.take()?;
        running.asked = asked;
        Some(block)
    }

    /// Applies a step's tokens, one a row (-1: the logits were not finite, -2: no token was allowed), and tells the
    /// API process. `logprobs` and `prompt_logprobs` answer the plan's edits, a row of `[log probability, rank,
    /// ids…, log probabilities…]` for each logprob row and prompt entry, floats as their bits.
    ///
    /// # Errors
    /// The API process is gone, the plan is not running, or it was given too little.
    pub fn decide(
        &mut self,
        id: u64,
        tokens: &[i32],
        logprobs: &[i32],
        prompt_logprobs: &[i32],
    ) -> Result<(), EngineError> {
        if self.running.front().map(|running| running.id) != Some(id) {
            return Err(EngineError::Plan { plan: id, problem: "is not the oldest that runs" });
        }
        if tokens.len() < self.plan(id)?.rows.len() {
            return Err(EngineError::Plan {
                plan: id,
                problem: "has more rows than tokens were given",
            });
        }
        let asked = self.running.front().map(|running| running.asked.clone()).unwrap_or_default();
        let too_few = EngineError::Plan { plan: id, problem: "asked for more log probabilities" };
        let Some(table) = Table::new(logprobs, asked.rows.len(), asked.top) else {
            return Err(too_few);
        };
        let stretches = asked.prompts.iter().map(|stretch| stretch.count as usize).sum();
        let Some(prompt_table) = Table::new(prompt_logprobs, stretches, asked.prompt_top) else {
            return Err(too_few);
        };
        let stuck = self.running.pop_front().map(|running| running.stuck).unwrap_or_default();
        self.tell_prompts(&asked, &prompt_table);
        let mut results = std::mem::take(&mut self.results);
        results.clear();
        let mut decided = Decided::default();
        for (request, reason) in stuck {
            if !decided.broken.iter().any(|(broken, _)| *broken == request) {
                decided.broken.push((request, Failure::Grammar(reason)));
            }
        }
        let mut asked_rows = asked.rows.iter().enumerate().peekable();
        if let Some(plan) = self.scheduler.plan(id) {
            for (at, (row, &token)) in plan.rows.iter().zip(tokens).enumerate() {
                let place = asked_rows.next_if(|(_, row)| **row as usize == at);
                let answer = place.map(|(place, _)| (&table, place));
                let result = if row.sample {
                    decide_row(
                        row,
                        token,
                        answer,
                        &mut self.requests,
                        &mut self.owners,
                        &self.model,
                        &mut self.news,
                        &mut decided,
                    )
                } else {
                    RowResult::None
                };
                results.push(result);
            }
        }
        self.scheduler.complete(id, &results);
        self.results = results;
        for (request, choice) in decided.freed {
            self.release_followers(request, choice);
        }
        for (request, failure) in decided.broken {
            self.fail_request(request, failure);
        }
        for (request, prompt) in decided.grown {
            self.grow(request, prompt);
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
            .filter_map(|running| self.scheduler.plan(running.id))
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

    fn tell_prompts(&mut self, asked: &Asked, table: &Table<'_>) {
        let mut at = 0;
        for stretch in &asked.prompts {
            let rows = at..at + stretch.count as usize;
            at = rows.end;
            let Some(request) = self.requests.get(&stretch.request) else { continue };
            let top = request.params.prompt_logprobs.unwrap_or(0);
            self.news.prompt_logprobs.push(PromptLogprobs {
                request: stretch.request,
                prompt: stretch.choice / request.n,
                first: stretch.first,
                tokens: rows.map(|row| table.row(row, top)).collect(),
            });
        }
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
            news.prompt_logprobs.clear();
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
