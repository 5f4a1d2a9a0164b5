//! The scheduler's state, and everything that changes it but the making of a plan.

use std::collections::VecDeque;

use crate::config::{Config, NewSeq, Refusal, SeqId, Stats};
use crate::plan::{Plan, RowResult};
use crate::pool::Pool;
use crate::prefix::Hasher;
use crate::queue::Queue;
use crate::sequence::{Place, Sequence, Sequences};
use crate::share::Shares;

/// Waiting and running sequences, their KV blocks, and the plans that are out.
#[derive(Debug)]
pub struct Scheduler {
    pub(crate) config: Config,
    pub(crate) pool: Pool,
    pub(crate) hasher: Hasher,
    pub(crate) queue: Queue,
    pub(crate) shares: Shares,
    pub(crate) sequences: Sequences,
    /// In the order in which they are planned; the probe is not among them.
    pub(crate) running: Vec<u32>,
    pub(crate) free_slots: VecDeque<u32>,
    pub(crate) probe: Option<u32>,
    pub(crate) waiting_probes: VecDeque<u32>,
    /// Plans that are out, the oldest first.
    pub(crate) outstanding: VecDeque<Plan>,
    /// Plans that came back, kept for their memory.
    pub(crate) spare: Vec<Plan>,
    pub(crate) next_plan: u64,
    pub(crate) now: u64,
    /// The queue's head that did not fit, the pool's releases then, and the blocks that were missing: no need to look
    /// again before the next release.
    pub(crate) blocked: Option<(SeqId, u64, u32)>,
    pub(crate) counters: Stats,
    pub(crate) decodes: Vec<u32>,
    pub(crate) prefills: Vec<u32>,
    pub(crate) hits: Vec<u32>,
    arrivals: u64,
}

impl Scheduler {
    /// A scheduler with nothing to do. Sizes of 0 that must be at least 1 count as 1.
    #[must_use]
    pub fn new(mut config: Config) -> Self {
        for size in
            [&mut config.block_size, &mut config.max_num_seqs, &mut config.max_num_batched_tokens]
        {
            *size = (*size).max(1);
        }
        config.max_outstanding = config.max_outstanding.clamp(1, 2);
        Self {
            pool: Pool::new(config.num_blocks.saturating_sub(2)),
            hasher: Hasher::new(config.hash_seed, config.block_size),
            queue: Queue::default(),
            shares: Shares::default(),
            sequences: Sequences::default(),
            running: Vec::with_capacity(config.max_num_seqs as usize),
            free_slots: (0..config.max_num_seqs).collect(),
            probe: None,
            waiting_probes: VecDeque::new(),
            outstanding: VecDeque::new(),
            spare: Vec::new(),
            next_plan: 0,
            now: 0,
            blocked: None,
            counters: Stats::default(),
            decodes: Vec::new(),
            prefills: Vec::new(),
            hits: Vec::new(),
            arrivals: 0,
            config,
        }
    }

    /// Whether a request of `additional` sequences finds room: as many as there are free slots, and
    /// [`Config::max_queued`] that wait beyond them. Ask before adding the first, so that all are taken or none.
    ///
    /// # Errors
    /// [`Refusal::QueueFull`].
    pub fn check_room(&self, additional: usize) -> Result<(), Refusal> {
        let limit = self.config.max_queued;
        let waiting = self.sequences.len() - self.running.len() - self.probes();
        let room = self.free_slots.len() + limit as usize;
        if limit > 0 && waiting.saturating_add(additional) > room {
            return Err(Refusal::QueueFull { limit });
        }
        Ok(())
    }

    /// Puts a sequence into the queue. `now_us` counts microseconds from any fixed moment.
    ///
    /// # Errors
    /// Any [`Refusal`]; nothing has changed then. A probe is never refused for the queue, but has one block only.
    pub fn add(&mut self, seq: NewSeq, now_us: u64) -> Result<(), Refusal> {
        if self.sequences.find(seq.id).is_some() {
            return Err(Refusal::DuplicateId { id: seq.id });
        }
        let (prompt_len, limit) = self.check_size(&seq)?;
        if !seq.probe && !seq.has_room {
            self.check_room(1)?;
        }
        self.arrivals += 1;
        let index = self.sequences.insert(Sequence {
            id: seq.id,
            place: Place::Aside,
            tokens: seq.prompt.to_vec(),
            prompt_len,
            pending: 0,
            limit,
            computed: 0,
            indexed: 0,
            inflight: 0,
            blocks: Vec::new(),
            hashes: Vec::new(),
            root: if self.config.prefix_cache { self.hasher.root(seq.salt) } else { 0 },
            slot: 0,
            cached: 0,
            charged: 0,
            since: now_us,
            arrival: self.arrivals,
            priority: seq.priority,
            payer: self.shares.enter(seq.key, seq.user),
            read_prefix: seq.read_prefix,
            probe: seq.probe,
            held: false,
            resumed: false,
            boosted: false,
        });
        self.enqueue(index);
        Ok(())
    }

