//! What the API process counts; shown by `/metrics`.

use std::time::Duration;

use serde::Serialize;

/// Upper bounds in seconds; one more bucket counts what is slower.
const FIRST_TOKEN: [f64; 16] =
    [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0, 30.0];
const INTER_TOKEN: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 2.5];

/// Counts by duration.
#[derive(Debug, Clone, Serialize)]
pub struct Histogram {
    /// Upper bounds, seconds.
    pub bounds: &'static [f64],
    /// One count a bound (not cumulative), and one for all beyond the last.
    pub counts: Vec<u64>,
    /// Sum of the durations, seconds.
    pub sum: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    pub(crate) fn add(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = self.bounds.partition_point(|bound| *bound < seconds);
        self.counts[bucket] += 1;
        self.sum += seconds;
    }
}

/// Everything `/metrics` shows of the front and, through it, of the engine.
#[derive(Debug, Clone, Serialize)]
pub struct Stats {
    /// Sequences that hold a slot.
    pub requests_running: u64,
    /// Sequences that wait in the engine.
    pub requests_waiting: u64,
    /// Blocks held by live sequences.
    pub kv_blocks_used: u64,
    /// Blocks kept for their prefix, free to take.
    pub kv_blocks_cached: u64,
    /// Blocks in all.
    pub kv_blocks_total: u64,
    /// Tokens of admitted prompts.
    pub prompt_tokens: u64,
    /// Tokens made.
    pub generation_tokens: u64,
    /// Prompt tokens looked up in the prefix cache.
    pub prefix_query_tokens: u64,
    /// Of these, found.
    pub prefix_hit_tokens: u64,
    /// Sequences that lost their blocks and computed them again.
    pub preemptions: u64,
    /// Steps that raised.
    pub step_failures: u64,
    /// Steps completed.
    pub steps: u64,
    /// Requests whose client left.
    pub requests_aborted: u64,
    /// Pieces of prompts looked up among those whose tokens are known.
    pub encode_cache_queries: u64,
    /// Of these, found.
    pub encode_cache_hits: u64,
    /// Bytes that they take.
    pub encode_cache_bytes: u64,
    /// From a request's arrival to the first token of its first choice.
    pub ttft: Histogram,
    /// From token to token of one choice.
    pub inter_token: Histogram,
}

impl Default for Stats {
    fn default() -> Self {
        Self {
            requests_running: 0,
            requests_waiting: 0,
            kv_blocks_used: 0,
            kv_blocks_cached: 0,
            kv_blocks_total: 0,
            prompt_tokens: 0,
            generation_tokens: 0,
            prefix_query_tokens: 0,
            prefix_hit_tokens: 0,
            preemptions: 0,
            step_failures: 0,
            steps: 0,
            requests_aborted: 0,
            encode_cache_queries: 0,
            encode_cache_hits: 0,
            encode_cache_bytes: 0,
            ttft: Histogram::new(&FIRST_TOKEN),
            inter_token: Histogram::new(&INTER_TOKEN),
        }
    }
}

impl Stats {
    pub(crate) fn take_gauges(&mut self, gauges: &overt_link::Gauges) {
        self.requests_running = gauges.running;
        self.requests_waiting = gauges.waiting;
        self.kv_blocks_used = gauges.blocks_used;
        self.kv_blocks_cached = gauges.blocks_cached;
        self.kv_blocks_total = gauges.blocks_total;
        self.preemptions = gauges.preemptions;
        self.prefix_query_tokens = gauges.prefix_queries;
        self.prefix_hit_tokens = gauges.prefix_hits;
        self.step_failures = gauges.step_failures;
        self.steps = gauges.steps;
    }
}
