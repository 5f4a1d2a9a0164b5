//! Rows, prefixes, results and refusals.

use overt_sched::{Config, NewSeq, Refusal, RowResult, Scheduler};

use crate::{config, go_on, rows, run, seq, step};

#[test]
fn a_prompt_is_prefilled_in_chunks_beside_decode_rows_which_come_first() {
    let mut scheduler = Scheduler::new(config());
    scheduler.add(seq(1, 0..3, 8), 0).unwrap();
    let first = run(&mut scheduler);
    assert_eq!(rows(&first), [(1, 3, 3)]);
    assert!(first.rows[0].sample && first.rows[0].prefill);
    assert_eq!(first.new_slots, [(0, 1)]);
    scheduler.add(seq(2, 100..120, 8), 0).unwrap();
    let second = run(&mut scheduler);
    assert_eq!(rows(&second), [(1, 1, 4), (2, 15, 15)]);
    assert_eq!((second.decode_rows, second.num_tokens, second.samples), (1, 16, 1));
    assert_eq!((second.max_seq_len, second.max_query_len), (15, 15));
    assert_eq!(second.rows[1].query_start, 1);
    let third = run(&mut scheduler);
    assert_eq!(rows(&third), [(1, 1, 5), (2, 5, 20)]);
    assert!(third.rows[1].sample && third.new_slots.is_empty());
    assert_eq!(scheduler.tokens(1), Some(&[0, 1, 2, 9, 9, 9][..]));
    assert_eq!((scheduler.prompt_len(1), scheduler.prompt_len(7)), (Some(3), None));
}

#[test]
fn a_sequence_ends_by_the_callers_word_or_at_its_last_token() {
    let mut scheduler = Scheduler::new(config());
    scheduler.add(seq(1, 0..3, 2), 0).unwrap();
    scheduler.add(seq(2, 0..3, 9), 0).unwrap();
    let plan = step(&mut scheduler);
    scheduler.complete(plan.id, &[RowResult::Token(9), RowResult::Finish]);
    assert_eq!(scheduler.tokens(2), None);
    assert_eq!(rows(&run(&mut scheduler)), [(1, 1, 4)]);
    assert_eq!(scheduler.tokens(1), None);
    assert_eq!(scheduler.schedule(0), None);
    let stats = scheduler.stats();
    assert_eq!((stats.running, stats.waiting, stats.blocks_used), (0, 0, 0));
}

#[test]
fn refusals_say_why() {
    let mut scheduler =
        Scheduler::new(Config { num_blocks: 6, max_queued: 1, max_num_seqs: 1, ..config() });
    assert_eq!(scheduler.add(seq(1, [], 1), 0), Err(Refusal::EmptyPrompt));
    let long = Refusal::TooLong { prompt_tokens: 64, max_model_len: 64 };
    assert_eq!(scheduler.add(seq(1, 0..64, 1), 0), Err(long));
    let never = Refusal::NeverFits { blocks_needed: 5, blocks_total: 4 };
    assert_eq!(scheduler.add(seq(1, 0..10, 8), 0), Err(never));
    scheduler.add(seq(1, 0..10, 7), 0).unwrap();
    assert_eq!(scheduler.add(seq(1, 0..3, 1), 0), Err(Refusal::DuplicateId { id: 1 }));
    assert_eq!(scheduler.check_room(2), Err(Refusal::QueueFull { limit: 1 }));
    scheduler.add(seq(2, 0..3, 1), 0).unwrap();
    assert_eq!(scheduler.add(seq(3, 0..3, 1), 0), Err(Refusal::QueueFull { limit: 1 }));
    assert!(!scheduler.abort(3));
    // Room again when the first has run.
    run(&mut scheduler);
    assert_eq!(scheduler.add(seq(3, 0..3, 1), 0), Err(Refusal::QueueFull { limit: 1 }));
    assert!(scheduler.abort(1));
    scheduler.add(seq(3, 0..3, 1), 0).unwrap();
}

#[test]
fn full_computed_blocks_are_shared_and_the_last_token_is_computed_again() {
    let mut scheduler = Scheduler::new(config());
    scheduler.add(seq(1, 0..12, 8), 0).unwrap();
    scheduler.add(seq(2, 0..12, 8), 0).unwrap();
    // Nothing is computed yet: the second may not read what the first will write in the same step.
    assert_eq!(rows(&run(&mut scheduler)), [(1, 12, 12), (2, 4, 4)]);
    scheduler.add(seq(3, 0..12, 8), 0).unwrap();
    scheduler.add(NewSeq { salt: 5, ..seq(4, 0..12, 8) }, 0).unwrap();
    run(&mut scheduler);
    let (first, third) = (scheduler.block_table(1).unwrap(), scheduler.block_table(3).unwrap());
    assert_eq!(first[..2], third[..2]);
    assert_ne!(first[2], third[2]);
    let plan = run(&mut scheduler);
    let third = plan.rows.iter().find(|row| row.seq == 3).unwrap();
    assert_eq!((third.cached_tokens, third.query_len), (8, 1));
    let fourth = plan.rows.iter().find(|row| row.seq == 4).unwrap();
    assert_eq!((fourth.cached_tokens, fourth.query_len), (0, 9));
    let stats = scheduler.stats();
    assert_eq!((stats.prefix_queries_tokens, stats.prefix_hit_tokens), (48, 8));
    // 4 + 4 + 4 + 3 blocks, 2 of them shared.
    assert_eq!(stats.blocks_used, 13);
}

