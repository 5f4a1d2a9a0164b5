//! The engine between a link and a made-up model whose token is a function of the position.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

mod common;

use overt_engine::{COLUMNS, Config, FLAG_ALL_GREEDY};
use overt_link::{Failure, Finish, Params, Refused, Submit, ToEngine};
use overt_sched::arena::{HEADER, header_index};

use common::{END, Server, assert_idle, bytes, config, params, texts};

#[test]
fn a_request_runs_to_its_max_tokens() {
    let mut server = Server::new(&config());
    server.submit(7, vec![bytes("hello")], 1, params());
    let batches = server.run(5, &bytes("abcdefghijkl"));
    assert_eq!(batches[0].admitted, [7]);
    assert_eq!(texts(&batches)[&(7, 0)], (bytes("abcdefgh"), Some(Finish::Length)));
    assert_idle(&batches);
}

#[test]
fn what_ends_a_choice() {
    let table = [
        (Params { stop: vec!["zz".into(), "de".into()], ..params() }, "abcde", Finish::StopText(1)),
        (
            Params { stop_token_ids: vec![u32::from(b'c')], ..params() },
            "abc",
            Finish::StopToken(u32::from(b'c')),
        ),
        (Params { max_tokens: 1, ..params() }, "a", Finish::Length),
        (
            Params { max_tokens: 5, stop: vec!["e".into()], ..params() },
            "abcde",
            Finish::StopText(0),
        ),
    ];
    for (params, expected, finish) in table {
        let mut server = Server::new(&config());
        server.submit(1, vec![bytes("p")], 1, params);
        let batches = server.run(1, &bytes("abcdefghijkl"));
        assert_eq!(texts(&batches)[&(1, 0)], (bytes(expected), Some(finish)));
    }
}

#[test]
fn the_models_own_end_of_turn_ends_it_unless_ignored() {
    let text = [97, END, 98, 99];
    for (ignore_eos, made, finish) in [(false, 2, Finish::EndOfTurn), (true, 8, Finish::Length)] {
        let mut server = Server::new(&config());
        server.submit(1, vec![bytes("p")], 1, Params { ignore_eos, ..params() });
        let batches = server.run(1, &text);
        let (tokens, end) = &texts(&batches)[&(1, 0)];
        assert_eq!((tokens.len(), *end), (made, Some(finish)));
    }
}

#[test]
fn the_context_ends_a_choice() {
    let mut server = Server::new(&Config { max_model_len: 20, ..config() });
    server.submit(1, vec![bytes("0123456789")], 1, Params { max_tokens: 10, ..params() });
    let batches = server.run(10, &bytes("x"));
    assert_eq!(texts(&batches)[&(1, 0)].0.len(), 10);
}

#[test]
fn choices_share_their_prompts_blocks_and_draw_streams_of_their_own() {
    let mut server = Server::new(&config());
    let prompt = bytes(&"p".repeat(40));
    server.submit(1, vec![prompt], 3, Params { temperature: 1.0, ..params() });
    let plan = server.schedule().unwrap();
    assert_eq!(server.header(plan, "rows"), 1, "the others wait for the first one's blocks");
    assert_eq!(server.arena(plan)[header_index("flags").unwrap()] & FLAG_ALL_GREEDY, 0);
    server.decide(plan, &[97]);
    let plan = server.schedule().unwrap();
    assert_eq!(server.header(plan, "rows"), 3);
    let width = 1 + COLUMNS.len();
    let choice = 1 + COLUMNS.iter().position(|name| *name == "choice").unwrap();
    let updates = server.section(plan, "slot_updates");
    assert_eq!([updates[choice], updates[width + choice]], [1, 2]);
    let seed = 1 + COLUMNS.iter().position(|name| *name == "seed_lo").unwrap();
    assert_eq!(updates[seed], 0x0506_0708);
    server.decide(plan, &[98, 98, 98]);
    let batches = server.run(40, &bytes("c"));
    let started: Vec<_> = batches.iter().flat_map(|batch| &batch.started).collect();
    assert_eq!(started.iter().map(|s| s.cached_tokens).collect::<Vec<_>>(), [0, 32, 32]);
    let texts = texts(&batches);
    assert_eq!(texts.len(), 3);
    assert!(
        texts.values().all(|(tokens, finish)| tokens.len() == 8 && *finish == Some(Finish::Length))
    );
    assert_idle(&batches);
}

#[test]
fn several_prompts_count_their_choices_in_order() {
    let mut server = Server::new(&config());
    server.submit(9, vec![bytes("a"), bytes("b")], 2, params());
    let batches = server.run(1, &bytes("x"));
    let keys: Vec<_> = texts(&batches).into_keys().collect();
    assert_eq!(keys, [(9, 0), (9, 1), (9, 2), (9, 3)]);
    // They end in one batch, two and two.
    assert_eq!(server.engine.remembered(), 0);
}

#[test]
fn an_abort_frees_everything_wherever_the_request_is() {
    let mut server = Server::new(&Config { max_num_seqs: 1, ..config() });
    server.submit(1, vec![bytes("running")], 2, Params { max_tokens: 100, ..params() });
    server.submit(2, vec![bytes("queued")], 1, params());
    for _ in 0..3 {
        let plan = server.schedule().unwrap();
        server.decide(plan, &[97]);
    }
    let plan = server.schedule().unwrap();
    server.tell(&ToEngine::Abort { request: 1 });
    server.tell(&ToEngine::Abort { request: 2 });
    server.tell(&ToEngine::Abort { request: 3 });
    server.decide(plan, &[97]);
    assert_eq!(server.schedule(), None);
    let batches = server.batches();
    assert_idle(&batches);
    assert!(batches.iter().all(|batch| batch.failed.is_empty()));
}

