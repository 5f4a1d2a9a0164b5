//! An engine between a link and a made-up model.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "every test takes what it needs")]

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use overt_engine::{Config, Engine, Grammars, Inbox};
use overt_link::{Batch, Finish, Params, Received, Receiver, Sender, Submit, ToEngine, ToFront};
use overt_sched::arena::header_index;
use overt_text::Tokenizer;

pub const END: u32 = 256;

/// One token a byte, and `<end>`.
fn tokenizer() -> Tokenizer {
    Tokenizer::from_bytes(include_bytes!("../../../../tests/fixtures/byte_tokenizer.json")).unwrap()
}

pub struct Server {
    pub engine: Engine,
    arenas: [Vec<i32>; 2],
    to_engine: Sender<ToEngine>,
    from_engine: Receiver<ToFront>,
    now: u64,
}

pub fn config() -> Config {
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

pub fn params() -> Params {
    Params { max_tokens: 8, temperature: 0.0, seed: 0x0102_0304_0506_0708, ..Params::default() }
}

impl Server {
    pub fn new(config: &Config) -> Self {
        let (here, there) = UnixStream::pair().unwrap();
        let (link, receiver) = overt_link::pair(there).unwrap();
        let (to_engine, from_engine) = overt_link::pair(here).unwrap();
        from_engine.set_tick(Duration::from_millis(20)).unwrap();
        let table = Arc::clone(tokenizer().table());
        let grammars = Arc::new(Grammars::new(Arc::clone(&table), config.eos_token_ids.clone()));
        let engine = Engine::new(config, table, link, Inbox::spawn(receiver, grammars).unwrap());
        let words = engine.layout().words();
        Self { engine, arenas: [vec![0; words], vec![0; words]], to_engine, from_engine, now: 0 }
    }

    pub fn submit(&self, request: u64, prompts: Vec<Vec<u32>>, n: u32, params: Params) {
        let submit = Submit { request, prompts, n, params, probe: false };
        self.tell(&ToEngine::Submit(Box::new(submit)));
    }

    /// Sends, and waits until the engine's reader has it.
    pub fn tell(&self, message: &ToEngine) {
        self.to_engine.send(message).unwrap();
        assert!(self.engine.inbox().wait(Duration::from_secs(5)));
        std::thread::sleep(Duration::from_millis(5));
    }

    /// Sends one behind the other, and waits until all has been read.
    pub fn tell_quickly(&self, messages: &[ToEngine]) {
        for message in messages {
            self.to_engine.send(message).unwrap();
        }
        let _ = self.engine.inbox().wait(Duration::from_millis(300));
    }

    pub fn schedule(&mut self) -> Option<u64> {
        self.now += 1000;
        let [even, odd] = &mut self.arenas;
        self.engine.schedule(self.now, [even, odd]).unwrap()
    }

    pub fn arena(&self, plan: u64) -> &[i32] {
        &self.arenas[usize::try_from(plan % 2).unwrap()]
    }

    pub fn header(&self, plan: u64, name: &str) -> usize {
        usize::try_from(self.arena(plan)[header_index(name).unwrap()]).unwrap()
    }

    pub fn section(&self, plan: u64, name: &str) -> &[i32] {
        let sections = self.engine.layout().sections();
        let (_, offset, _) = sections.iter().find(|section| section.0 == name).unwrap();
        &self.arena(plan)[*offset..]
    }

    /// Runs until nothing is left; the model's token at position p is `text[p - prompt]` (again and again).
    pub fn run(&mut self, prompt_len: usize, text: &[u32]) -> Vec<Batch> {
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
            self.decide(plan, &tokens);
        }
        self.batches()
    }

    pub fn decide(&mut self, plan: u64, tokens: &[i32]) {
        self.engine.decide(plan, tokens, &[], &[]).unwrap();
    }

    pub fn batches(&mut self) -> Vec<Batch> {
        let mut batches = Vec::new();
        while let Received::Message(message) = self.from_engine.recv().unwrap() {
            if let ToFront::Batch(batch) = message {
                batches.push(*batch);
            }
        }
        batches
    }
}

pub type Texts = BTreeMap<(u64, u32), (Vec<u32>, Option<Finish>)>;

pub fn texts(batches: &[Batch]) -> Texts {
    let mut texts = Texts::new();
    for row in batches.iter().flat_map(|batch| &batch.rows) {
        let text = texts.entry((row.request, row.choice)).or_default();
        assert_eq!(text.1, None, "a token after the last");
        text.0.push(row.token);
        text.1 = row.finish;
    }
    texts
}

pub fn bytes(text: &str) -> Vec<u32> {
    text.bytes().map(u32::from).collect()
}

pub fn assert_idle(batches: &[Batch]) {
    let gauges = batches.last().unwrap().gauges;
    assert_eq!((gauges.running, gauges.waiting, gauges.blocks_used), (0, 0, 0));
}
