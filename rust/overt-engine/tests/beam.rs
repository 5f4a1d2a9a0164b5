//! Beam search over a made-up model whose next token depends on the last one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

mod common;

use std::collections::BTreeSet;

use overt_engine::Config;
use overt_link::{Batch, Beam, Finish, Params, Refused, ToEngine};

use common::{END, Server, assert_idle, bytes, config, params};

/// Tokens and, by the last token, the log probabilities of the next.
const TOKENS: [u32; 4] = [97, 98, 99, END];

fn next(last: u32) -> [f32; 4] {
    let weights: [f32; 4] = match last {
        97 => [1.0, 5.0, 2.0, 2.0],
        98 => [4.0, 0.5, 3.0, 1.0],
        99 => [2.0, 2.5, 0.3, 6.0],
        _ => [3.0, 2.0, 4.0, 0.5],
    };
    let sum: f32 = weights.iter().sum();
    weights.map(|weight| (weight / sum).ln())
}

/// Runs until nothing is left, answering every row from its last token.
fn run(server: &mut Server, top: usize) -> Vec<Batch> {
    while let Some(plan) = server.schedule() {
        server.engine.edits(plan).unwrap();
        let rows = server.header(plan, "rows");
        let ends = server.section(plan, "query_start")[1..=rows].to_vec();
        let inputs = server.section(plan, "input_ids").to_vec();
        let mut answers = Vec::new();
        for end in ends {
            let last = inputs[usize::try_from(end).unwrap() - 1].cast_unsigned();
            let mut best: Vec<_> = TOKENS.into_iter().zip(next(last)).collect();
            best.sort_by(|one, other| other.1.total_cmp(&one.1));
            best.resize(top, (u32::MAX, f32::NEG_INFINITY));
            answers.extend([0, 1]);
            answers.extend(best.iter().map(|(token, _)| token.cast_signed()));
            answers.extend(best.iter().map(|(_, logprob)| logprob.to_bits().cast_signed()));
        }
        server.engine.decide(plan, &vec![97; rows], &answers, &[]).unwrap();
    }
    server.batches()
}

/// Every text of at most `most` tokens that ends, with its score, the best first.
fn exhaustive(start: u32, most: usize, length_penalty: f32) -> Vec<(Vec<u32>, f32)> {
    let (mut open, mut ended) = (vec![(vec![], 0.0_f32)], Vec::new());
    while let Some((text, sum)) = open.pop() {
        let last = text.last().copied().unwrap_or(start);
        for (token, logprob) in TOKENS.into_iter().zip(next(last)) {
            let mut text = text.clone();
            text.push(token);
            if token == END || text.len() == most {
                let score = (sum + logprob) / (text.len() as f32).powf(length_penalty);
                ended.push((text, score));
            } else {
                open.push((text, sum + logprob));
            }
        }
    }
    ended.sort_by(|one, other| other.1.total_cmp(&one.1));
    ended
}

fn searching(length_penalty: f32, max_tokens: u32) -> Params {
    Params { beam: Some(Beam { length_penalty }), max_tokens, ..params() }
}

fn texts(batches: &[Batch], request: u64) -> Vec<Vec<u32>> {
    let rows = batches.iter().flat_map(|batch| &batch.rows).filter(|row| row.request == request);
    let mut texts: Vec<Vec<u32>> = Vec::new();
    for row in rows {
        texts.resize(texts.len().max(row.choice as usize + 1), Vec::new());
        texts[row.choice as usize].push(row.token);
    }
    texts
}

#[test]
fn a_search_as_wide_as_the_tree_finds_the_best_texts_of_all() {
    for length_penalty in [0.0, 1.0, 2.0] {
        let mut server = Server::new(&config());
        server.submit(1, vec![bytes("c")], 40, searching(length_penalty, 3));
        let batches = run(&mut server, 80);
        let all = exhaustive(99, 3, length_penalty);
        let found = texts(&batches, 1);
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), 40);
        // Texts of equal score may change places.
        for (text, best) in found.iter().zip(&all) {
            let score = all.iter().find(|(other, _)| other == text).unwrap().1;
            assert!((score - best.1).abs() < 1e-5, "length_penalty {length_penalty}: {text:?}");
        }
        assert_eq!(server.engine.remembered(), 0);
        assert_idle(&batches);
    }
}