    /// Prompt length and the length at which the sequence certainly ends, or why it cannot be served.
    fn check_size(&self, seq: &NewSeq) -> Result<(u32, u32), Refusal> {
        let max_model_len = self.config.max_model_len;
        let prompt_len = u32::try_from(seq.prompt.len()).unwrap_or(u32::MAX);
        if prompt_len == 0 {
            return Err(Refusal::EmptyPrompt);
        }
        if prompt_len >= max_model_len {
            return Err(Refusal::TooLong { prompt_tokens: prompt_len, max_model_len });
        }
        let limit = prompt_len.saturating_add(seq.max_tokens.max(1)).min(max_model_len);
        // The last token's KV is never written.
        let blocks_needed = (limit - 1).div_ceil(self.config.block_size);
        let blocks_total = match seq.probe {
            true => u32::from(self.config.num_blocks >= 2),
            false => self.pool.total(),
        };
        if blocks_needed > blocks_total {
            return Err(Refusal::NeverFits { blocks_needed, blocks_total });
        }
        Ok((prompt_len, limit))
    }

    /// Ends a sequence wherever it is and frees all it has at once; rows of it that are out become stale. False when
    /// there is no such sequence.
    pub fn abort(&mut self, id: SeqId) -> bool {
        let Some(index) = self.sequences.find(id) else { return false };
        if self.sequences[index].place == Place::Running {
            self.running.retain(|&it| it != index);
        }
        self.free(index);
        true
    }

    /// Holds a sequence (`on`) or lets it go on. A held one is not planned; a running one keeps its slot and blocks
    /// as long as nobody needs them. Unknown sequences are ignored.
    pub fn hold(&mut self, id: SeqId, on: bool) {
        let Some(index) = self.sequences.find(id) else { return };
        if self.sequences[index].held == on {
            return;
        }
        self.sequences[index].held = on;
        self.blocked = None;
        match self.sequences[index].place {
            Place::Queued if on => {
                self.unqueue(index);
                self.sequences[index].place = Place::Aside;
            }
            Place::Aside => self.enqueue(index),
            _ => {}
        }
    }

    /// A plan that is out.
    #[must_use]
    pub fn plan(&self, id: u64) -> Option<&Plan> {
        self.outstanding.iter().find(|plan| plan.id == id)
    }

    /// Takes a plan's results, one a row. Plans come back in order: any but the oldest that is out is ignored, and so
    /// are rows of sequences that ended or were aborted meanwhile. A row that sampled but has no token ends its
    /// sequence, as does a token that reaches the sequence's last length.
    pub fn complete(&mut self, plan_id: u64, results: &[RowResult]) {
        let Some(plan) = self.outstanding.pop_front_if(|plan| plan.id == plan_id) else { return };
        let results = results.iter().copied().chain(std::iter::repeat(RowResult::None));
        let mut ended = false;
        for (row, result) in plan.rows.iter().zip(results) {
            let index = row.index;
            if self.sequences.get(index, row.seq).is_none() {
                continue;
            }
            let sequence = &mut self.sequences[index];
            sequence.inflight -= 1;
            sequence.pending -= u32::from(row.sample);
            let finished = match result {
                RowResult::Finish => true,
                RowResult::Token(token) if row.sample => {
                    sequence.tokens.push(token);
                    sequence.tokens.len() as u32 >= sequence.limit
                }
                RowResult::None | RowResult::Token(_) => row.sample,
            };
            if sequence.place == Place::Running {
                self.publish(index, row.seq_len);
            }
            if finished {
                ended |= self.sequences[index].place == Place::Running;
                self.free(index);
            } else if self.sequences[index].place == Place::Aside {
                self.enqueue(index);
            }
        }
        if ended {
            let sequences = &self.sequences;
            self.running.retain(|&index| sequences[index].place == Place::Running);
        }
        self.spare.push(plan);
    }

