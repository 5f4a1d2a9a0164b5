//! A device whose tokens are hashes of everything read through the KV cache, driven by the arena alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use overt_sched::{Config, Layout, NewSeq, Row, RowResult, Scheduler, SeqId, arena};

const COLUMNS: usize = 2;

/// What a KV entry says: its token, its position, and a hash of all tokens up to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Kv {
    token: u32,
    position: u32,
    history: u64,
}

fn mix(history: u64, token: u32) -> u64 {
    let mixed =
        (history ^ u64::from(token).wrapping_add(0x9e37_79b9)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 29)
}

fn sampled(history: u64) -> u32 {
    (history >> 17) as u32 % 1000
}

/// A sequence ends at such a token.
fn is_end(token: u32) -> bool {
    token.is_multiple_of(17)
}

/// The output of an undisturbed run.
pub(crate) fn reference(prompt: &[u32], max_tokens: u32, max_model_len: u32) -> Vec<u32> {
    let mut history = prompt.iter().fold(0, |history, token| mix(history, *token));
    let mut output = Vec::new();
    loop {
        let token = sampled(history);
        output.push(token);
        history = mix(history, token);
        let len = (prompt.len() + output.len()) as u32;
        if is_end(token) || output.len() as u32 == max_tokens || len == max_model_len {
            return output;
        }
    }
}

pub(crate) struct Live {
    prompt: Vec<u32>,
    max_tokens: u32,
    output: Vec<u32>,
    held: bool,
}

pub(crate) struct World {
    pub(crate) scheduler: Scheduler,
    config: Config,
    layout: Layout,
    arena: Vec<i32>,
    offsets: BTreeMap<&'static str, usize>,
    kv: Vec<Option<Kv>>,
    last_tokens: Vec<Option<u32>>,
    slot_params: Vec<Option<SeqId>>,
    /// Plans that are out, with what the device sampled for their rows.
    out: Vec<(u64, Vec<Row>, Vec<u32>)>,
    pub(crate) live: BTreeMap<SeqId, Live>,
    pub(crate) finished: BTreeMap<SeqId, Vec<u32>>,
    pub(crate) next: SeqId,
    now: u64,
}

impl World {
    pub(crate) fn new(config: Config) -> Self {
        let rows = config.max_num_seqs as usize + 1;
        let blocks = config.max_model_len.div_ceil(config.block_size) as usize;
        let layout =
            arena::layout(rows, config.max_num_batched_tokens as usize + 1, blocks, COLUMNS);
        Self {
            scheduler: Scheduler::new(config.clone()),
            arena: vec![-7; layout.words()],
            offsets: layout
                .sections()
                .into_iter()
                .map(|(name, offset, _)| (name, offset))
                .collect(),
            layout,
            kv: vec![None; (config.num_blocks * config.block_size) as usize],
            last_tokens: vec![None; rows],
            slot_params: vec![None; rows],
            out: Vec::new(),
            live: BTreeMap::new(),
            finished: BTreeMap::new(),
            next: 0,
            now: 0,
            config,
        }
    }

    pub(crate) fn add(
        &mut self,
        prompt: &[u32],
        max_tokens: u32,
        priority: i32,
        payer: u64,
        salt: u64,
        probe: bool,
    ) {
        let id = self.next;
        self.next += 1;
        let added = self.scheduler.add(
            NewSeq {
                id,
                prompt: Arc::from(prompt),
                max_tokens,
                priority,
                key: payer % 2,
                user: payer,
                salt,
                read_prefix: payer != 3,
                has_room: false,
                probe,
            },
            self.now,
        );
        if added.is_ok() {
            let live =
                Live { prompt: prompt.to_vec(), max_tokens, output: Vec::new(), held: false };
            self.live.insert(id, live);
        }
    }

    pub(crate) fn pick(&self, choice: usize) -> Option<SeqId> {
        let ids: Vec<SeqId> = self.live.keys().copied().collect();
        ids.get(choice.checked_rem(ids.len())?).copied()
    }

