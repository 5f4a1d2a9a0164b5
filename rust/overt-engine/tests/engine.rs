//! The engine between a link and a made-up model whose token is a function of the position.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use overt_engine::{COLUMNS, Config, Engine, FLAG_ALL_GREEDY, Inbox};
use overt_link::{
    Batch, Failure, Finish, Params, Received, Receiver, Refused, Sender, Submit, ToEngine, ToFront,
};
use overt_sched::arena::{HEADER, header_index};
use overt_text::Tokenizer;

const END: u32 = 256;

/// One token a byte, and `<end>`.
fn tokenizer() -> Tokenizer {
    Tokenizer::from_bytes(include_bytes!("../../../tests/fixtures/byte_tokenizer.json")).unwrap()
}

struct Server {
    engine: Engine,
    arenas: [Vec<i32>; 2],
    to_engine: Sender<ToEngine>,
    from_engine: Receiver<ToFront>,
    now: u64,
}

fn config() -> Config {
    Config {
        block_size: 16,
        num_blocks: 34,
        max_num_seqs: 4,
        max_num_batched_tokens: 64,
        max_model_len: 128,
        max_queued: 0,
        prefix_cache: true,
        overlap: false,
        hash_seed: 5,
        starvation_us: 1_000_000,
        eos_token_ids: vec![END],
    }
}

fn params() -> Params {
    Params {
        max_tokens: 8,
        temperature: 0.0,
        top_p: 1.0,
        top_k: 0,
        min_p: 0.0,
        seed: 0x0102_0304_0506_0708,
        stop: vec![],
        stop_token_ids: vec![],
        ignore_eos: false,
        skip_special_tokens: true,
        special_breaks_stop: false,
        priority: 0,
        key: 0,
        user: 0,
        salt: 0,
    }
}

impl Server {
    fn new(config: &Config) -> Self {
        let (here, there) = UnixStream::pair().unwrap();
        let (link, receiver) = overt_link::pair(there).unwrap();
        let (to_engine, from_engine) = overt_link::pair(here).unwrap();
        from_engine.set_tick(Duration::from_millis(20)).unwrap();
        let table = Arc::clone(tokenizer().table());
        let engine = Engine::new(config, table, link, Inbox::spawn(receiver).unwrap());
        let words = engine.layout().words();
        Self { engine, arenas: [vec![0; words], vec![0; words]], to_engine, from_engine, now: 0 }
    }

    fn submit(&self, request: u64, prompts: Vec<Vec<u32>>, n: u32, params: Params) {
        let submit = Submit { request, prompts, n, params };
        self.tell(&ToEngine::Submit(Box::new(submit)));
    }

    /// Sends, and waits until the engine's reader has it.
    fn tell(&self, message: &ToEngine) {
        self.to_engine.send(message).unwrap();
        assert!(self.engine.inbox().wait(Duration::from_secs(5)));
        std::thread::sleep(Duration::from_millis(5));
    }

    fn schedule(&mut self) -> Option<u64> {
        self.now += 1000;
        let [even, odd] = &mut self.arenas;
        self.engine.schedule(self.now, [even, odd]).unwrap()
    }

    fn arena(&self, plan: u64) -> &[i32] {
        &self.arenas[usize::try_from(plan % 2).unwrap()]
    }

    fn header(&self, plan: u64, name: &str) -> usize {
        usize::try_from(self.arena(plan)[header_index(name).unwrap()]).unwrap()
    }

    fn section(&self, plan: u64, name: &str) -> &[i32] {
        let sections = self.engine.layout().sections();
        let (_, offset, _) = sections.iter().find(|section| section.0 == name).unwrap();
        &self.arena(plan)[*offset..]
    }

    /// Runs until nothing is left; the model's token at position p is `text[p - prompt]` (again and again).
    fn run(&mut self, prompt_len: usize, text: &[u32]) -> Vec<Batch> {
        while let Some(plan) = self.schedule() {
            let rows = self.header(plan, "rows");
            let ends = &self.section(plan, "seq_lens")[..rows];
            let tokens: Vec<i32> = ends
                .iter()
                .map(|end| {
                    let index = usize::try_from(*end).unwrap().saturating_sub(prompt_len);
                    i32::try_from(text[index % text.len()]).unwrap()
                })
                .collect();
            self.engine.decide(plan, &tokens).unwrap();
        }
        self.batches()
    }

    fn batches(&mut self) -> Vec<Batch> {
        let mut batches = Vec::new();
        while let Received::Message(message) = self.from_engine.recv().unwrap() {
            if let ToFront::Batch(batch) = message {
                batches.push(*batch);
            }
        }
        batches
    }
}

type Texts = BTreeMap<(u64, u32), (Vec<u32>, Option<Finish>)>;

fn texts(batches: &[Batch]) -> Texts {
    let mut texts = Texts::new();
    for row in batches.iter().flat_map(|batch| &batch.rows) {
        let text = texts.entry((row.request, row.choice)).or_default();
        assert_eq!(text.1, None, "a token after the last");
        text.0.push(row.token);
        text.1 = row.finish;
    }
    texts
}

fn bytes(text: &str) -> Vec<u32> {
    text.bytes().map(u32::from).collect()
}

fn assert_idle(batches: &[Batch]) {
    let gauges = batches.last().unwrap().gauges;
    assert_eq!((gauges.running, gauges.waiting, gauges.blocks_used), (0, 0, 0));
}

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
    server.engine.decide(plan, &[97]).unwrap();
    let plan = server.schedule().unwrap();
    assert_eq!(server.header(plan, "rows"), 3);
    let width = 1 + COLUMNS.len();
    let choice = 1 + COLUMNS.iter().position(|name| *name == "choice").unwrap();
    let updates = server.section(plan, "slot_updates");
    assert_eq!([updates[choice], updates[width + choice]], [1, 2]);
    let seed = 1 + COLUMNS.iter().position(|name| *name == "seed_lo").unwrap();
    assert_eq!(updates[seed], 0x0506_0708);
    server.engine.decide(plan, &[98, 98, 98]).unwrap();
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
        server.engine.decide(plan, &[97]).unwrap();
    }
    let plan = server.schedule().unwrap();
    server.tell(&ToEngine::Abort { request: 1 });
    server.tell(&ToEngine::Abort { request: 2 });
    server.tell(&ToEngine::Abort { request: 3 });
    server.engine.decide(plan, &[97]).unwrap();
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
    server.engine.decide(plan, &[97, 97]).unwrap();
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
    server.engine.decide(plan, &[-1, 97]).unwrap();
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
    server.engine.decide(plan, &[97]).unwrap();
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
            server.engine.decide(plan, &tokens).unwrap();
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
