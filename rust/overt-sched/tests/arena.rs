//! The arena word for word.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;

use overt_sched::{ArenaError, Config, Layout, NewSeq, RowResult, Scheduler, SeqId, arena};

const UNTOUCHED: i32 = -99;

fn scheduler() -> Scheduler {
    let mut scheduler = Scheduler::new(Config {
        block_size: 4,
        num_blocks: 34,
        max_num_seqs: 3,
        max_num_batched_tokens: 8,
        max_model_len: 16,
        max_queued: 0,
        hash_seed: 1,
        starvation_us: 1_000_000,
        prefix_cache: true,
        max_outstanding: 2,
    });
    for (id, prompt) in [(10, &[7, 8, 9][..]), (11, &[20, 21, 22, 23, 24, 25])] {
        let prompt = Arc::from(prompt);
        let new = NewSeq {
            id,
            prompt,
            max_tokens: 9,
            priority: 0,
            key: 0,
            user: 0,
            salt: 0,
            read_prefix: true,
            has_room: false,
            probe: false,
        };
        scheduler.add(new, 0).unwrap();
    }
    scheduler
}

fn layout() -> Layout {
    arena::layout(4, 9, 4, 2)
}

fn params(seq: SeqId, row: &mut [i32]) {
    row.copy_from_slice(&[seq as i32 * 10, 1]);
}

fn write(scheduler: &Scheduler, plan: u64) -> Vec<i32> {
    let mut arena = vec![UNTOUCHED; layout().words()];
    arena::write(scheduler, plan, &layout(), &mut params, &mut arena).unwrap();
    arena
}

/// A section's words up to the first run that was not written.
fn section(arena: &[i32], name: &str) -> Vec<i32> {
    let sections = layout().sections();
    let (_, offset, shape) = sections.iter().find(|it| it.0 == name).unwrap();
    arena[*offset..offset + shape.iter().product::<usize>()].to_vec()
}

fn used(arena: &[i32], name: &str) -> Vec<i32> {
    let mut words = section(arena, name);
    let len = words.iter().rposition(|word| *word != UNTOUCHED).map_or(0, |at| at + 1);
    words.truncate(len);
    words
}

#[test]
fn a_prefill_step() {
    let mut scheduler = scheduler();
    let id = scheduler.schedule(0).unwrap();
    let arena = write(&scheduler, id);
    assert_eq!(section(&arena, "header")[..arena::HEADER.len()], [0, 2, 8, 0, 2, 5, 5, 1, 0]);
    assert_eq!(used(&arena, "input_ids"), [7, 8, 9, 20, 21, 22, 23, 24]);
    assert_eq!(used(&arena, "positions"), [0, 1, 2, 0, 1, 2, 3, 4]);
    assert_eq!(used(&arena, "slot_mapping"), [4, 5, 6, 8, 9, 10, 11, 12]);
    assert_eq!(used(&arena, "query_start"), [0, 3, 8]);
    assert_eq!(used(&arena, "seq_lens"), [3, 5]);
    assert_eq!(used(&arena, "row_slot"), [0, 1]);
    assert_eq!(used(&arena, "sample"), [1, 0]);
    assert_eq!(used(&arena, "block_tables"), [1, -99, -99, -99, 2, 3]);
    assert_eq!(used(&arena, "slot_updates"), [0, 100, 1, 1, 110, 1]);
}

#[test]
fn a_pending_input_and_an_aborted_row() {
    let mut scheduler = scheduler();
    scheduler.schedule(0).unwrap();
    let id = scheduler.schedule(0).unwrap();
    assert!(scheduler.abort(11));
    let arena = write(&scheduler, id);
    assert_eq!(section(&arena, "header")[..arena::HEADER.len()], [1, 2, 2, 2, 0, 6, 1, 2, 0]);
    // The second row's sequence is gone: it reads and writes the dummy block.
    assert_eq!(used(&arena, "input_ids"), [-1, 0]);
    assert_eq!(used(&arena, "positions"), [3, 5]);
    assert_eq!(used(&arena, "slot_mapping"), [7, 1]);
    assert_eq!(used(&arena, "block_tables"), [1, -99, -99, -99, 0, 0]);
    assert_eq!(used(&arena, "slot_updates"), []);
}

#[test]
fn sections_do_not_overlap_and_end_with_the_arena() {
    let layout = layout();
    let mut end = 0;
    for (name, offset, shape) in layout.sections() {
        assert!(offset >= end && offset % 16 == 0, "{name}");
        end = offset + shape.iter().product::<usize>();
    }
    assert!(end <= layout.words() && layout.words() < end + 16);
    assert_eq!((arena::header_index("flags"), arena::header_index("none")), (Some(8), None));
}

#[test]
fn what_is_too_small_is_named() {
    let mut scheduler = scheduler();
    let id = scheduler.schedule(0).unwrap();
    for (layout, cut, what) in [
        (arena::layout(1, 9, 4, 2), 0, "rows"),
        (arena::layout(4, 7, 4, 2), 0, "tokens"),
        (arena::layout(4, 9, 1, 2), 0, "blocks a row"),
        (arena::layout(4, 9, 4, 2), 1, "words"),
    ] {
        let mut words = vec![0; layout.words() - cut];
        let error = arena::write(&scheduler, id, &layout, &mut params, &mut words).unwrap_err();
        assert!(matches!(error, ArenaError::TooSmall { what: it, .. } if it == what), "{error}");
    }
    let mut words = vec![0; layout().words()];
    scheduler.complete(id, &[RowResult::Token(1), RowResult::None]);
    let error = arena::write(&scheduler, id, &layout(), &mut params, &mut words).unwrap_err();
    assert_eq!(error, ArenaError::UnknownPlan { id });
}