#[test]
fn a_sequence_that_does_not_read_the_prefix_cache_computes_all_and_feeds_it() {
    let mut scheduler = Scheduler::new(config());
    scheduler.add(NewSeq { read_prefix: false, ..seq(1, 0..8, 8) }, 0).unwrap();
    run(&mut scheduler);
    scheduler.add(NewSeq { read_prefix: false, ..seq(2, 0..8, 8) }, 0).unwrap();
    assert_eq!(rows(&run(&mut scheduler))[1], (2, 8, 8));
    scheduler.add(seq(3, 0..8, 8), 0).unwrap();
    assert_eq!(rows(&run(&mut scheduler))[2], (3, 4, 8));
}

#[test]
fn without_prefix_cache_nothing_is_kept() {
    let mut scheduler = Scheduler::new(Config { prefix_cache: false, ..config() });
    for id in 0..2 {
        scheduler.add(seq(id, 0..12, 1), 0).unwrap();
        assert_eq!(rows(&run(&mut scheduler)), [(id, 12, 12)]);
    }
    let stats = scheduler.stats();
    assert_eq!((stats.blocks_cached, stats.prefix_queries_tokens), (0, 0));
}

#[test]
fn under_overlap_the_next_input_is_pending_and_the_certain_end_is_not_planned_past() {
    let mut scheduler = Scheduler::new(Config { max_outstanding: 2, ..config() });
    scheduler.add(seq(1, 0..4, 3), 0).unwrap();
    let first = step(&mut scheduler);
    let second = step(&mut scheduler);
    assert_eq!(rows(&second), [(1, 1, 5)]);
    assert!(!first.rows[0].input_pending && second.rows[0].input_pending);
    assert_eq!(scheduler.schedule(0), None);
    go_on(&mut scheduler, &first);
    let third = step(&mut scheduler);
    assert_eq!(rows(&third), [(1, 1, 6)]);
    assert!(third.rows[0].input_pending);
    go_on(&mut scheduler, &second);
    // Its third token is the last.
    assert_eq!(scheduler.schedule(0), None);
    go_on(&mut scheduler, &third);
    assert_eq!(scheduler.tokens(1), None);
}

#[test]
fn a_row_of_an_ended_sequence_is_stale_and_its_blocks_are_free_at_once() {
    for by_abort in [true, false] {
        let mut scheduler = Scheduler::new(Config { max_outstanding: 2, ..config() });
        scheduler.add(seq(1, 0..4, 9), 0).unwrap();
        let (first, second) = (step(&mut scheduler), step(&mut scheduler));
        if by_abort {
            assert!(scheduler.abort(1));
            go_on(&mut scheduler, &first);
        } else {
            scheduler.complete(first.id, &[RowResult::Finish]);
        }
        assert_eq!(scheduler.stats().blocks_used, 0);
        // The place of the first is taken by another, which the stale row must not touch.
        scheduler.add(seq(2, 0..3, 9), 0).unwrap();
        let third = step(&mut scheduler);
        go_on(&mut scheduler, &second);
        assert_eq!(scheduler.tokens(2), Some(&[0, 1, 2][..]));
        go_on(&mut scheduler, &third);
        assert_eq!(scheduler.tokens(2), Some(&[0, 1, 2, 9][..]));
    }
}

#[test]
fn plans_come_back_in_order_and_once() {
    let mut scheduler = Scheduler::new(Config { max_outstanding: 2, ..config() });
    scheduler.add(seq(1, 0..4, 9), 0).unwrap();
    let (first, second) = (step(&mut scheduler), step(&mut scheduler));
    go_on(&mut scheduler, &second);
    assert_eq!(scheduler.tokens(1).unwrap().len(), 4);
    go_on(&mut scheduler, &first);
    go_on(&mut scheduler, &first);
    assert_eq!(scheduler.tokens(1).unwrap().len(), 5);
    assert!(scheduler.plan(first.id).is_none() && scheduler.plan(second.id).is_some());
}