#[test]
fn a_step_that_raises_fails_its_requests_and_no_other() {
    let mut server = Server::new(&Config { max_num_seqs: 2, ..config() });
    for request in 1..=3 {
        server.submit(request, vec![bytes("prompt")], 1, params());
    }
    let plan = server.schedule().unwrap();
    server.decide(plan, &[97, 97]);
    server.schedule().unwrap();
    server.engine.fail().unwrap();
    let batches = server.run(6, &bytes("abcdefgh"));
    let failed: Vec<_> = batches.iter().flat_map(|batch| batch.failed.clone()).collect();
    assert_eq!(failed, [(1, Failure::Step), (2, Failure::Step)]);
    assert_eq!(texts(&batches)[&(3, 0)], (bytes("abcdefgh"), Some(Finish::Length)));
    assert_eq!(batches.last().unwrap().gauges.step_failures, 1);
    assert_idle(&batches);
}

#[test]
fn logits_that_are_not_finite_fail_their_request_alone() {
    let mut server = Server::new(&config());
    server.submit(1, vec![bytes("bad")], 1, params());
    server.submit(2, vec![bytes("good")], 1, params());
    let plan = server.schedule().unwrap();
    server.decide(plan, &[-1, 97]);
    let batches = server.run(4, &bytes("abcdefgh"));
    assert_eq!(batches[0].failed, [(1, Failure::NotFinite)]);
    let texts = texts(&batches);
    assert!(!texts.contains_key(&(1, 0)));
    assert_eq!(texts[&(2, 0)].0, bytes("abcdefgh"));
    assert_idle(&batches);
}

#[test]
fn refusals_name_their_reason() {
    let mut server = Server::new(&Config { max_queued: 1, max_num_seqs: 1, ..config() });
    server.submit(1, vec![bytes("a")], 2, params());
    server.submit(2, vec![bytes("a")], 1, params());
    server.submit(3, vec![vec![1; 4000]], 1, params());
    server.submit(4, vec![bytes("a")], 3, params());
    let batches = server.run(1, &bytes("x"));
    let refused: Vec<_> = batches.into_iter().flat_map(|batch| batch.refused).collect();
    assert_eq!(refused[0], (2, Refused::QueueFull { limit: 1 }));
    assert_eq!(refused[1], (3, Refused::QueueFull { limit: 1 }));
    assert!(matches!(&refused[2], (4, Refused::Never(reason)) if reason.contains("3 sequences")));
}

#[test]
fn a_prompt_beyond_the_context_is_refused_with_its_length() {
    let mut server = Server::new(&config());
    server.submit(1, vec![vec![1; 4000]], 1, params());
    server.schedule();
    let batches = server.batches();
    assert!(
        matches!(&batches[0].refused[0], (1, Refused::Never(reason)) if reason.contains("4000"))
    );
}

#[test]
fn a_held_request_makes_no_tokens_until_it_may() {
    let mut server = Server::new(&config());
    server.submit(1, vec![bytes("slow")], 1, params());
    let plan = server.schedule().unwrap();
    server.decide(plan, &[97]);
    server.tell(&ToEngine::Hold { request: 1, on: true });
    assert_eq!(server.schedule(), None);
    server.tell(&ToEngine::Hold { request: 1, on: false });
    let batches = server.run(4, &bytes("abcdefgh"));
    assert_eq!(texts(&batches)[&(1, 0)].0, bytes("abcdefgh"));
}

#[test]
fn overlapped_steps_give_the_same_tokens() {
    let mut server = Server::new(&Config { overlap: true, ..config() });
    server.submit(1, vec![bytes("hi")], 1, Params { stop: vec!["cd".into()], ..params() });
    server.submit(2, vec![bytes("ho")], 1, params());
    let text = bytes("abcdefghij");
    let mut running: Option<(u64, Vec<i32>)> = None;
    loop {
        let plan = server.schedule();
        let launched = plan.map(|plan| {
            let rows = server.header(plan, "rows");
            let tokens = server.section(plan, "seq_lens")[..rows]
                .iter()
                .map(|end| i32::try_from(text[usize::try_from(*end).unwrap() - 2]).unwrap())
                .collect();
            (plan, tokens)
        });
        if launched.is_none() && running.is_none() {
            break;
        }
        if let Some((plan, tokens)) = running.take() {
            server.decide(plan, &tokens);
        }
        running = launched;
    }
    let batches = server.batches();
    let texts = texts(&batches);
    assert_eq!(texts[&(1, 0)], (bytes("abcd"), Some(Finish::StopText(0))));
    assert_eq!(texts[&(2, 0)], (bytes("abcdefgh"), Some(Finish::Length)));
    assert_idle(&batches);
}

#[test]
fn the_header_names_are_those_that_runners_read() {
    for name in ["rows", "tokens", "decode_rows", "slot_updates", "flags"] {
        assert!(HEADER.contains(&name));
    }
}

#[test]
fn a_probe_passes_the_queue() {
    let mut server = Server::new(&Config { max_queued: 1, max_num_seqs: 1, ..config() });
    server.submit(1, vec![bytes("a")], 2, Params { max_tokens: 50, ..params() });
    let plan = server.schedule().unwrap();
    server.decide(plan, &[97]);
    let params = Params { max_tokens: 1, ..params() };
    let probe = Submit { request: 2, prompts: vec![vec![0]], n: 1, params, probe: true };
    server.tell(&ToEngine::Submit(Box::new(probe)));
    let plan = server.schedule().unwrap();
    assert_eq!(server.header(plan, "rows"), 2);
    server.decide(plan, &[97, 98]);
    let batches = server.batches();
    assert!(batches.iter().all(|batch| batch.refused.is_empty()));
    assert_eq!(texts(&batches)[&(2, 0)], (vec![98], Some(Finish::Length)));
}