    fn word(&self, section: &str, at: usize) -> i32 {
        self.arena[self.offsets[section] + at]
    }

    /// Plans a step and runs it on the device, from the arena alone.
    pub(crate) fn schedule(&mut self) -> bool {
        self.now += 1;
        let Some(id) = self.scheduler.schedule(self.now) else { return false };
        let mut params = |seq: SeqId, columns: &mut [i32]| {
            assert_eq!(columns.len(), COLUMNS);
            columns.copy_from_slice(&[seq as i32, -(seq as i32)]);
        };
        arena::write(&self.scheduler, id, &self.layout, &mut params, &mut self.arena).unwrap();
        let rows = self.scheduler.plan(id).unwrap().rows.clone();
        self.check_plan(id, &rows);
        let samples = self.forward(&rows);
        self.out.push((id, rows, samples));
        true
    }

    fn check_plan(&self, id: u64, rows: &[Row]) {
        let plan = self.scheduler.plan(id).unwrap();
        let probes = rows.iter().filter(|row| row.slot == self.config.max_num_seqs).count() as u32;
        assert!(
            plan.num_tokens <= self.config.max_num_batched_tokens + probes,
            "the token budget holds"
        );
        assert!(probes <= 1 && rows.len() as u32 <= self.config.max_num_seqs + probes);
        let slots: BTreeSet<u32> = rows.iter().map(|row| row.slot).collect();
        let seqs: BTreeSet<SeqId> = rows.iter().map(|row| row.seq).collect();
        assert!(
            slots.len() == rows.len() && seqs.len() == rows.len(),
            "one row a sequence, one sequence a slot"
        );
        let (decodes, prefills) = rows.split_at(plan.decode_rows as usize);
        assert!(decodes.iter().all(|row| !row.prefill && row.query_len == 1 && row.sample));
        assert!(prefills.iter().all(|row| row.prefill));
        assert!(rows.iter().all(|row| !self.live[&row.seq].held), "a held sequence is not planned");
        for (seq, live) in &self.live {
            // Full blocks may be shared; a block that a row writes has one holder.
            for row in rows.iter().filter(|row| row.seq != *seq) {
                let first = (row.seq_len - row.query_len) / self.config.block_size;
                let last = (row.seq_len - 1) / self.config.block_size;
                let written =
                    &self.scheduler.block_table(row.seq).unwrap()[first as usize..=last as usize];
                let held = self.scheduler.block_table(*seq).unwrap();
                assert!(
                    written.iter().all(|block| *block != 0 && !held.contains(block)),
                    "{seq} {live_len}",
                    live_len = live.output.len()
                );
            }
        }
    }

