//! What a step of decode rows costs the host: `cargo run --release -p overt-sched --example step_cost`.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use overt_sched::{Config, NewSeq, RowResult, Scheduler, arena};

const STEPS: u32 = 600;

/// Median microseconds a step of schedule, arena write and complete.
fn measure(rows: u32, prompt_len: u32, waiting: u32) -> Option<[f64; 3]> {
    let max_model_len = prompt_len + 2 * STEPS;
    let config = Config {
        block_size: 16,
        // Room for all that run, none for those that wait.
        num_blocks: (rows + 1) * max_model_len.div_ceil(16),
        max_num_seqs: rows,
        max_num_batched_tokens: 8192,
        max_model_len,
        max_queued: 0,
        hash_seed: 1,
        starvation_us: 60_000_000,
        prefix_cache: true,
        max_outstanding: 1,
    };
    let blocks = max_model_len.div_ceil(16) as usize;
    let layout = arena::layout(rows as usize + 1, 8193, blocks, 8);
    let mut arena = vec![0; layout.words()];
    let mut scheduler = Scheduler::new(config);
    for id in 0..u64::from(rows + waiting) {
        let prompt: Arc<[u32]> = (0..prompt_len).map(|token| token ^ (id as u32) << 16).collect();
        let (key, user) = (id % 7, id);
        let new = NewSeq {
            id,
            prompt,
            max_tokens: 2 * STEPS,
            priority: 0,
            key,
            user,
            salt: 0,
            read_prefix: true,
            has_room: false,
            probe: false,
        };
        scheduler.add(new, 0).ok()?;
    }
    let mut results = Vec::new();
    let mut costs: [Vec<Duration>; 3] = Default::default();
    while costs[0].len() < STEPS as usize {
        let start = Instant::now();
        let id = scheduler.schedule(0)?;
        let scheduled = Instant::now();
        arena::write(&scheduler, id, &layout, &mut |_, params| params.fill(0), &mut arena).ok()?;
        let written = Instant::now();
        let plan = scheduler.plan(id)?;
        let decoding = plan.decode_rows == rows;
        results.clear();
        results.extend(plan.rows.iter().map(|row| match row.sample {
            true => RowResult::Token(row.seq_len),
            false => RowResult::None,
        }));
        let decided = Instant::now();
        scheduler.complete(id, &results);
        let completed = Instant::now();
        if decoding {
            let parts = [scheduled - start, written - scheduled, completed - decided];
            for (cost, part) in costs.iter_mut().zip(parts) {
                cost.push(part);
            }
        }
    }
    Some(costs.map(|mut cost| {
        cost.sort_unstable();
        cost[cost.len() / 2].as_secs_f64() * 1e6
    }))
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "median µs a step: rows, prompt, waiting | schedule, write, complete | all")?;
    for (rows, prompt_len, waiting) in
        [(1, 100, 0), (32, 100, 0), (256, 100, 0), (256, 100, 10_000), (256, 4000, 0)]
    {
        match measure(rows, prompt_len, waiting) {
            Some([schedule, write, complete]) => writeln!(
                out,
                "{rows:4} {prompt_len:6} {waiting:6} | {schedule:6.1} {write:6.1} {complete:6.1} | {:6.1}",
                schedule + write + complete
            )?,
            None => writeln!(out, "{rows:4} {prompt_len:6} {waiting:6} | could not be run")?,
        }
    }
    Ok(())
}
