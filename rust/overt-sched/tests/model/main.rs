//! The scheduler against a device whose tokens are hashes of everything read through the KV cache: any mix-up of
//! blocks, positions, slots or tokens changes what comes out.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

mod world;

use std::collections::BTreeMap;

use overt_sched::Config;
use proptest::prelude::*;

use crate::world::{World, reference};

#[derive(Debug, Clone)]
enum Op {
    Add { base: u32, len: u32, tail: u32, max_tokens: u32, priority: i32, payer: u64, salt: u64 },
    Probe,
    Abort(usize),
    Hold(usize, bool),
    Schedule,
    Complete,
    DropAllKv,
}

fn op() -> impl Strategy<Value = Op> {
    let add = (0..3_u32, 1..24_u32, 0..3_u32, 1..20_u32, 0..2_i32, 0..4_u64, 0..2_u64).prop_map(
        |(base, len, tail, max_tokens, priority, payer, salt)| Op::Add {
            base,
            len,
            tail,
            max_tokens,
            priority,
            payer,
            salt,
        },
    );
    prop_oneof![
        6 => add,
        1 => Just(Op::Probe),
        2 => any::<usize>().prop_map(Op::Abort),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(which, on)| Op::Hold(which, on)),
        16 => Just(Op::Schedule),
        14 => Just(Op::Complete),
        1 => Just(Op::DropAllKv),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    (
        1..6_u32,
        8..40_u32,
        1..6_u32,
        1..24_u32,
        1..3_u32,
        any::<bool>(),
        prop_oneof![Just(5_u64), Just(1000)],
    )
        .prop_map(
            |(
                block_size,
                blocks,
                max_num_seqs,
                budget,
                max_outstanding,
                prefix_cache,
                starvation_us,
            )| {
                Config {
                    block_size,
                    num_blocks: blocks + 2,
                    max_num_seqs,
                    max_num_batched_tokens: budget,
                    max_model_len: 36,
                    max_queued: 0,
                    hash_seed: 7,
                    starvation_us,
                    prefix_cache,
                    max_outstanding,
                }
            },
        )
}

/// Prompts that begin alike: one of three bases, and up to two tokens of their own.
fn prompt(base: u32, len: u32, tail: u32) -> Vec<u32> {
    let common = (0..len).map(|at| base * 1000 + at);
    common.chain((0..tail).map(|at| 5000 + tail * 10 + at)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(400),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_sequence_gets_the_tokens_of_an_undisturbed_run(
        config in config(),
        ops in prop::collection::vec(op(), 1..150),
    ) {
        let mut world = World::new(config);
        let mut prompts = BTreeMap::new();
        for op in ops {
            match op {
                Op::Add { base, len, tail, max_tokens, priority, payer, salt } => {
                    let prompt = prompt(base, len, tail);
                    prompts.insert(world.next, (prompt.clone(), max_tokens));
                    world.add(&prompt, max_tokens, priority, payer, salt, false);
                }
                Op::Probe => {
                    prompts.insert(world.next, (vec![3], 1));
                    world.add(&[3], 1, 0, 0, 0, true);
                }
                Op::Abort(which) => {
                    if let Some(id) = world.pick(which) {
                        world.abort(id);
                    }
                }
                Op::Hold(which, on) => {
                    if let Some(id) = world.pick(which) {
                        world.hold(id, on);
                    }
                }
                Op::Schedule => {
                    world.schedule();
                }
                Op::Complete => {
                    world.complete();
                }
                Op::DropAllKv => world.drop_all_kv(),
            }
            world.check(&prompts);
        }
        // Everything ends: each round makes a step as long as anything is left.
        for id in world.live.keys().copied().collect::<Vec<_>>() {
            world.hold(id, false);
        }
        let mut rounds = 0;
        while !world.live.is_empty() {
            let scheduled = world.schedule();
            let completed = world.complete();
            prop_assert!(scheduled || completed, "stuck with {:?}", world.scheduler.stats());
            world.check(&prompts);
            rounds += 1;
            prop_assert!(rounds < 20_000);
        }
        while world.complete() {}
        world.check(&prompts);
        let stats = world.scheduler.stats();
        prop_assert_eq!((stats.running, stats.waiting, stats.blocks_used), (0, 0, 0));
    }

    /// Low priority under an endless stream of high priority that fills every slot: it still ends.
    #[test]
    fn nobody_starves(slots in 1..4_u32, blocks in 10..14_u32, max_tokens in 1..16_u32) {
        let mut world = World::new(Config {
            block_size: 2,
            num_blocks: blocks + 2,
            max_num_seqs: slots,
            max_num_batched_tokens: 8,
            max_model_len: 20,
            max_queued: 0,
            hash_seed: 7,
            starvation_us: 50,
            prefix_cache: true,
            max_outstanding: 2,
        });
        world.add(&[1, 2, 3], max_tokens, 9, 0, 0, false);
        let mut steps = 0;
        while !world.finished.contains_key(&0) {
            while world.live.len() < 3 * slots as usize {
                let own = world.next as u32;
                world.add(&[own, own + 1], 14, 0, 1, 0, false);
            }
            world.schedule();
            if steps > 0 {
                world.complete();
            }
            steps += 1;
            prop_assert!(steps < 400, "{:?}", world.scheduler.stats());
        }
        prop_assert_eq!(&world.finished[&0], &reference(&[1, 2, 3], max_tokens, 20));
    }
}
