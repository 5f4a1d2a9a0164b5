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
use serde_json::{Value, json};

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
            let value: Value = serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{name}: {text:?}: {error}"));
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
fn numbers_come_to_an_end_where_nothing_is_said_of_them() {
    let number = json!({"type": "number"});
    let open = json!({"type": "object"});
    let unlike = json!({"not": {"type": ["object", "array", "string"]}});
    for (schema, whole, not) in [
        (&number, "9007199254740990.00000001", "9007199254740992"),
        (&number, "-0.12345678", "0.123456789"),
        (&number, "-9007199254740991", "1e3"),
        (&json!({"type": "integer"}), "-1234567890123456789", "9223372036854775808"),
        (&json!({"type": "integer", "minimum": 5}), "9007199254740993", "9223372036854775808"),
        (&json!({"type": "number", "maximum": 0.5}), "0.49999999", "0.123456789"),
        (&open, r#"{"a":[1.5,{"b":-2}]}"#, r#"{"a":[1e3]}"#),
        (&open, r#"{"a":{"b":12345678}}"#, r#"{"a":{"b":99999999999999999}}"#),
        (&json!({}), "[0.25]", "[0.123456789]"),
        (&json!({"properties": {"a": {}}, "type": "object"}), r#"{"a":1,"b":2}"#, r#"{"a":1e9}"#),
        (&json!({"type": "array"}), "[7,[8]]", "[7,[8e1]]"),
        (&unlike, "12", "123456789012345678"),
        (&json!({"allOf": [number]}), "12", "123456789012345678"),
    ] {
        let matcher = common::matcher(&Constraint::Json(schema.clone()), &options());
        assert_eq!(fate(&matcher, whole), Fate::Whole, "{schema}: {whole}");
        assert_ne!(fate(&matcher, not), Fate::Whole, "{schema}: {not}");
    }
}

#[test]
fn what_a_schema_says_of_its_numbers_goes_before() {
    let shared = json!({
        "$defs": {"n": {"type": "number"}},
        "properties": {"a": {"$ref": "#/$defs/n", "multipleOf": 60000}, "b": {"$ref": "#/$defs/n"}},
        "required": ["a", "b"], "additionalProperties": false,
    });
    for (schema, whole) in [
        (json!({"type": "integer", "minimum": 90_071_992_547_409_920_u64}), "90071992547409920"),
        (json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1e-10}), "0.00000000005"),
        (json!({"type": "number", "minimum": 0.000_000_000_1, "maximum": 1}), "0.0000000001"),
        (json!({"type": "number", "minimum": 1e17}), "100000000000000000"),
        (json!({"type": "number", "minimum": -1e300, "maximum": 1e300}), "12.5"),
        (json!({"type": "integer", "minimum": -1e300, "maximum": 1e300}), "12"),
        (json!({"const": 1e-9}), "0.000000001"),
        (json!({"type": "string", "nullable": true}), "null"),
        (json!({"enum": ["a"], "nullable": true}), "null"),
        (json!({"type": "string", "nullable": false}), "\"a\""),
        (
            json!({"enum": [{"a": 1e-9}], "type": "object", "properties": {"a": {"type": "number"}}}),
            r#"{"a":0.000000001}"#,
        ),
        (json!({"type": "number", "enum": [1e-9, 2]}), "0.000000001"),
        (json!({"allOf": [{"type": "number"}, {"multipleOf": 60000}]}), "120000"),
        (shared, r#"{"a":60000,"b":0.5}"#),
    ] {
        let matcher = common::matcher(&Constraint::Json(schema.clone()), &options());
        assert_eq!(fate(&matcher, whole), Fate::Whole, "{schema}: {whole}");
    }
    // What llguidance would count beyond its 32 and 64 bits.
    for (schema, keyword) in [
        (json!({"type": "number", "multipleOf": 1e-9}), "multipleOf"),
        (json!({"type": "number", "minimum": 1e20}), "minimum"),
        (json!({"type": "integer", "maximum": -1e20}), "maximum"),
    ] {
        let refused = common::refused(&Constraint::Json(schema));
        assert_eq!(refused.param, format!("field.{keyword}"));
    }
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
