use serde_json::{Value, json};

use super::{Type, declares, is_number, items, property, quote};

fn written(schema: &Value, text: &str) -> String {
    let mut out = String::new();
    Type::of(schema, schema).write(text, &mut out);
    out
}

#[test]
fn a_schema_says_what_a_text_is() {
    for (schema, text, expected) in [
        // Types, lists of them, and those of Python.
        (json!({"type": "string"}), "12", "\"12\""),
        (json!({"type": "string"}), " null ", "\" null \""),
        (json!({"type": "str"}), "true", "\"true\""),
        (json!({"type": "integer"}), " 12\n", "12"),
        (json!({"type": "integer"}), "1.0", "1.0"),
        (json!({"type": "integer"}), "18446744073709551616", "18446744073709551616"),
        (json!({"type": "integer"}), "018", "\"018\""),
        (json!({"type": "integer"}), "+1", "\"+1\""),
        (json!({"type": "integer"}), "", "\"\""),
        (json!({"type": "number"}), "-1.50E+400", "-1.50E+400"),
        (json!({"type": "number"}), "NaN", "\"NaN\""),
        (json!({"type": "float"}), "1.", "\"1.\""),
        (json!({"type": "boolean"}), "True", "true"),
        (json!({"type": "boolean"}), "FALSE", "false"),
        (json!({"type": "boolean"}), "1", "\"1\""),
        (json!({"type": "null"}), "nil", "null"),
        (json!({"type": ["integer", "null"]}), "None", "null"),
        (json!({"type": ["string", "null"]}), "null", "null"),
        (json!({"type": ["string", "null"]}), "None", "\"None\""),
        (json!({"type": ["string", "integer"]}), "7", "7"),
        (json!({"type": ["string", "integer"]}), "7a", "\"7a\""),
        (json!({"type": "string", "nullable": true}), "null", "null"),
        (json!({"type": "wrong"}), "7", "7"),
        // Containers: JSON's own bytes, Python's literals, JSON in a string.
        (json!({"type": "object"}), " {\"a\":  1e2} ", "{\"a\":  1e2}"),
        (json!({"type": "object"}), "[1]", "\"[1]\""),
        (
            json!({"type": "object"}),
            "{'a': 1, 2: None, 'b': (True, 'x\\'\"',)}",
            "{\"a\": 1, \"2\": null, \"b\": [true, \"x'\\\"\"]}",
        ),
        (json!({"type": "object"}), "{\"a\": \"line\nline\"}", "{\"a\": \"line\\nline\"}"),
        (json!({"type": "object"}), "\"{\\\"a\\\": 1}\"", "{\"a\": 1}"),
        (json!({"type": "object"}), "\"text\"", "\"\\\"text\\\"\""),
        (json!({"type": "object"}), "{a: 1}", "\"{a: 1}\""),
        (json!({"type": "object"}), "{'a': 1} x", "\"{'a': 1} x\""),
        (json!({"type": "array"}), "(1, 'a')", "[1, \"a\"]"),
        (json!({"type": "array"}), "[]", "[]"),
        (json!({"type": "array"}), "[1, 2", "\"[1, 2\""),
        (json!({"type": ["array", "string"]}), "['a']", "\"['a']\""),
        (json!({"type": ["array", "string"]}), "[\"a\"]", "[\"a\"]"),
        (json!({"properties": {}}), "{}", "{}"),
        (json!({"items": {}}), "[]", "[]"),
        // Legal texts are text.
        (json!({"enum": ["null", "7", 8, null]}), "null", "\"null\""),
        (json!({"enum": ["null", "7", 8, null]}), "7", "\"7\""),
        (json!({"enum": ["null", "7", 8, null]}), "8", "8"),
        (json!({"type": ["string", "null"], "enum": ["none", "null"]}), "null", "\"null\""),
        (json!({"const": 3}), "3", "3"),
        (json!({"const": "3"}), "3", "\"3\""),
        (json!({"enum": [1.5]}), "1.5", "1.5"),
        // Branches.
        (json!({"anyOf": [{"type": "object"}, {"type": "null"}]}), "null", "null"),
        (json!({"oneOf": [{"type": "integer"}, {"enum": ["5", "x"]}]}), "5", "\"5\""),
        (json!({"anyOf": [{"type": "string"}, {"description": "any"}]}), "5", "5"),
        (json!({"allOf": [{"description": "x"}, {"type": "string"}]}), "5", "\"5\""),
        (json!({"allOf": [{"type": ["string", "integer"]}, {"type": "integer"}]}), "x5", "\"x5\""),
        (json!({"allOf": [{"type": ["string", "null"]}, {"type": "string"}]}), "null", "\"null\""),
        (json!({"allOf": [{"type": "number"}, {"type": "integer"}]}), "5", "5"),
        // References, also to themselves and to nothing.
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b~1c"}, "b/c": {"type": "string"}}}),
            "5",
            "\"5\"",
        ),
        (json!({"$ref": "#"}), "5", "5"),
        (json!({"$ref": "#/nothing"}), "5", "5"),
        (json!({"$ref": "other.json"}), "word", "\"word\""),
        // Nothing is said.
        (json!({}), "5", "5"),
        (json!(true), "null", "null"),
        (json!(null), "true", "true"),
        (Value::Null, "True", "\"True\""),
        (Value::Null, "[1, {\"a\": null}]", "[1, {\"a\": null}]"),
        (Value::Null, "{'a': 1}", "\"{'a': 1}\""),
        (Value::Null, "\"5\"", "\"\\\"5\\\"\""),
        (Value::Null, " a\tb\u{1}\u{7f}é", "\" a\\tb\\u0001\u{7f}é\""),
    ] {
        assert_eq!(written(&schema, text), expected, "{schema} {text:?}");
    }
}

