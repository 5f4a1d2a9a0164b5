//! A front between routes that only read its outbox and an engine that only speaks over the link.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "every test takes what it needs")]

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use overt_front::{Config, Front, Generation, Protocol, Reading, Ready};
use overt_link::{Batch, Finish, Received, Receiver, Row, Sender, Submit, ToEngine, ToFront};

pub const TOKENIZER: &[u8] = include_bytes!("../../../../tests/fixtures/byte_tokenizer.json");
pub const TEMPLATE: &str = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}\
                        {% if add_generation_prompt %}assistant: {% endif %}";

pub struct Server {
    pub front: Front,
    pub to_front: Sender<ToFront>,
    pub from_front: Receiver<ToEngine>,
    /// Bytes and status by handle, and whether it ended.
    pub answers: BTreeMap<u64, (Vec<u8>, u16, bool)>,
}

pub fn config() -> Config {
    Config {
        watchdog_us: 200_000,
        outbox_bytes: 2000,
        lag_timeout_us: 300_000,
        threads: 1,
        reading: Reading { tool_call_parser: "none".into(), ..Reading::default() },
        max_choices: 1024,
        max_prompt_logprobs_bytes: 100_000,
    }
}

pub fn generation() -> Generation {
    Generation {
        max_tokens: Some(8),
        seed: Some(5),
        stream: true,
        model: "made-up".into(),
        ..Generation::default()
    }
}

pub const CHAT: &[u8] = br#"{"messages": [{"role": "user", "content": "hi"}]}"#;

impl Server {
    pub fn new() -> Self {
        Self::with(&[("default", TEMPLATE)], config())
    }

    /// With other chat templates and settings.
    pub fn with(templates: &[(&str, &str)], config: Config) -> Self {
        let (here, there) = UnixStream::pair().unwrap();
        let (to_front, from_front) = overt_link::pair(there).unwrap();
        from_front.set_tick(Duration::from_millis(50)).unwrap();
        let front = Front::new(here, config).unwrap();
        let templates: Vec<_> = templates
            .iter()
            .map(|(name, text)| serde_json::json!({"name": name, "text": text}))
            .collect();
        let meta = serde_json::json!({
            "model": {"max_model_len": 64, "vocab_size": 257, "fingerprint": "f"},
            "chat_templates": templates,
        });
        to_front
            .send(&ToFront::Hello {
                meta: serde_json::to_vec(&meta).unwrap(),
                tokenizer_json: TOKENIZER.to_vec(),
            })
            .unwrap();
        assert!(front.wait_ready(Duration::from_secs(5)).unwrap().is_some());
        Self { front, to_front, from_front, answers: BTreeMap::new() }
    }

    pub fn submit(&self, handle: u64, protocol: Protocol, body: &[u8], generation: Generation) {
        self.front.submit(handle, protocol, body.to_vec(), generation, false);
    }

    /// The next message to the engine.
    pub fn told(&mut self) -> Option<ToEngine> {
        for _ in 0..100 {
            match self.from_front.recv().unwrap() {
                Received::Message(message) => return Some(message),
                Received::Tick => {}
                Received::Closed => return None,
            }
        }
        None
    }

    pub fn submitted(&mut self) -> Submit {
        match self.told() {
            Some(ToEngine::Submit(submit)) => *submit,
            other => panic!("{other:?} is no request"),
        }
    }

    pub fn say(&self, batch: Batch) {
        self.to_front.send(&ToFront::Batch(Box::new(batch))).unwrap();
    }

    /// Sends a text a token a batch; the last one ends it.
    pub fn text(&self, request: u64, text: &str, finish: Finish) {
        let last = text.len() - 1;
        for (index, byte) in text.bytes().enumerate() {
            let finish = (index == last).then_some(finish);
            self.say(Batch {
                rows: vec![Row {
                    request,
                    choice: 0,
                    token: u32::from(byte),
                    finish,
                    logprobs: None,
                }],
                ..Batch::default()
            });
        }
    }

    pub fn take(&mut self) -> Vec<Ready> {
        let (mut bytes, mut ready) = (Vec::new(), Vec::new());
        self.front.take_ready(&mut bytes, &mut ready);
        for item in &ready {
            let answer = self.answers.entry(item.handle).or_default();
            assert!(!answer.2, "bytes after the end");
            answer.0.extend_from_slice(&bytes[item.bytes.clone()]);
            answer.1 = answer.1.max(item.status);
            answer.2 = item.ended;
        }
        ready
    }

    /// Waits for the end of an answer.
    pub fn answer(&mut self, handle: u64) -> (String, u16) {
        let until = Instant::now() + Duration::from_secs(5);
        while !self.answers.get(&handle).is_some_and(|answer| answer.2) {
            assert!(Instant::now() < until, "no end of {handle}");
            self.take();
            std::thread::sleep(Duration::from_millis(1));
        }
        let (bytes, status, _) = self.answers.remove(&handle).unwrap();
        (String::from_utf8(bytes).unwrap(), status)
    }

    pub fn error(&mut self, handle: u64) -> (serde_json::Value, u16) {
        let (text, status) = self.answer(handle);
        let mut body: serde_json::Value = serde_json::from_str(&text).unwrap();
        (body["error"].take(), status)
    }
}

pub fn contents(stream: &str) -> String {
    stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: {"))
        .map(|frame| serde_json::from_str::<serde_json::Value>(&format!("{{{frame}")).unwrap())
        .filter_map(|frame| frame["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect()
}
