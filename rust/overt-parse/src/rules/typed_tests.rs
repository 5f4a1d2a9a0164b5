use overt_rule::Rule;
use serde_json::{Value, json};

use super::{spell, standalone, value};

fn rule(schema: &Value) -> Rule {
    value(schema, schema, &["<"])
}

#[test]
fn strings_are_text_and_other_values_json() {
    let until = Rule::until(["<"]);
    let pattern = |text: &str| until.clone().both(Rule::pattern(text));
    for (schema, expected) in [
        (json!({"type": "string"}), until.clone()),
        (json!({}), until.clone()),
        (json!({"type": ["string", "null"]}), until.clone()),
        (json!({"type": "integer"}), Rule::Json(json!({"type": "integer"}))),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            Rule::Any(vec![Rule::text("a"), Rule::text("b")]),
        ),
        (
            json!({"enum": ["a", 1, null]}),
            Rule::Any(vec![Rule::text("a"), Rule::Json(json!({"enum": [1, null]}))]),
        ),
        (
            json!({"anyOf": [{"const": "a"}, {"type": "null"}]}),
            Rule::Any(vec![Rule::text("a"), Rule::Json(json!({"type": ["null"]}))]),
        ),
        (
            json!({"type": "string", "minLength": 2, "maxLength": 3}),
            until.clone().both(Rule::pattern("(?s:.)").many(2, Some(3))),
        ),
        (json!({"type": "string", "pattern": "^a|b$"}), pattern("(?:a)(?s:.*)|(?s:.*)(?:b)")),
        (json!({"type": "string", "pattern": "^(a|b)[|]$"}), pattern("(?:(a|b)[|])")),
        (json!({"type": "string", "pattern": "a\\$"}), pattern("(?s:.*)(?:a\\$)(?s:.*)")),
        (json!({"type": "string", "pattern": "a\\\\$"}), pattern("(?s:.*)(?:a\\\\)")),
    ] {
        assert_eq!(rule(&schema), expected, "{schema}");
    }
}

#[test]
fn a_schema_takes_what_it_refers_to_along() {
    let root = json!({
        "properties": {"a": {"$ref": "#/$defs/T"}, "b": {"items": {"$ref": "#/properties/a"}}},
        "$defs": {"T": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/T"}, {"$ref": "#/$defs/U"}]}, "U": {}, "V": {}}
    });
    let found = standalone(&root, &root["properties"]["b"]);
    let names = ["r1", "r2", "r3"];
    assert_eq!(found["items"], json!({"$ref": "#/$defs/r1"}));
    let definitions = found["$defs"].as_object().unwrap();
    assert_eq!(definitions.len(), names.len());
    assert_eq!(definitions["r1"], json!({"$ref": "#/$defs/r2"}));
    assert_eq!(
        definitions["r2"],
        json!({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/r2"}, {"$ref": "#/$defs/r3"}]})
    );
    assert_eq!(definitions["r3"], json!({}));
    // Nothing to take along, and a reference to nothing.
    assert_eq!(standalone(&root, &json!({"type": "null"})), json!({"type": "null"}));
    assert_eq!(
        standalone(&root, &json!({"$ref": "#/x"})),
        json!({"$ref": "#/$defs/r1", "$defs": {"r1": true}})
    );
}

#[test]
fn special_tokens_stand_apart() {
    let rules = spell("a<t>b<t2>", &["<t>", "<t2>"]);
    let expected = [Rule::text("a"), Rule::marker("<t>"), Rule::text("b"), Rule::marker("<t2>")];
    assert_eq!(rules, expected);
    assert_eq!(spell("ab", &["<t>"]), [Rule::text("ab")]);
    assert!(spell("", &[]).is_empty());
}
