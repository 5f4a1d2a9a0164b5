//! Making a plan: decode rows first, then the probe, then prefill chunks, then the queue.

use std::cmp::Reverse;

use crate::plan::{Plan, Row};
use crate::scheduler::Scheduler;
use crate::sequence::Place;

impl Scheduler {
    /// Plans a step and returns its number, or `None` when nothing can run or all plans that may be out are out.
    /// `now_us` is on the scale of [`Scheduler::add`].
    pub fn schedule(&mut self, now_us: u64) -> Option<u64> {
        self.now = now_us;
        if self.outstanding.len() >= self.config.max_outstanding as usize {
            return None;
        }
        let mut plan = self.spare.pop().unwrap_or_default();
        plan.reset();
        let preempted = self.make_lists();
        let mut budget = self.config.max_num_batched_tokens;

        let decodes = std::mem::take(&mut self.decodes);
        for &index in &decodes {
            if self.grow(index) {
                self.put(&mut plan, index, 1, false);
                budget -= 1;
            }
        }
        self.decodes = decodes;
        self.put_probe(&mut plan, &mut budget);
        let prefills = std::mem::take(&mut self.prefills);
        for &index in &prefills {
            self.put_chunk(&mut plan, index, &mut budget);
        }
        self.prefills = prefills;
        // Whoever just lost its blocks is at the head of the queue; its blocks are for others in this step.
        if !preempted {
            self.admit(&mut plan, &mut budget);
        }

        if plan.rows.is_empty() {
            self.spare.push(plan);
            return None;
        }
        plan.id = self.next_plan;
        self.next_plan += 1;
        let id = plan.id;
        self.outstanding.push_back(plan);
        Some(id)
    }

    /// Lists the running sequences that decode and those that prefill in this step, and preempts others (which are in
    /// neither list then) until there are blocks for all that decode. Says whether it preempted.
    fn make_lists(&mut self) -> bool {
        self.decodes.clear();
        self.prefills.clear();
        let budget = self.config.max_num_batched_tokens as usize;
        let (mut needed, mut skipped) = (0, None);
        for (place, &index) in self.running.iter().enumerate() {
            let sequence = &self.sequences[index];
            let len = sequence.len();
            if sequence.held || len >= sequence.limit {
                continue;
            }
            if len - sequence.computed > 1 {
                self.prefills.push(index);
            } else if self.decodes.len() < budget {
                needed += u32::from(self.needs_block(index));
                self.decodes.push(index);
            } else {
                skipped = skipped.or(Some(place));
            }
        }
        if let Some(place) = skipped {
            // They lead in the next step.
            self.running.rotate_left(place);
        }
        let mut preempted = false;
        while needed > self.pool.available() {
            let Some(victim) = self.victim(false) else { break };
            if let Some(place) = self.decodes.iter().position(|&index| index == victim) {
                needed -= u32::from(self.needs_block(victim));
                self.decodes.remove(place);
            }
            self.prefills.retain(|&index| index != victim);
            self.preempt(victim);
            preempted = true;
        }
        preempted
    }

    /// Whether the next token's KV starts a block.
    fn needs_block(&self, index: u32) -> bool {
        let sequence = &self.sequences[index];
        (sequence.computed / self.config.block_size) as usize >= sequence.blocks.len()
    }

    /// Gives a decoding sequence the block of its next token.
    fn grow(&mut self, index: u32) -> bool {
        if !self.needs_block(index) {
            return true;
        }
        let Some(block) = self.pool.alloc() else { return false };
        self.sequences[index].blocks.push(block);
        true
    }

    /// The running sequence that loses its blocks first: a held one, then the lowest priority, then the latest. Those
    /// that starved once come last, so that the oldest of them gets to its end.
    fn victim(&self, held_only: bool) -> Option<u32> {
        let candidates = self.running.iter().copied();
        candidates.filter(|&index| !held_only || self.sequences[index].held).max_by_key(|&index| {
            let sequence = &self.sequences[index];
            (sequence.held, Reverse(sequence.boosted), sequence.priority, sequence.arrival)
        })
    }

    fn preempt(&mut self, victim: u32) {
        self.running.retain(|&index| index != victim);
        self.set_aside(victim);
        self.counters.preemptions += 1;
    }

    /// The probe has a slot, a block and one token a step of its own.
    fn put_probe(&mut self, plan: &mut Plan, budget: &mut u32) {
        let index = match self.probe {
            Some(index) => index,
            None => {
                let Some(index) = self.waiting_probes.pop_front() else { return };
                let sequence = &mut self.sequences[index];
                sequence.place = Place::Running;
                sequence.slot = self.config.max_num_seqs;
                sequence.blocks.push(self.config.num_blocks - 1);
                plan.new_slots.push((sequence.slot, sequence.id));
                self.probe = Some(index);
                index
            }
        };
        let sequence = &self.sequences[index];
        if sequence.held || sequence.len() >= sequence.limit {
            return;
        }
        let missing = sequence.len() - sequence.computed;
        let chunk = missing.min(*budget + 1);
        *budget -= chunk - 1;
        self.put(plan, index, chunk, missing > 1);
    }

