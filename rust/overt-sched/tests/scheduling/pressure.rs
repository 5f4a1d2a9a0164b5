//! Too few blocks, slots or tokens: preemption, holding, the probe, failure and starvation.

use overt_sched::{Config, NewSeq, Refusal, Scheduler, SeqId};

use crate::{config, go_on, rows, run, seq, step};

/// Two sequences of 4 + 12 tokens on 5 blocks: they meet the end of the pool when both have 12.
fn crowded(priorities: [i32; 2], max_outstanding: u32) -> Scheduler {
    let mut scheduler = Scheduler::new(Config { num_blocks: 7, max_outstanding, ..config() });
    for (id, priority) in priorities.into_iter().enumerate() {
        let id = id as u64;
        let prompt = (0..4).map(|token| token + 100 * id as u32);
        scheduler.add(NewSeq { priority, ..seq(id, prompt, 12) }, 0).unwrap();
    }
    scheduler
}

fn first_preempted(scheduler: &mut Scheduler) -> SeqId {
    while scheduler.stats().preemptions == 0 {
        run(scheduler);
    }
    (0..2).find(|id| scheduler.block_table(*id).is_some_and(<[u32]>::is_empty)).unwrap()
}

#[test]
fn the_lowest_priority_then_the_latest_is_preempted_and_held_ones_before_all() {
    assert_eq!(first_preempted(&mut crowded([0, 0], 1)), 1);
    assert_eq!(first_preempted(&mut crowded([1, 0], 1)), 0);
    let mut scheduler = crowded([0, 1], 1);
    for _ in 0..5 {
        run(&mut scheduler);
    }
    scheduler.hold(0, true);
    assert_eq!(first_preempted(&mut scheduler), 0);
}

#[test]
fn a_preempted_sequence_goes_on_from_its_tokens_through_the_prefix_cache() {
    let mut scheduler = crowded([0, 0], 1);
    let victim = first_preempted(&mut scheduler);
    let known = scheduler.tokens(victim).unwrap().to_vec();
    let resumed = loop {
        let plan = run(&mut scheduler);
        if let Some(row) = plan.rows.iter().find(|row| row.seq == victim) {
            break row.clone();
        }
    };
    assert_eq!(resumed.seq_len as usize, known.len());
    assert!(resumed.cached_tokens <= 4 && resumed.sample);
    assert_eq!(scheduler.tokens(victim).unwrap()[..known.len()], known);
}

#[test]
fn a_preempted_sequence_waits_for_its_pending_token() {
    let mut scheduler = crowded([0, 0], 2);
    let mut last = step(&mut scheduler);
    loop {
        let next = step(&mut scheduler);
        if scheduler.stats().preemptions > 0 {
            // The victim's token of `last` is still out, so it cannot have a row; all blocks could be had again now.
            let victim = 1;
            let known = scheduler.tokens(victim).unwrap().len();
            assert!(last.rows.iter().any(|row| row.seq == victim && row.sample));
            assert!(next.rows.iter().all(|row| row.seq != victim));
            assert!(scheduler.abort(0));
            go_on(&mut scheduler, &last);
            assert_eq!(scheduler.tokens(victim).unwrap().len(), known + 1);
            let resumed = step(&mut scheduler);
            assert_eq!(resumed.rows[0].seq_len as usize, known + 1);
            return;
        }
        go_on(&mut scheduler, &last);
        last = next;
    }
}

#[test]
fn a_held_sequence_keeps_its_blocks_and_is_not_planned() {
    let mut scheduler = Scheduler::new(config());
    scheduler.add(seq(1, 0..4, 9), 0).unwrap();
    scheduler.add(seq(2, 0..4, 9), 0).unwrap();
    run(&mut scheduler);
    scheduler.hold(1, true);
    let table = scheduler.block_table(1).unwrap().to_vec();
    assert_eq!(rows(&run(&mut scheduler)), [(2, 1, 5)]);
    assert_eq!(scheduler.block_table(1), Some(&table[..]));
    scheduler.hold(1, false);
    assert_eq!(rows(&run(&mut scheduler)), [(1, 1, 5), (2, 1, 6)]);
}

#[test]
fn a_held_sequence_waits_and_its_slot_is_lent_to_those_who_can_run() {
    let mut scheduler = Scheduler::new(Config { max_num_seqs: 1, ..config() });
    scheduler.add(seq(1, 0..4, 9), 0).unwrap();
    scheduler.hold(1, true);
    assert_eq!(scheduler.schedule(0), None);
    scheduler.hold(1, false);
    run(&mut scheduler);
    scheduler.add(seq(2, 50..54, 2), 0).unwrap();
    assert_eq!(rows(&run(&mut scheduler)), [(1, 1, 5)]);
    scheduler.hold(1, true);
    assert_eq!(rows(&run(&mut scheduler)), [(2, 4, 4)]);
    scheduler.hold(1, false);
    assert_eq!(rows(&run(&mut scheduler)), [(2, 1, 5)]);
    // Back through the prefix cache: its first block is still there.
    assert_eq!(rows(&run(&mut scheduler)), [(1, 2, 6)]);
}

