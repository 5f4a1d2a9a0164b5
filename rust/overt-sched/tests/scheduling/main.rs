//! What the scheduler does in small, exact situations.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod pressure;
mod steps;

use std::sync::Arc;

use overt_sched::{Config, NewSeq, Plan, RowResult, Scheduler, SeqId};

fn config() -> Config {
    Config {
        block_size: 4,
        num_blocks: 34,
        max_num_seqs: 4,
        max_num_batched_tokens: 16,
        max_model_len: 64,
        max_queued: 0,
        hash_seed: 1,
        starvation_us: 1_000_000,
        prefix_cache: true,
        max_outstanding: 1,
    }
}

fn seq(id: SeqId, prompt: impl IntoIterator<Item = u32>, max_tokens: u32) -> NewSeq {
    NewSeq {
        id,
        prompt: prompt.into_iter().collect::<Arc<[u32]>>(),
        max_tokens,
        priority: 0,
        key: 0,
        user: 0,
        salt: 0,
        read_prefix: true,
        has_room: false,
        probe: false,
    }
}

/// Schedules and returns the plan.
fn step(scheduler: &mut Scheduler) -> Plan {
    let id = scheduler.schedule(0).unwrap();
    scheduler.plan(id).unwrap().clone()
}

/// Every sampling row goes on with token 9.
fn go_on(scheduler: &mut Scheduler, plan: &Plan) {
    let results: Vec<RowResult> = plan
        .rows
        .iter()
        .map(|row| if row.sample { RowResult::Token(9) } else { RowResult::None })
        .collect();
    scheduler.complete(plan.id, &results);
}

fn run(scheduler: &mut Scheduler) -> Plan {
    let plan = step(scheduler);
    go_on(scheduler, &plan);
    plan
}

fn rows(plan: &Plan) -> Vec<(SeqId, u32, u32)> {
    plan.rows.iter().map(|row| (row.seq, row.query_len, row.seq_len)).collect()
}
