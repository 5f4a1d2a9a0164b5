//! No input makes the crate panic: it is read, or refused; what is accepted compiles, or is refused by the compiler.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "helpers of tests may fail"
)]

mod common;

use common::{END, factory, options};
use overt_grammar::{Constraint, Options, requested, source, words};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const KEYWORDS: [&str; 40] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "$ref",
    "$defs",
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
    "contains",
    "a",
];
const WORDS: [&str; 16] = [
    "object",
    "array",
    "string",
    "integer",
    "number",
    "null",
    "#",
    "#/$defs/a",
    "#/properties/a",
    "^a+$",
    "(",
    "date",
    "email",
    "a",
    "\u{0}",
    "é\"\\",
];

/// JSON of the words that schemas are made of, well formed or not.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        proptest::sample::select(&WORDS[..]).prop_map(|word| json!(word)),
        any::<bool>().prop_map(|flag| json!(flag)),
        (-3_i64..40).prop_map(|number| json!(number)),
        prop_oneof![Just(0.5), Just(1e300), Just(-1e-300), Just(9e18), any::<f64>()]
            .prop_map(|number| json!(number)),
        any::<u64>().prop_map(|number| json!(number)),
        Just(Value::Null),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec((proptest::sample::select(&KEYWORDS[..]), inner), 0..6)
                .prop_map(|fields| {
                    Value::Object(
                        fields
                            .into_iter()
                            .map(|(key, value)| (key.to_owned(), value))
                            .collect::<Map<_, _>>(),
                    )
                }),
        ]
    })
}

/// Follows a source as far as a few tokens, if it compiles.
fn follow(constraint: &Constraint, field: &str, options: &Options<'_>) {
    let Ok(source) = source(constraint, field, options) else { return };
    let Ok(mut matcher) = factory().compile(&source) else { return };
    let mut mask = vec![0_u32; words(262)];
    for step in 0..24_usize {
        if matcher.fill(&mut mask).is_err() {
            return;
        }
        let allowed: Vec<u32> =
            (0..262).filter(|token| mask[*token as usize / 32] >> (token % 32) & 1 == 1).collect();
        assert!(!allowed.is_empty(), "nothing is allowed under\n{}", source.lark);
        let token = allowed[(step * 7) % allowed.len()];
        matcher.accept(token).unwrap();
        if token == END && matcher.is_ended() {
            return;
        }
    }
}

proptest! {
    #[test]
    fn any_schema(schema in schema()) {
        follow(&Constraint::Json(schema), "s", &options());
    }

    #[test]
    fn any_request(field in proptest::sample::select(&[
        "response_format", "structured_outputs", "guided_json", "guided_choice", "structural_tag", "regex", "ebnf",
        "json_schema", "guided_whitespace_pattern",
    ][..]), value in schema()) {
        let body = json!({field: value});
        if let Ok(Some((path, constraint))) = requested(&body) {
            prop_assert!(path.starts_with(field));
            if let Ok(options) = options().with_request(&body) {
                follow(&constraint, &path, &options);
            }
        }
    }

    #[test]
    fn any_grammar(text in "(root|x|::=|\"a\"|'b'|\\[a-c\\]|\\[\\^\"\\]|[ \n(){}|*+?.#,0-3\\\\])*") {
        follow(&Constraint::Ebnf(format!("root ::= {text}")), "ebnf", &options());
        follow(&Constraint::Ebnf(text), "ebnf", &options());
    }

    #[test]
    fn any_text(text in ".*") {
        follow(&Constraint::Ebnf(text.clone()), "ebnf", &options());
        follow(&Constraint::Regex(text.clone()), "regex", &options());
        follow(&Constraint::Lark(text.clone()), "lark", &options());
        follow(&Constraint::Choice(vec![text.clone(), "b".to_owned()]), "choice", &options());
        let _ = requested(&json!({"structured_outputs": {"json": text}}));
    }

    #[test]
    fn any_expression(regex in "[\\^$]?([a-c.]|\\[[a-c]-?[^a-c\\]]\\]|\\(\\?:|\\(|\\)|\\||[*+?]|\\{[0-3],?[0-3]?\\}|\\\\[dwsbBAz])*[$]?") {
        follow(&Constraint::Regex(regex), "regex", &options());
    }
}
