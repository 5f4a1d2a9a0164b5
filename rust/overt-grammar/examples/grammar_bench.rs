//! Times compiling grammars and filling masks, at the vocabulary of a real tokenizer.
//!
//!   grammar_bench TOKENIZER_JSON SCHEMAS_JSONL
//!
//! Prints one line of JSON a figure; `bench/grammar.py` runs it and makes a table of them.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a program that fails loudly"
)]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use llguidance::token_bytes_from_tokenizer_json;
use overt_grammar::{
    Around, Constraint, Factory, Limits, Matcher, Options, Rule, Vocabulary, source, words,
};
use serde_json::{Value, json};

const ROWS: usize = 32;
const TOKENS: usize = 120;

struct Model {
    factory: Factory,
    size: usize,
    end: u32,
    /// Ids by the bytes of ordinary tokens.
    ids: HashMap<Vec<u8>, u32>,
    longest: usize,
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % count
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (tokenizer, schemas) =
        (arguments.next().expect("a tokenizer.json"), arguments.next().expect("schemas"));
    let started = now();
    let model = model(&tokenizer);
    report("factory", &[now() - started]);
    println!("{}", json!({"figure": "vocabulary", "tokens": model.size}));

    let grammars = grammars(&schemas);
    let mut compiles = Vec::new();
    let mut masks = Vec::new();
    let mut accepts = Vec::new();
    let mut slowest = (Duration::ZERO, String::new());
    let mut texts = Vec::new();
    for (name, constraint, thinking) in &grammars {
        let options = Options { thinking: thinking.clone(), ..Options::default() };
        let mut matcher = None;
        let mut best = Duration::MAX;
        for round in 0..3 {
            // Under another name it is not found among the kept ones.
            let mut source = source(constraint, "s", &options).expect(name);
            source.field = format!("s{round}");
            // It compiles on a thread of its own, so the clock on the wall counts; the best of three is nearest.
            let started = Instant::now();
            matcher = Some(model.factory.compile(&source).expect(name));
            best = best.min(started.elapsed());
        }
        compiles.push(best);
        let matcher = matcher.unwrap();
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        for _ in 0..4 {
            let text = model.text(&matcher, &mut dice);
            let tokens = model.tokens(&text);
            let mut row = matcher.clone();
            let mut mask = vec![0; words(model.size)];
            for token in &tokens {
                let started = now();
                row.fill(&mut mask).unwrap();
                let took = now() - started;
                masks.push(took);
                if took > slowest.0 {
                    slowest = (took, format!("{name} at {:?}", String::from_utf8_lossy(&text)));
                }
                let started = now();
                if row.accept(*token).is_err() {
                    break;
                }
                accepts.push(now() - started);
            }
            texts.push((matcher.clone(), tokens));
        }
    }
    report("compile", &compiles);
    report("fill, one row", &masks);
    report("accept, one row", &accepts);
    println!(
        "{}",
        json!({"figure": "slowest row", "ms": slowest.0.as_secs_f64() * 1e3, "where": slowest.1})
    );

    // Batches of rows that are each somewhere else in another grammar.
    let mut batches = Vec::new();
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut mask = vec![0; words(model.size) * ROWS];
    for _ in 0..12 {
        let mut rows: Vec<(Matcher, &[u32])> = (0..ROWS)
            .map(|_| {
                let (matcher, tokens) = &texts[dice.below(texts.len())];
                (matcher.clone(), &tokens[..])
            })
            .collect();
        for step in 0..TOKENS {
            let started = now();
            for ((row, _), mask) in rows.iter_mut().zip(mask.chunks_mut(words(model.size))) {
                row.fill(mask).unwrap();
            }
            batches.push(now() - started);
            for (row, tokens) in &mut rows {
                if row.accept(tokens.get(step).copied().unwrap_or(model.end)).is_err() {
                    let (matcher, _) = &texts[dice.below(texts.len())];
                    *row = matcher.clone();
                }
            }
        }
    }
    report("fill, 32 rows", &batches);
}

/// Time that this thread has run, so that a busy machine does not count.
fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

fn report(figure: &str, times: &[Duration]) {
    let mut times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    println!(
        "{}",
        json!({"figure": figure, "count": times.len(), "mean_ms": mean, "p50_ms": at(0.5), "p99_ms": at(0.99),
            "max_ms": at(1.0)})
    );
}