    fn put_chunk(&mut self, plan: &mut Plan, index: u32, budget: &mut u32) {
        let sequence = &self.sequences[index];
        let chunk = (sequence.len() - sequence.computed).min(*budget);
        if chunk > 0 {
            *budget -= chunk;
            self.put(plan, index, chunk, true);
        }
    }

    /// Appends a row for the sequence's next `chunk` tokens, whose blocks it has.
    fn put(&mut self, plan: &mut Plan, index: u32, chunk: u32, prefill: bool) {
        let sequence = &mut self.sequences[index];
        sequence.computed += chunk;
        let sample = sequence.computed == sequence.len();
        let row = Row {
            seq: sequence.id,
            slot: sequence.slot,
            query_start: 0,
            query_len: chunk,
            seq_len: sequence.computed,
            sample,
            input_pending: sequence.pending > 0,
            cached_tokens: sequence.cached,
            prefill,
            index,
        };
        sequence.pending += u32::from(sample);
        sequence.inflight += 1;
        // Recomputing is not the payer's doing.
        let charge = sequence.computed.saturating_sub(sequence.charged);
        sequence.charged += charge;
        self.shares.charge(sequence.payer, charge);
        plan.push(row);
    }

    /// Takes sequences from the queue, strictly in order, as long as there are tokens, slots and blocks.
    fn admit(&mut self, plan: &mut Plan, budget: &mut u32) {
        while *budget > 0 {
            let Some((index, starved)) =
                self.queue.head(self.now, self.config.starvation_us, &self.shares)
            else {
                return;
            };
            while let Err(shortage) = self.try_admit(index, plan) {
                // Held sequences keep their place only while nobody can use it.
                if shortage > self.held_blocks() {
                    return;
                }
                let Some(victim) = self.victim(true) else { return };
                self.preempt(victim);
            }
            self.sequences[index].boosted |= starved;
            self.put_chunk(plan, index, budget);
        }
    }

    /// Blocks that preempting the held sequences can free, at most.
    fn held_blocks(&self) -> u32 {
        let running = self.running.iter().map(|&index| &self.sequences[index]);
        running.filter(|it| it.held).map(|it| it.blocks.len() as u32).sum()
    }

    /// Gives the queue's head a slot and blocks for all its tokens, or says how many blocks are missing: 0 when it is
    /// a slot that is.
    fn try_admit(&mut self, index: u32, plan: &mut Plan) -> Result<(), u32> {
        let attempt = (self.sequences[index].id, self.pool.releases());
        if let Some((id, releases, shortage)) = self.blocked
            && (id, releases) == attempt
        {
            return Err(shortage);
        }
        let Some(&slot) = self.free_slots.front() else { return Err(0) };
        self.look_up(index);
        let sequence = &self.sequences[index];
        let hits = self.hits.len() as u32;
        let fresh = (sequence.tokens.len() as u32).div_ceil(self.config.block_size) - hits;
        let idle_hits = self.hits.iter().filter(|&&block| self.pool.is_idle(block)).count() as u32;
        // Running sequences grow: without some room for that, whoever comes in would be thrown out again at once.
        let spare = (self.running.len() as u32).min(self.pool.total() / 16);
        let shortage = (fresh + idle_hits + spare).saturating_sub(self.pool.available());
        if shortage > 0 {
            self.blocked = Some((attempt.0, attempt.1, shortage));
            return Err(shortage);
        }
        self.free_slots.pop_front();
        self.unqueue(index);
        let sequence = &mut self.sequences[index];
        sequence.reserve(self.config.block_size);
        for &block in &self.hits {
            self.pool.share(block);
        }
        sequence.blocks.extend_from_slice(&self.hits);
        sequence.blocks.extend((0..fresh).map_while(|_| self.pool.alloc()));
        sequence.computed = hits * self.config.block_size;
        sequence.indexed = hits as usize;
        sequence.charged = sequence.charged.max(sequence.computed);
        if !sequence.resumed {
            // Later it finds blocks of its own, which nobody else paid for.
            sequence.cached = sequence.computed.min(sequence.prompt_len);
        }
        sequence.slot = slot;
        sequence.place = Place::Running;
        if !sequence.resumed && sequence.read_prefix && self.config.prefix_cache {
            self.counters.prefix_queries_tokens += u64::from(sequence.prompt_len);
            self.counters.prefix_hit_tokens += u64::from(sequence.cached);
        }
        plan.new_slots.push((slot, sequence.id));
        self.running.push(index);
        Ok(())
    }

    /// Finds the computed blocks that a sequence begins with. Its last token is never among them: its logits are
    /// needed, so it is computed again.
    fn look_up(&mut self, index: u32) {
        self.hits.clear();
        let sequence = &mut self.sequences[index];
        if !sequence.read_prefix || !self.config.prefix_cache {
            return;
        }
        let most = (sequence.tokens.len() - 1) / self.config.block_size as usize;
        for place in 0..most {
            self.hasher.extend(&mut sequence.hashes, sequence.root, &sequence.tokens, place + 1);
            match self.pool.find(sequence.hashes[place]) {
                Some(block) => self.hits.push(block),
                None => return,
            }
        }
    }
}