    fn forward(&mut self, rows: &[Row]) -> Vec<u32> {
        let header = |name| self.arena[arena::header_index(name).unwrap()];
        assert_eq!(header("rows") as usize, rows.len());
        assert_eq!(header("tokens"), self.word("query_start", rows.len()));
        for update in 0..header("slot_updates") as usize {
            let [slot, seq, negated] =
                [0, 1, 2].map(|at| self.word("slot_updates", update * (1 + COLUMNS) + at));
            assert_eq!(seq, -negated);
            self.slot_params[slot as usize] = Some(seq as SeqId);
        }
        let mut samples = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            let slot = self.word("row_slot", number) as usize;
            assert_eq!(
                self.slot_params[slot],
                Some(row.seq),
                "the slot's parameters are the sequence's"
            );
            let seq_len = self.word("seq_lens", number) as u32;
            let range = self.word("query_start", number) as usize
                ..self.word("query_start", number + 1) as usize;
            for at in range.clone() {
                let position = self.word("positions", at) as u32;
                assert_eq!(position, seq_len - (range.end - at) as u32);
                let token = match self.word("input_ids", at) {
                    -1 => self.last_tokens[slot].unwrap(),
                    token => token as u32,
                };
                let history = match position {
                    0 => 0,
                    _ => self.read(number, position - 1).history,
                };
                let kv = Kv { token, position, history: mix(history, token) };
                let place = self.word("slot_mapping", at) as usize;
                assert_eq!(place, self.place(number, position));
                self.kv[place] = Some(kv);
            }
            // Attention reads the whole context; each entry must continue the one before it.
            let mut history = 0;
            for position in 0..seq_len {
                let kv = self.read(number, position);
                history = mix(history, kv.token);
                assert_eq!(
                    kv,
                    Kv { token: kv.token, position, history },
                    "row {number} of {rows:?}"
                );
            }
            let token = sampled(history);
            if self.word("sample", number) == 1 {
                self.last_tokens[slot] = Some(token);
            }
            samples.push(token);
        }
        samples
    }

    fn place(&self, row: usize, position: u32) -> usize {
        let max_blocks = self.config.max_model_len.div_ceil(self.config.block_size) as usize;
        let (block, offset) =
            (position / self.config.block_size, position % self.config.block_size);
        let block = self.word("block_tables", row * max_blocks + block as usize);
        block as usize * self.config.block_size as usize + offset as usize
    }

    fn read(&self, row: usize, position: u32) -> Kv {
        self.kv[self.place(row, position)].expect("every position that is read was written")
    }

    /// The oldest plan comes back.
    pub(crate) fn complete(&mut self) -> bool {
        if self.out.is_empty() {
            return false;
        }
        let (id, rows, samples) = self.out.remove(0);
        let mut results = Vec::new();
        for (row, token) in rows.iter().zip(samples) {
            results.push(match self.live.get_mut(&row.seq) {
                Some(live) if row.sample => {
                    live.output.push(token);
                    let len = (live.prompt.len() + live.output.len()) as u32;
                    let done = live.output.len() as u32 == live.max_tokens
                        || len == self.config.max_model_len;
                    if done || is_end(token) {
                        let output = self.live.remove(&row.seq).unwrap().output;
                        self.finished.insert(row.seq, output);
                        RowResult::Finish
                    } else {
                        RowResult::Token(token)
                    }
                }
                Some(_) => RowResult::None,
                None => RowResult::Finish,
            });
        }
        self.scheduler.complete(id, &results);
        true
    }

    pub(crate) fn abort(&mut self, id: SeqId) {
        assert!(self.scheduler.abort(id));
        self.live.remove(&id);
        assert_eq!(self.scheduler.block_table(id), None);
    }

    pub(crate) fn hold(&mut self, id: SeqId, on: bool) {
        self.scheduler.hold(id, on);
        self.live.get_mut(&id).unwrap().held = on;
    }

    /// The step failed: whatever the device holds is worth nothing.
    pub(crate) fn drop_all_kv(&mut self) {
        self.scheduler.drop_all_kv();
        self.out.clear();
        self.kv.fill(None);
        self.last_tokens.fill(None);
    }

    pub(crate) fn check(&self, prompts: &BTreeMap<SeqId, (Vec<u32>, u32)>) {
        let stats = self.scheduler.stats();
        let usable = self.config.num_blocks - 2;
        let held: BTreeSet<u32> = self
            .live
            .keys()
            .flat_map(|id| self.scheduler.block_table(*id).unwrap())
            .copied()
            .filter(|block| *block != self.config.num_blocks - 1)
            .collect();
        assert_eq!(stats.blocks_total, usable);
        assert_eq!(
            stats.blocks_used as usize,
            held.len(),
            "what live sequences hold is used, and nothing else"
        );
        assert!(stats.blocks_used + stats.blocks_cached <= usable);
        assert_eq!((stats.running + stats.waiting) as usize, self.live.len());
        for (id, live) in &self.live {
            let tokens = self.scheduler.tokens(*id).unwrap();
            assert_eq!(tokens, [&live.prompt[..], &live.output].concat());
        }
        for (id, output) in &self.finished {
            let (prompt, max_tokens) = &prompts[id];
            assert_eq!(output, &reference(prompt, *max_tokens, self.config.max_model_len));
        }
    }
}