#[test]
fn python_strings_keep_their_meaning() {
    for (text, expected) in [
        (r#"['\n\t\\\'\"\/']"#, r#"["\n\t\\'\"\/"]"#),
        (r"['\x41\u00e9\ud83d\ude00\U0001F600']", "[\"\\u0041\\u00e9\\ud83d\\ude00\u{1F600}\"]"),
        (r"['\d\0\a\v']", r#"["\\d\u0000\u0007\u000b"]"#),
        ("['a\\\nb']", "[\"ab\"]"),
        ("[{1.5: [], True: ()}]", "[{\"1.5\": [], \"true\": []}]"),
    ] {
        let found = written(&json!({"type": "array"}), text);
        assert_eq!(found, expected, "{text}");
        assert!(serde_json::from_str::<Value>(&found).is_ok(), "{found}");
    }
    for text in [
        r"['\x4']",
        r"['\u12",
        "['a",
        "[1 2]",
        "{'a' 1}",
        "{'a'}",
        "[",
        "['a'",
        r"['\U00110000']",
        r"['\u+123']",
        "[,]",
        "[nan]",
    ] {
        let expected = json!(text).to_string();
        assert_eq!(written(&json!({"type": ["array", "object"]}), text), expected, "{text}");
    }
    // JSON may nest as it likes, other literals no deeper than a reader should go.
    let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(500), "]".repeat(500));
    assert_eq!(written(&json!({"type": "array"}), &deep("1")), deep("1"));
    assert_eq!(written(&json!({"type": "array"}), &deep("None")), json!(deep("None")).to_string());
}

#[test]
fn what_is_cut_off_is_not_closed() {
    for (schema, text, expected) in [
        (json!({"type": "integer"}), "4", "4"),
        (json!({"type": "object"}), "{\"a\": \"b", "{\"a\": \"b"),
        (json!({"type": ["boolean", "null"]}), "nu", "nu"),
        (json!({"type": "boolean"}), "nu", "\"nu"),
        (json!({"type": ["string", "integer"]}), "4", ""),
        (json!({"type": ["string", "integer"]}), "x\"4", "\"x\\\"4"),
        (json!({}), " ", ""),
    ] {
        let mut out = String::new();
        Type::of(&schema, &schema).write_cut(text, &mut out);
        assert_eq!(out, expected, "{schema} {text}");
    }
}

#[test]
fn properties_and_items_are_found_through_branches() {
    let root = json!({
        "$ref": "#/$defs/a",
        "$defs": {
            "a": {"allOf": [{"properties": {"x": {"type": "integer"}}}, {"anyOf": [{"properties": {"y": true}}]}],
                "additionalProperties": {"type": "number"}},
            "l": {"oneOf": [{"type": "null"}, {"items": {"type": "boolean"}}]}
        }
    });
    assert_eq!(property(&root, &root, "x"), Some(&json!({"type": "integer"})));
    assert_eq!(property(&root, &root, "y"), Some(&json!(true)));
    assert_eq!(property(&root, &root, "z"), Some(&json!({"type": "number"})));
    assert_eq!(items(&root, &json!({"$ref": "#/$defs/l"})), Some(&json!({"type": "boolean"})));
    assert!(declares(&root, &root, "y") && !declares(&root, &root, "z"));
}

#[test]
fn schemas_that_refer_to_themselves_cost_little() {
    let branches: Vec<Value> = (0..50).map(|_| json!({"$ref": "#/$defs/a"})).collect();
    let root = json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": branches}}});
    assert_eq!(Type::of(&root, &root), Type::any());
    assert_eq!(property(&root, &root, "x"), None);
}

#[test]
fn numbers_are_those_of_json() {
    for text in ["0", "-0", "10", "1.5", "1e5", "-2.50E-3"] {
        assert!(is_number(text), "{text}");
    }
    for text in ["", "-", "01", "1.", ".5", "1e", "0x1", "1 ", "--1", "Infinity"] {
        assert!(!is_number(text), "{text}");
    }
}

#[test]
fn quoted_text_is_json() {
    let all: String =
        (0..0x300).filter_map(char::from_u32).chain("\u{2028}\u{1F600}".chars()).collect();
    let mut out = String::new();
    quote(&all, &mut out);
    assert_eq!(serde_json::from_str::<String>(&out).unwrap(), all);
}