fn model(tokenizer: &str) -> Model {
    let text = std::fs::read_to_string(tokenizer).expect("the tokenizer");
    let tokens = token_bytes_from_tokenizer_json(&serde_json::from_str(&text).unwrap()).unwrap();
    let size = tokens.len();
    let mut ids = HashMap::new();
    let mut end = 0;
    for (id, bytes) in (0..).zip(&tokens) {
        if bytes.first() != Some(&0xff) {
            ids.insert(bytes.clone(), id);
        } else if bytes.ends_with(b"<|eot_id|>") || bytes.ends_with(b"<|im_end|>") {
            end = id;
        }
    }
    let longest = ids.keys().map(Vec::len).max().unwrap_or(1);
    let split = tokens.into_iter().map(|bytes| match bytes.strip_prefix(b"\xff") {
        Some(special) => (Vec::new(), Some(String::from_utf8_lossy(special).into_owned())),
        None => (bytes, None),
    });
    let vocabulary = Arc::new(Vocabulary::new(split, &[end]).unwrap());
    Model { factory: Factory::new(vocabulary, Limits::default()).unwrap(), size, end, ids, longest }
}

impl Model {
    /// A random text that the grammar allows, written byte by byte, with a liking for what closes.
    fn text(&self, start: &Matcher, dice: &mut Dice) -> Vec<u8> {
        let mut row = start.clone();
        let mut mask = vec![0_u32; words(self.size)];
        let mut text = Vec::new();
        let bytes: Vec<(u8, u32)> =
            (0..=255_u8).filter_map(|byte| Some((byte, *self.ids.get(&[byte][..])?))).collect();
        for _ in 0..600 {
            if row.fill(&mut mask).is_err() {
                break;
            }
            let allowed = |token: u32| mask[token as usize / 32] >> (token % 32) & 1 == 1;
            let all: Vec<_> = bytes.iter().filter(|(_, id)| allowed(*id)).collect();
            let closing: Vec<_> =
                all.iter().copied().filter(|(byte, _)| b"\"}],<".contains(byte)).collect();
            let letters: Vec<_> = all
                .iter()
                .copied()
                .filter(|(byte, _)| b"etaoin shrdlu0123".contains(byte))
                .collect();
            if allowed(self.end) && dice.below(2) == 0 {
                break;
            }
            let from = match dice.below(10) {
                0..3 if !closing.is_empty() => &closing,
                3..9 if !letters.is_empty() => &letters,
                _ => &all,
            };
            if from.is_empty() {
                break;
            }
            let (byte, id) = from[dice.below(from.len())];
            row.accept(*id).unwrap();
            text.push(*byte);
        }
        text
    }

    fn tokens(&self, text: &[u8]) -> Vec<u32> {
        let mut out = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let most = self.longest.min(text.len() - at);
            let Some(length) =
                (1..=most).rev().find(|length| self.ids.contains_key(&text[at..at + length]))
            else {
                break;
            };
            out.push(self.ids[&text[at..at + length]]);
            at += length;
        }
        out
    }
}

type Named = (String, Constraint, Option<Around>);

fn grammars(schemas: &str) -> Vec<Named> {
    let text = std::fs::read_to_string(schemas).expect("the schemas");
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut all: Vec<Named> = cases
        .filter(|case| case.get("refused").is_none())
        .map(|case| {
            (
                case["name"].as_str().unwrap().to_owned(),
                Constraint::Json(case["schema"].clone()),
                None,
            )
        })
        .collect();
    let thinking = Around {
        start_open: true,
        open: vec!["<think>".to_owned()],
        close: vec!["</think>".to_owned()],
    };
    all.push(("reasoning, then any object".to_owned(), Constraint::AnyObject, Some(thinking)));
    let call = |name: &str| {
        Rule::Seq(vec![
            Rule::text(format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": ")),
            Rule::Json(
                json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
            ),
            Rule::text("}\n</tool_call>"),
        ])
    };
    let calls = Rule::Any((0..20).map(|n| call(&format!("tool_{n}"))).collect());
    let prose = || Rule::until(["<tool_call>"]);
    let tools = Rule::Seq(vec![Rule::Seq(vec![prose(), calls]).many(0, None), prose()]);
    all.push(("prose and tool calls".to_owned(), Constraint::Rule(tools.into()), None));
    all
}