#[test]
fn a_narrow_search_keeps_the_width_best_of_each_step() {
    let mut server = Server::new(&config());
    server.submit(1, vec![bytes("aa"), bytes("b")], 2, searching(1.0, 2));
    let batches = run(&mut server, 4);
    // From 97 the best two are 98 and then 99 (END ties with it and stands behind); from 98 they are 97 and 99.
    let step = |first: u32, second: u32, start: u32| {
        let at = |token| TOKENS.iter().position(|other| *other == token).unwrap();
        next(start)[at(first)] + next(first)[at(second)]
    };
    for (prompt, start, beams) in [(0, 97, [98, 99]), (1, 98, [97, 99])] {
        let mut found: Vec<(Vec<u32>, f32)> = Vec::new();
        for first in beams {
            for second in TOKENS {
                found.push((vec![first, second], step(first, second, start) / 2.0));
            }
        }
        found.sort_by(|one, other| other.1.total_cmp(&one.1));
        let all = texts(&batches, 1);
        assert_eq!(all[prompt * 2..prompt * 2 + 2], [found[0].0.clone(), found[1].0.clone()]);
    }
    let ends: Vec<_> =
        batches.iter().flat_map(|batch| &batch.rows).filter_map(|row| row.finish).collect();
    assert_eq!(ends.len(), 4);
    assert!(ends.iter().all(|end| matches!(end, Finish::Length | Finish::EndOfTurn)));
    let started: Vec<_> =
        batches.iter().flat_map(|batch| &batch.started).map(|started| started.choice).collect();
    assert_eq!(started, [0, 1, 2, 3]);
    assert_idle(&batches);
}

#[test]
fn stops_end_texts_and_log_probabilities_follow_the_path() {
    let mut server = Server::new(&config());
    let params = Params {
        stop: vec!["ba".into()],
        logprobs: Some(1),
        ignore_eos: true,
        ..searching(0.0, 6)
    };
    server.submit(1, vec![bytes("a")], 1, params);
    let batches = run(&mut server, 2);
    let rows: Vec<_> = batches.iter().flat_map(|batch| &batch.rows).collect();
    assert_eq!(rows.iter().map(|row| row.token).collect::<Vec<_>>(), bytes("ba"));
    assert_eq!(rows[1].finish, Some(Finish::StopText(0)));
    let told = rows[1].logprobs.as_ref().unwrap();
    assert_eq!((told.logprob, told.rank), (next(98)[0], 1));
    assert_eq!(told.top, [(97, next(98)[0])]);
}

#[test]
fn an_abort_in_the_midst_of_a_search_frees_everything() {
    let mut server = Server::new(&config());
    server.submit(1, vec![bytes("abcabcabcabcabcabcabc")], 3, searching(1.0, 50));
    for _ in 0..3 {
        let plan = server.schedule().unwrap();
        server.engine.edits(plan).unwrap();
        let rows = server.header(plan, "rows");
        let row = [0, 1, 97, 98, 99, 100, 101, 102, 0, 0, 0, 0, 0, 0];
        server.engine.decide(plan, &vec![97; rows], &row.repeat(rows), &[]).unwrap();
    }
    server.tell(&ToEngine::Abort { request: 1 });
    assert_eq!(server.schedule(), None);
    assert_eq!(server.engine.remembered(), 0);
    assert_idle(&server.batches());
}

#[test]
fn a_search_has_its_room_from_the_start_or_none() {
    let config = Config { max_num_seqs: 2, max_queued: 2, ..config() };
    let mut server = Server::new(&config);
    server.submit(1, vec![bytes("c")], 8, searching(1.0, 3));
    server.submit(2, vec![bytes("c")], 4, searching(1.0, 3));
    let batches = run(&mut server, 8);
    let refused: Vec<_> = batches.iter().flat_map(|batch| batch.refused.clone()).collect();
    assert!(matches!(&refused[..], [(1, Refused::Never(_))]), "{refused:?}");
    assert_eq!(texts(&batches, 2).len(), 4);
    assert_idle(&batches);
}

#[test]
fn long_searches_share_what_they_have_in_common() {
    let mut server = Server::new(&Config { max_model_len: 60_000, num_blocks: 8000, ..config() });
    let params = Params { ignore_eos: true, ..searching(1.0, 200) };
    server.submit(1, vec![bytes("c")], 2, params);
    let batches = run(&mut server, 4);
    assert!(texts(&batches, 1).iter().all(|text| text.len() == 200));
    assert_eq!(server.engine.remembered(), 0);
}
