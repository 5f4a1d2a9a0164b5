//! Schemas over all of JSON Schema's keywords: what is accepted is enforced, what cannot be enforced is refused by
//! name. An independent validator judges texts that random walks under the mask end with.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "helpers of tests may fail"
)]

mod common;

use common::{END, Fate, factory, fate, options};
use overt_grammar::{Constraint, Matcher, source, words};
use serde_json::Value;

const CASES: &str = include_str!("schemas/keywords.jsonl");
/// Finished walks that each schema must yield.
const WALKS: usize = 60;

fn cases() -> Vec<Value> {
    CASES.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Small steps of a fixed sequence; no walk depends on chance.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % count
    }
}

/// One random output, with a liking for what closes; none where it would not end.
fn walk(start: &Matcher, dice: &mut Dice) -> Option<String> {
    let mut matcher = start.clone();
    let mut mask = vec![0_u32; words(262)];
    let mut text = Vec::new();
    for step in 0..3000 {
        matcher.fill(&mut mask).unwrap();
        let allowed = |token: u32| mask[token as usize / 32] >> (token % 32) & 1 == 1;
        if allowed(END) && dice.below(3) > 0 {
            matcher.accept(END).unwrap();
            return Some(String::from_utf8(text).unwrap());
        }
        let closing: Vec<u32> =
            b"\"}]@".iter().map(|byte| u32::from(*byte)).filter(|token| allowed(*token)).collect();
        let plain: Vec<u32> = (32..127).filter(|token| allowed(*token)).collect();
        let all: Vec<u32> = (0..256).filter(|token| allowed(*token)).collect();
        let from = match dice.below(8) {
            0..4 if !closing.is_empty() => &closing,
            4.. if !closing.is_empty() && step > 400 => &closing,
            0..7 if !plain.is_empty() => &plain,
            _ => &all,
        };
        // Where nothing else is allowed the output ends.
        let Some(token) = (!from.is_empty()).then(|| from[dice.below(from.len())]) else {
            assert!(allowed(END), "nothing is allowed after {:?}", String::from_utf8_lossy(&text));
            return Some(String::from_utf8(text).unwrap());
        };
        matcher.accept(token).unwrap();
        text.push(u8::try_from(token).unwrap());
    }
    None
}

#[test]
fn accepted_schemas_are_enforced() {
    let mut accepted = 0;
    for case in cases().iter().filter(|case| case.get("refused").is_none()) {
        let (name, schema) = (&case["name"], &case["schema"]);
        let source = source(&Constraint::Json(schema.clone()), "s", &options())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let matcher = factory()
            .compile(&source)
            .unwrap_or_else(|error| panic!("{name}: {error}\n{}", source.lark));
        let judge = jsonschema::options().should_validate_formats(true).build(schema).unwrap();
        let texts = |kind: &str| {
            case[kind].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned())
        };
        for text in texts("valid") {
            assert_eq!(fate(&matcher, &text), Fate::Whole, "{name}: {text} under\n{}", source.lark);
            assert!(
                judge.is_valid(&serde_json::from_str(&text).unwrap()),
                "{name}: the case {text} is wrong"
            );
        }
        for text in texts("invalid") {
            assert_ne!(fate(&matcher, &text), Fate::Whole, "{name}: {text} under\n{}", source.lark);
            // Of a name that comes twice, and of digits beyond 64 bits, the judge sees too little.
            if case.get("blind").is_none() {
                let parsed: Result<Value, _> = serde_json::from_str(&text);
                assert!(
                    !parsed.is_ok_and(|value| judge.is_valid(&value)),
                    "{name}: the case {text} is wrong"
                );
            }
        }
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let mut finished = 0;
        for _ in 0..WALKS * 2 {
            let Some(text) = walk(&matcher, &mut dice) else { continue };
            let value: Value = match serde_json::from_str(&text) {
                Ok(value) => value,
                // JSON sets no bound on exponents; the parser here does.
                Err(error) if error.to_string().contains("out of range") => continue,
                Err(error) => panic!("{name}: {text:?}: {error}"),
            };
            if let Err(error) = judge.validate(&value) {
                panic!("{name}: {text} is not valid: {error}\n{}", source.lark);
            }
            finished += 1;
            if finished == WALKS {
                break;
            }
        }
        // Random letters seldom spell a word that a pattern asks for.
        assert!(
            finished >= WALKS / 2 || case.get("rare").is_some(),
            "{name}: only {finished} walks ended"
        );
        accepted += 1;
    }
    assert!(accepted >= 52, "{accepted}");
}

#[test]
fn what_cannot_be_enforced_is_refused_by_name() {
    let mut refused = 0;
    for case in cases().iter().filter(|case| case.get("refused").is_some()) {
        let error = source(&Constraint::Json(case["schema"].clone()), "s", &options())
            .expect_err(&case.to_string());
        assert_eq!(error.param, format!("s{}", case["refused"].as_str().unwrap()), "{error}");
        refused += 1;
    }
    assert!(refused >= 10, "{refused}");
}
