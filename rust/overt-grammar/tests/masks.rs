//! Masks that are kept for a lexer's states are those that would be computed anew.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use std::sync::Arc;

use overt_grammar::{Constraint, Factory, Limits, Options, Rule, Vocabulary, source, words};
use serde_json::{Value, json};

/// Characters of which all texts of two or three are tokens, beside all bytes: a tree large enough that masks are kept.
const LETTERS: &str = "etaoinsb <>{}\"[]=:,.-@\\0159f\n";
const SPECIAL: [&str; 2] = ["<call>", "<end>"];

fn tokens() -> Vec<Vec<u8>> {
    let longer = |shorter: &[Vec<u8>]| -> Vec<Vec<u8>> {
        shorter
            .iter()
            .flat_map(|text| LETTERS.bytes().map(move |letter| [&text[..], &[letter]].concat()))
            .collect()
    };
    let bytes: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let two = longer(&LETTERS.bytes().map(|letter| vec![letter]).collect::<Vec<_>>());
    let three = longer(&two);
    [bytes, two, three].concat()
}

fn factory(tokens: &[Vec<u8>], mask_bytes: usize) -> Factory {
    let plain = tokens.iter().map(|token| (token.clone(), None));
    let special = SPECIAL.iter().map(|spelling| (Vec::new(), Some((*spelling).to_owned())));
    let end = u32::try_from(tokens.len() + 1).unwrap();
    let vocabulary = Vocabulary::new(plain.chain(special), &[end]).unwrap();
    Factory::new(Arc::new(vocabulary), Limits { mask_bytes, ..Limits::default() }).unwrap()
}

fn constraints() -> Vec<(String, Constraint)> {
    let cases = include_str!("schemas/keywords.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut all: Vec<(String, Constraint)> = cases
        .filter(|case| case.get("refused").is_none())
        .map(|case| (case["name"].to_string(), Constraint::Json(case["schema"].clone())))
        .collect();
    let call = |name: &str| {
        let arguments =
            json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 5}}});
        Rule::Seq(vec![Rule::text(format!("<f={name}>")), Rule::Json(arguments), Rule::text("<f>")])
    };
    let stops = ["<f=", "{STOP"];
    let calls = Rule::Seq(vec![
        Rule::until(stops),
        Rule::Any(vec![call("a"), call("ab"), Rule::text("{STOP}")]),
    ]);
    let marked = Rule::Seq(vec![
        Rule::until(["<call>"]),
        Rule::marker("<call>"),
        Rule::pattern("[a-f]{1,6}"),
    ]);
    for (name, rule) in [
        ("text and calls", Rule::Seq(vec![calls.many(0, None), Rule::until(stops)])),
        ("text and marked calls", Rule::Seq(vec![marked.many(0, None), Rule::until(["<call>"])])),
        (
            "one parameter",
            Rule::Seq(vec![Rule::until(["\n</p>"]), Rule::text("\n</p>"), Rule::text("e")]),
        ),
    ] {
        all.push((name.to_owned(), Constraint::Rule(rule.into())));
    }
    all
}

#[test]
fn kept_masks_are_those_computed_anew() {
    let tokens = tokens();
    let size = tokens.len() + SPECIAL.len();
    let (keeps, forgets) = (factory(&tokens, 64 << 20), factory(&tokens, 0));
    let marker = |spelling: &str| {
        let at = SPECIAL.iter().position(|special| *special == spelling)?;
        u32::try_from(tokens.len() + at).ok()
    };
    let options = Options { markers: &marker, ..Options::default() };
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |count: usize| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        (dice >> 11) as usize % count
    };
    for (name, constraint) in constraints() {
        let source = source(&constraint, "f", &options).unwrap();
        let (kept, plain) = (keeps.compile(&source).unwrap(), forgets.compile(&source).unwrap());
        for _ in 0..8 {
            let (mut one, mut other) = (kept.clone(), plain.clone());
            let (mut left, mut right) = (vec![0; words(size)], vec![0; words(size)]);
            for _ in 0..25 {
                one.fill(&mut left).unwrap();
                other.fill(&mut right).unwrap();
                assert_eq!(left, right, "{name} under\n{}", source.lark);
                let allowed: Vec<u32> = (0..size as u32)
                    .filter(|token| left[*token as usize / 32] >> (token % 32) & 1 == 1)
                    .collect();
                let token = allowed[below(allowed.len())];
                one.accept(token).unwrap();
                other.accept(token).unwrap();
                if one.is_ended() {
                    break;
                }
            }
        }
    }
}
