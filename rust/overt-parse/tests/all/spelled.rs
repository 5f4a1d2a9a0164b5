//! What formats write is read back, however it is cut, and is what their grammars say.

use crate::common::accepts::accepts;
use crate::common::{How, with};
use overt_parse::{Many, Tool, Tools, Written, tool_format};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const FORMATS: [&str; 14] = [
    "functiongemma",
    "gemma4",
    "glm45",
    "glm47",
    "hy_v3",
    "hy_v4",
    "iquest_q1",
    "k2_horizon",
    "lfm2",
    "ling3",
    "olmo3",
    "poolside_v1",
    "pythonic",
    "spark25",
];

fn tools() -> Value {
    let parameters = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "force": {"type": "boolean"},
            "tags": {"type": "array"},
            "options": {"type": "object"},
            "none": {"type": "null"},
            "mode": {"enum": ["fast", "a'b", 3, null]},
        },
    });
    json!([
        {"type": "function", "function": {"name": "do.it-now_2", "parameters": parameters}},
        {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
    ])
}

fn text() -> impl Strategy<Value = String> {
    // After a closing tag that ends a value nothing tells whether it was text.
    let parts = prop_oneof![
        Just("</arg_value>z"),
        Just("</ifm|arg_value>z"),
        Just("</arg_value:opensource>z"),
        Just("<tool_call>"),
        Just("</tool_call>"),
        Just("<|tool_call_end|>"),
        Just("</function_calls>"),
        Just("<|\"|>"),
        Just("<escape>"),
        Just("<tool_call|>"),
        Just("<|"),
        Just("'"),
        Just("\""),
        Just("\\"),
        Just("\\n"),
        Just("\n"),
        Just(" "),
        Just("\u{1}"),
        Just("é😀"),
        Just(")]}"),
        Just("{[("),
        Just(", a=1"),
        Just("null"),
        Just("12"),
        Just("x"),
    ];
    prop::collection::vec(parts, 0..5).prop_map(|parts| parts.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[a-z]{1,3}| k\\W?", inner), 0..3).prop_map(object),
        ]
    })
}

fn object<K: Into<String>>(members: Vec<(K, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// Arguments in the schema's order, some of them missing.
fn arguments() -> impl Strategy<Value = Value> {
    let list = prop::collection::vec(value(), 0..3).prop_map(Value::from);
    let options = prop::collection::vec(("[a-z]{1,3}", value()), 0..3).prop_map(object);
    let mode =
        prop_oneof![Just(json!("fast")), Just(json!("a'b")), Just(json!(3)), Just(json!(null))];
    (
        prop::option::of(text().prop_map(Value::from)),
        prop::option::of(any::<i64>().prop_map(Value::from)),
        prop::option::of((-1e6..1e6).prop_map(Value::from)),
        prop::option::of(any::<bool>().prop_map(Value::from)),
        prop::option::of(list),
        prop::option::of(options),
        prop::option::of(Just(Value::Null)),
        prop::option::of(mode),
    )
        .prop_map(|(text, count, ratio, force, tags, options, none, mode)| {
            let members = [
                ("text", text),
                ("count", count),
                ("ratio", ratio),
                ("force", force),
                ("tags", tags),
                ("options", options),
                ("none", none),
                ("mode", mode),
            ];
            object(members.into_iter().filter_map(|(key, value)| Some((key, value?))).collect())
        })
}

fn calls() -> impl Strategy<Value = Vec<(String, Value)>> {
    let call = prop_oneof![
        3 => arguments().prop_map(|arguments| ("do.it-now_2".to_owned(), arguments)),
        1 => Just(("now".to_owned(), Value::Object(Map::new()))),
    ];
    prop::collection::vec(call, 1..4)
}

fn written<'a>(calls: &'a [(String, Value)], tools: &'a Tools) -> Vec<Written<'a>> {
    let of =
        |(name, arguments): &'a (String, Value)| Written { name, arguments, tool: tools.get(name) };
    calls.iter().map(of).collect()
}

fn grammar(format: &str, tools: &Tools, many: Many) -> overt_rule::Grammar {
    let list: Vec<&Tool> = tools.list.iter().collect();
    tool_format(format).expect(format).grammar(&list, many).expect("calls")
}

fn write(format: &str, calls: &[(String, Value)], tools: &Tools) -> String {
    tool_format(format).expect(format).write(&written(calls, tools))
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        calls in calls(),
        cuts in prop::collection::vec(1..9_usize, 1..20),
        before in prop_oneof![Just(""), Just("I call.\n")],
    ) {
        for format in FORMATS {
            let how = with(format, &tools());
            let wire = format!("{before}{}", write(format, &calls, &how.options.tools));
            let answer = how.read_pieces(&cut(&how, &wire, &cuts));
            prop_assert_eq!(answer.calls(), calls.clone(), "{}", wire);
            prop_assert_eq!(answer.content, before, "{}", wire);
        }
    }

    #[test]
    fn what_is_written_is_what_the_grammar_says(calls in calls()) {
        for format in FORMATS {
            let how = with(format, &tools());
            let tools = &how.options.tools;
            let wire = write(format, &calls[..1], tools);
            // A grammar lets no marker stand in text; and trying everything takes its time.
            let marked = ["arg_value", "<|\\\"|>", "<escape>"];
            let plain = !marked.iter().any(|mark| calls[0].1.to_string().contains(mark));
            if plain && wire.len() < 250 {
                prop_assert!(accepts(&grammar(format, tools, Many::One), &wire), "{}", wire);
                prop_assert!(accepts(&grammar(format, tools, Many::Some), &wire), "{}", wire);
                prop_assert!(!accepts(&grammar(format, tools, Many::Some), &wire[1..]), "{}", wire);
            }
        }
    }

    #[test]
    fn nothing_breaks_a_reader(
        parts in prop::collection::vec(0..40_usize, 0..30),
        cuts in prop::collection::vec(1..9_usize, 1..20),
    ) {
        const PARTS: [&str; 40] = [
            "<tool_calls>", "</tool_calls>", "<tool_call>", "</tool_call>", "<tool_sep>", "<arg_key>", "</arg_key>",
            "<arg_value>", "</arg_value>", "<ifm|tool_calls>", "<ifm|tool_call>", "</ifm|tool_call>", "<ifm|arg_key>",
            "</ifm|arg_key>", "<ifm|arg_value>", "</ifm|arg_value>", "<iquest_tool_call>", "<|tool_call>call:",
            "<tool_call|>", "<|\"|>", "<start_function_call>", "<end_function_call>", "<escape>",
            "<|tool_call_start|>", "<|tool_call_end|>", "<function_calls>", "</function_calls>", "now", "(", ")", "[",
            "]", "{", "}", "=", ",", ":", "\"", "'", " \n",
        ];
        let wire: String = parts.iter().map(|part| PARTS[*part]).collect();
        for format in FORMATS {
            let how = with(format, &tools());
            let whole = how.read_pieces(&[(wire.clone(), false)]);
            prop_assert_eq!(how.read_pieces(&cut(&how, &wire, &cuts)), whole, "{}: {}", format, wire);
        }
    }
}

/// Cuts `wire` into pieces of so many characters, over and over.
fn cut(how: &How, wire: &str, cuts: &[usize]) -> Vec<(String, bool)> {
    assert!(how.specials.is_empty());
    let mut rest: Vec<char> = wire.chars().collect();
    let mut pieces = Vec::new();
    for size in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let tail = rest.split_off((*size).min(rest.len()));
        pieces.push((rest.into_iter().collect(), false));
        rest = tail;
    }
    pieces
}