    /// Indexes a running sequence's full blocks whose KV, `computed` tokens of it, is there.
    fn publish(&mut self, index: u32, computed: u32) {
        let sequence = &mut self.sequences[index];
        let full = (computed / self.config.block_size) as usize;
        if !self.config.prefix_cache || sequence.probe || sequence.indexed >= full {
            return;
        }
        self.hasher.extend(&mut sequence.hashes, sequence.root, &sequence.tokens, full);
        let full = full.min(sequence.hashes.len());
        for place in sequence.indexed..full {
            self.pool.publish(sequence.blocks[place], sequence.hashes[place]);
        }
        sequence.indexed = full;
    }

    /// Forgets the plans that are out, every block and the prefix cache, after a step failed. Live sequences keep
    /// their known tokens and wait to recompute them.
    pub fn drop_all_kv(&mut self) {
        self.spare.extend(self.outstanding.drain(..));
        self.pool.clear();
        self.running.clear();
        self.blocked = None;
        for index in self.sequences.live() {
            let sequence = &mut self.sequences[index];
            (sequence.inflight, sequence.pending) = (0, 0);
            sequence.blocks.clear();
            match sequence.place {
                Place::Running => self.set_aside(index),
                Place::Aside => self.enqueue(index),
                Place::Queued | Place::Gone => {}
            }
        }
    }

    /// Gauges and cumulative counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let running = self.running.len() + usize::from(self.probe.is_some());
        Stats {
            running: running as u32,
            waiting: (self.sequences.len() - running) as u32,
            blocks_total: self.pool.total(),
            blocks_used: self.pool.used(),
            blocks_cached: self.pool.cached(),
            ..self.counters
        }
    }

    /// A live sequence's prompt and its output as far as it is known.
    #[must_use]
    pub fn tokens(&self, id: SeqId) -> Option<&[u32]> {
        Some(&self.sequences[self.sequences.find(id)?].tokens)
    }

    /// A live sequence's prompt length.
    #[must_use]
    pub fn prompt_len(&self, id: SeqId) -> Option<u32> {
        Some(self.sequences[self.sequences.find(id)?].prompt_len)
    }

    /// A live sequence's blocks in the order of its tokens; empty while it waits.
    #[must_use]
    pub fn block_table(&self, id: SeqId) -> Option<&[u32]> {
        Some(&self.sequences[self.sequences.find(id)?].blocks)
    }

    /// Puts a sequence that waits into the queue, unless it is held or rows of it are out.
    pub(crate) fn enqueue(&mut self, index: u32) {
        let sequence = &mut self.sequences[index];
        if sequence.held || sequence.inflight > 0 {
            return;
        }
        sequence.place = Place::Queued;
        if sequence.probe {
            self.waiting_probes.push_back(index);
        } else {
            self.queue.push(sequence.entry(index), &self.shares);
        }
    }

    pub(crate) fn unqueue(&mut self, index: u32) {
        if self.sequences[index].probe {
            self.waiting_probes.retain(|&it| it != index);
        } else {
            self.queue.remove(self.sequences[index].entry(index), &self.shares);
        }
    }

    /// Takes slot and blocks from a running sequence, which waits then. The caller takes it out of `running`.
    pub(crate) fn set_aside(&mut self, index: u32) {
        self.give_back(index);
        let sequence = &mut self.sequences[index];
        sequence.place = Place::Aside;
        sequence.resumed = true;
        if !sequence.boosted {
            sequence.since = self.now;
        }
        (sequence.computed, sequence.indexed) = (0, 0);
        self.enqueue(index);
    }

    /// Ends a sequence and frees all it has. The caller takes it out of `running`.
    fn free(&mut self, index: u32) {
        match self.sequences[index].place {
            Place::Running => self.give_back(index),
            Place::Queued => self.unqueue(index),
            Place::Aside | Place::Gone => {}
        }
        self.shares.leave(self.sequences[index].payer);
        self.sequences.remove(index);
    }

    /// Frees a running sequence's slot and blocks, the last block first: of cached blocks the start is wanted longest.
    fn give_back(&mut self, index: u32) {
        let sequence = &mut self.sequences[index];
        if sequence.probe {
            sequence.blocks.clear();
            self.probe = None;
            return;
        }
        for block in sequence.blocks.drain(..).rev() {
            self.pool.release(block);
        }
        self.free_slots.push_back(sequence.slot);
    }

    /// Live probes.
    fn probes(&self) -> usize {
        self.waiting_probes.len() + usize::from(self.probe.is_some())
    }
}