#[test]
fn the_probe_runs_when_everything_is_taken() {
    let mut scheduler = Scheduler::new(Config {
        num_blocks: 4,
        max_num_seqs: 1,
        max_num_batched_tokens: 1,
        max_queued: 1,
        ..config()
    });
    scheduler.add(seq(1, 0..1, 7), 0).unwrap();
    scheduler.add(seq(2, 0..1, 7), 0).unwrap();
    run(&mut scheduler);
    let probe = |id, prompt| NewSeq { probe: true, ..seq(id, 0..prompt, 2) };
    let never = Refusal::NeverFits { blocks_needed: 2, blocks_total: 1 };
    assert_eq!(scheduler.add(probe(3, 4), 0), Err(never));
    scheduler.add(probe(3, 2), 0).unwrap();
    scheduler.add(probe(4, 1), 0).unwrap();
    let plan = run(&mut scheduler);
    assert_eq!(rows(&plan), [(1, 1, 2), (3, 1, 1)]);
    assert_eq!((plan.rows[1].slot, &plan.new_slots[..]), (1, &[(1, 3)][..]));
    assert_eq!(scheduler.block_table(3), Some(&[3][..]));
    assert_eq!(rows(&run(&mut scheduler)), [(1, 1, 3), (3, 1, 2)]);
    assert_eq!(rows(&run(&mut scheduler)), [(1, 1, 4), (3, 1, 3)]);
    assert_eq!(scheduler.tokens(3), None);
    assert_eq!(rows(&run(&mut scheduler)), [(1, 1, 5), (4, 1, 1)]);
    assert!(scheduler.abort(4));
    assert_eq!(scheduler.stats().running, 1);
}

#[test]
fn decode_rows_beyond_the_budget_take_turns() {
    let mut scheduler = Scheduler::new(Config { max_num_batched_tokens: 2, ..config() });
    for id in 0..3 {
        scheduler.add(seq(id, 0..1, 30), 0).unwrap();
    }
    for _ in 0..30 {
        let plan = run(&mut scheduler);
        assert!(plan.num_tokens <= 2);
    }
    // Once two of them fill the budget the third prompt waits for one to end; the two go on evenly.
    let lens: Vec<usize> = (0..2).filter_map(|id| scheduler.tokens(id)).map(<[u32]>::len).collect();
    assert!(lens.iter().all(|len| (25..=31).contains(len)), "{lens:?}");

    let mut scheduler = Scheduler::new(Config { max_num_batched_tokens: 3, ..config() });
    for id in 0..3 {
        scheduler.add(seq(id, 0..1, 30), 0).unwrap();
    }
    run(&mut scheduler);
    // A probe's extra token does not take one of theirs.
    scheduler.add(NewSeq { probe: true, ..seq(9, 0..1, 2) }, 0).unwrap();
    assert_eq!(run(&mut scheduler).num_tokens, 4);
}

#[test]
fn a_failed_step_costs_the_kv_and_nothing_else() {
    let mut scheduler = Scheduler::new(Config { max_outstanding: 2, ..config() });
    scheduler.add(seq(1, 0..12, 9), 0).unwrap();
    let first = run(&mut scheduler);
    let lost = [step(&mut scheduler), step(&mut scheduler)];
    scheduler.drop_all_kv();
    let stats = scheduler.stats();
    assert_eq!(
        (stats.blocks_used, stats.blocks_cached, stats.waiting, stats.running),
        (0, 0, 1, 0)
    );
    for plan in &lost {
        assert!(scheduler.plan(plan.id).is_none());
        go_on(&mut scheduler, plan);
    }
    assert_eq!(scheduler.tokens(1).unwrap().len(), 13);
    let plan = step(&mut scheduler);
    assert_eq!(rows(&plan), [(1, 13, 13)]);
    assert_eq!((plan.id, plan.rows[0].cached_tokens), (first.id + 3, 0));
}

#[test]
fn a_starved_sequence_overtakes_priority() {
    let mut scheduler = Scheduler::new(Config { max_num_seqs: 1, starvation_us: 100, ..config() });
    scheduler.add(NewSeq { priority: 5, ..seq(0, 0..2, 2) }, 0).unwrap();
    let mut ran_at = None;
    for id in 1..200 {
        scheduler.add(seq(id, 0..2, 1), id).unwrap();
        let plan = scheduler.schedule(id).unwrap();
        let plan = scheduler.plan(plan).unwrap().clone();
        if plan.rows[0].seq == 0 {
            ran_at = ran_at.or(Some(id));
        }
        go_on(&mut scheduler, &plan);
    }
    assert_eq!(ran_at, Some(101));
}

#[test]
fn a_sequence_that_starved_once_is_the_last_to_be_preempted() {
    let mut scheduler = Scheduler::new(Config { num_blocks: 7, starvation_us: 100, ..config() });
    scheduler.add(NewSeq { priority: 5, ..seq(0, 0..4, 12) }, 0).unwrap();
    scheduler.add(seq(1, 100..104, 12), 200).unwrap();
    let id = scheduler.schedule(200).unwrap();
    let plan = scheduler.plan(id).unwrap().clone();
    assert_eq!(rows(&plan), [(0, 4, 4), (1, 4, 4)]);
    go_on(&mut scheduler, &plan);
    assert_eq!(first_preempted(&mut scheduler), 1);
}