#[test]
fn grammars_hold_arguments_to_the_schema() {
    let parameters = json!({
        "$defs": {"tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "n": {"type": "integer"}}, "required": ["n"]}},
        "type": "object",
        "properties": {
            "first": {"type": "string", "maxLength": 3},
            "code": {"type": "string", "pattern": "^[a-c]+$"},
            "n": {"type": "integer", "minimum": 5},
            "tree": {"$ref": "#/$defs/tree"},
            "list": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2},
        },
        "required": ["code", "n"],
    });
    let tools = Tools::of(&[json!({"name": "f", "parameters": parameters})]);
    for format in FORMATS {
        let legal = |arguments: &Value| {
            let wire = write(format, &[("f".to_owned(), arguments.clone())], &tools);
            accepts(&grammar(format, &tools, Many::One), &wire)
        };
        for (arguments, is_legal) in [
            (json!({"code": "ab", "n": 5}), true),
            (json!({"first": "xyz", "code": "ab", "n": 5, "list": [true, false]}), true),
            (
                json!({"code": "ab", "n": 5, "tree": {"left": {"left": {"n": 1}, "n": 2}, "n": 3}}),
                true,
            ),
            (json!({"code": "ab"}), false),
            (json!({"n": 5}), false),
            (json!({"n": 5, "code": "ab"}), false),
            (json!({"code": "ad", "n": 5}), json_strings(format)),
            (json!({"code": "ab", "n": "5x"}), false),
            (json!({"code": "ab", "n": 4}), false),
            (json!({"first": "wxyz", "code": "ab", "n": 5}), false),
            (json!({"code": "ab", "n": 5, "other": 1}), false),
            (json!({}), false),
        ] {
            assert_eq!(legal(&arguments), is_legal, "{format}: {arguments}");
        }
        // What is nested is held to its schema by what stands for it in the grammar, or by the schema itself.
        if ["gemma4", "functiongemma", "lfm2", "pythonic", "olmo3"].contains(&format) {
            for arguments in [
                json!({"code": "ab", "n": 5, "tree": {"left": {"left": {"n": 1}}, "n": 3}}),
                json!({"code": "ab", "n": 5, "list": []}),
                json!({"code": "ab", "n": 5, "list": [true, true, true]}),
                json!({"code": "ab", "n": 5, "list": [1]}),
            ] {
                assert!(!legal(&arguments), "{format}: {arguments}");
            }
        }
        let two = vec![("f".to_owned(), json!({"code": "ab", "n": 5})); 2];
        let wire = write(format, &two, &tools);
        assert!(accepts(&grammar(format, &tools, Many::Some), &wire), "{wire}");
        assert!(!accepts(&grammar(format, &tools, Many::One), &wire), "{wire}");
    }
}

/// Patterns within JSON strings are held by the schema, which these tests do not know.
fn json_strings(format: &str) -> bool {
    matches!(format, "pythonic" | "olmo3")
}

#[test]
fn tools_without_properties_take_what_their_schema_says() {
    for (parameters, arguments, is_legal) in [
        (Value::Null, json!({"a": 1}), true),
        (Value::Null, json!({}), true),
        (json!({"type": "object"}), json!({"a": "b", "c": "d"}), true),
        (json!({"type": "object", "additionalProperties": false}), json!({"a": "b"}), false),
        (
            json!({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}),
            json!({"a": "x", "b": 1}),
            true,
        ),
        (
            json!({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}),
            json!({"b": true}),
            false,
        ),
    ] {
        let tools = Tools::of(&[json!({"name": "f", "parameters": parameters})]);
        for format in FORMATS {
            let wire = write(format, &[("f".to_owned(), arguments.clone())], &tools);
            assert_eq!(accepts(&grammar(format, &tools, Many::Some), &wire), is_legal, "{wire}");
        }
    }
}
