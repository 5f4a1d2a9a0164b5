//! What framed formats write they read back, wherever it is cut, and their grammars accept it.

use std::sync::Arc;

use crate::common::How;
use crate::common::accepts::accepts;
use overt_parse::{Many, Options, Tools, Written, tool_format};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const FAMILIES: [(&str, &str); 5] = [
    ("openai", "<|start|>assistant"),
    ("muse_glimmer", "<|start|>assistant"),
    ("inkling", "<|message_model|>"),
    ("cohere_command4", "<|CHATBOT_TOKEN|>"),
    ("kimi_k3", "<|open|>response<|sep|><|close|>response<|sep|>"),
];

/// A value and the schema of its type.
fn value() -> impl Strategy<Value = (Value, Value)> {
    let text = "[^<]{0,12}|\\PC{0,6}";
    let leaf = prop_oneof![
        text.prop_map(|text| Value::from(text.replace('<', "("))),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        (-1.0e6..1.0e6).prop_map(Value::from),
    ];
    let nested = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec(("[a-z ]{1,4}", inner), 0..3).prop_map(|pairs| {
                Value::Object(pairs.into_iter().collect::<Map<String, Value>>())
            }),
        ]
    });
    nested.prop_map(|value| {
        let name = match &value {
            Value::String(_) => "string",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::Bool(_) => "boolean",
            Value::Null => "null",
            Value::Object(_) => "object",
            Value::Array(_) => "array",
        };
        (value, json!({"type": name}))
    })
}

/// A tool as a request declares it, and arguments for it.
fn call() -> impl Strategy<Value = (Value, Value)> {
    let parameters = vec(("[a-z][a-z_]{0,6}", value()), 0..4);
    ("[a-zA-Z][a-zA-Z0-9_.-]{0,8}", parameters).prop_map(|(name, parameters)| {
        let mut properties = Map::new();
        let mut arguments = Map::new();
        for (key, (value, schema)) in parameters {
            properties.insert(key.clone(), schema);
            arguments.insert(key, value);
        }
        let required: Vec<&String> = properties.keys().collect();
        let schema = json!({"type": "object", "required": required, "properties": properties});
        (json!({"name": name, "parameters": schema}), Value::Object(arguments))
    })
}

proptest! {
    #[test]
    fn written_calls_are_read_back(calls in vec(call(), 1..4), cut in vec(1_usize..9, 1..6)) {
        // Of two tools of one name the first one's schema counts.
        let mut list: Vec<Value> = Vec::new();
        let mut kept = Vec::new();
        for (tool, arguments) in calls {
            if list.iter().all(|other| other["name"] != tool["name"]) {
                list.push(tool);
                kept.push(arguments);
            }
        }
        let tools = Tools::of(&list);
        let written: Vec<Written<'_>> = tools.list.iter().zip(&kept)
            .map(|(tool, arguments)| Written { name: &tool.name, arguments, tool: Some(tool) })
            .collect();
        let expected: Vec<(String, Value)> =
            written.iter().map(|call| (call.name.to_owned(), call.arguments.clone())).collect();
        for (name, tail) in FAMILIES {
            let format = tool_format(name).expect("a format");
            let text = format.write(&written);
            let options = Options { tools: Arc::new(tools.clone()), prompt_tail: tail.to_owned(), ..Options::default() };
            let how = How { tool: Some(name.to_owned()), options, ..How::default() };
            let mut pieces = Vec::new();
            let mut characters = text.chars().peekable();
            for size in cut.iter().cycle() {
                if characters.peek().is_none() {
                    break;
                }
                pieces.push((characters.by_ref().take(*size).collect::<String>(), false));
            }
            let answer = how.read_pieces(&pieces);
            prop_assert_eq!(answer.calls(), expected.clone(), "{}: {}", name, text);
            prop_assert_eq!(answer.content.as_str(), "", "{}: {}", name, text);

            let refs: Vec<_> = tools.list.iter().collect();
            let grammar = format.grammar(&refs, Many::Some).expect("a grammar");
            prop_assert!(accepts(&grammar, &text), "{}: {} by {:?}", name, text, grammar);
            let one = format.grammar(&refs, Many::One).expect("a grammar");
            prop_assert_eq!(accepts(&one, &text), written.len() == 1, "{}: {}", name, text);
        }
    }

    #[test]
    fn text_without_markers_is_never_lost(text in "[^<\\[]{0,60}") {
        for (name, tail) in FAMILIES {
            let tools = Arc::new(Tools::of(&[json!({"name": "f"})]));
            let options = Options { tools, prompt_tail: tail.to_owned(), ..Options::default() };
            let how = How { tool: Some(name.to_owned()), options, ..How::default() };
            let answer = how.read(&text);
            prop_assert_eq!(answer.content.trim(), text.trim(), "{}", name);
            prop_assert!(answer.calls.is_empty());
        }
    }

    #[test]
    fn nothing_panics_and_cuts_never_matter(
        parts in vec(prop_oneof![
            proptest::sample::select(vec![
                "<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|constrain|>", "analysis", " to=f",
                " to=self", "assistant", "<|eom|>", "<atem:invoke name=\"", "f\">", "</atem:invoke>",
                "<atem:parameter name=\"", "</atem:parameter>", "<|message_model|>", "<|content_thinking|>",
                "<|content_text|>", "<|content_invoke_tool_json|>", "<|end_message|>", "<|START_THINKING|>",
                "<|END_THINKING|>", "<|START_ACTION|>", "<|END_ACTION|>", "<|START_TEXT|>", "<|open|>", "<|sep|>",
                "<|close|>", "think", "tools", "call tool=\"f\"", "argument key=\"a\" type=\"string\"", "json", "{",
                "}", "[", "]", "\"", "\\", ":", ",", "\"name\"", "\"tool_name\"", "\"args\"", "null", "1", " ", "\n", "é",
            ]).prop_map(str::to_owned),
            "\\PC{0,4}",
        ], 0..24),
    ) {
        let text = parts.concat();
        for (name, tail) in FAMILIES {
            let tools = Arc::new(Tools::of(&[json!({"name": "f"})]));
            let options = Options { tools, prompt_tail: tail.to_owned(), ..Options::default() };
            How { tool: Some(name.to_owned()), options, ..How::default() }.read(&text);
        }
    }
}

#[test]
fn grammars_hold_arguments_to_the_schema() {
    let tool = json!({"name": "f", "parameters": {
        "type": "object",
        "properties": {
            "unit": {"type": "string", "enum": ["C", "F"]},
            "days": {"type": "integer"},
            "note": {"type": ["string", "null"]}
        },
        "required": ["unit"]
    }});
    let tools = Tools::of(&[tool]);
    let refs: Vec<_> = tools.list.iter().collect();
    let muse = |inner: &str| {
        format!(
            " to=f<|message|><atem:function_calls>\n<atem:invoke name=\"f\">\n{inner}</atem:invoke>\n</atem:function_calls><|eom|>"
        )
    };
    let parameter = |key: &str, value: &str| {
        format!("<atem:parameter name=\"{key}\">{value}</atem:parameter>\n")
    };
    let kimi = |inner: &str| {
        format!(
            "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|>{inner}<|close|>call<|sep|><|close|>tools<|sep|>"
        )
    };
    let argument = |key: &str, kind: &str, value: &str| {
        format!(
            "<|open|>argument key=\"{key}\" type=\"{kind}\"<|sep|>{value}<|close|>argument<|sep|>"
        )
    };
    for (name, text, expected) in [
        ("muse", muse(&parameter("unit", "C")), true),
        ("muse", muse(&(parameter("unit", "F") + &parameter("days", "3") + &parameter("note", "a\nb"))), true),
        ("muse", format!("<|start|>assistant{}", muse(&parameter("unit", "C"))), true),
        // A block that is addressed to nobody would be read as text.
        ("muse", muse(&parameter("unit", "C")).replace(" to=f<|message|>", ""), false),
        ("muse", muse(""), false),
        ("muse", muse(&parameter("unit", "K")), false),
        ("muse", muse(&(parameter("unit", "C") + &parameter("days", "many"))), false),
        ("muse", muse(&(parameter("days", "3") + &parameter("unit", "C"))), false),
        ("muse", muse(&(parameter("unit", "C") + &parameter("more", "x"))), false),
        ("kimi_k3", kimi(&argument("unit", "string", "C")), true),
        ("kimi_k3", kimi(&(argument("unit", "string", "C") + &argument("note", "null", "null"))), true),
        ("kimi_k3", kimi(&(argument("unit", "string", "C") + &argument("note", "string", ""))), true),
        ("kimi_k3", format!("<|close|>response<|sep|>{}", kimi(&argument("unit", "string", "C"))), true),
        ("kimi_k3", kimi(&argument("unit", "string", "K")), false),
        ("kimi_k3", kimi(&argument("unit", "number", "1")), false),
        ("kimi_k3", kimi(&(argument("unit", "string", "C") + &argument("days", "number", "\"3\""))), false),
        ("openai", "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"unit\":\"C\"}<|call|>".to_owned(), true),
        ("openai", "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"unit\":\"C\"}<|call|>".to_owned(), true),
        ("openai", "<|channel|>commentary to=functions.g <|constrain|>json<|message|>{}<|call|>".to_owned(), false),
        ("openai", "<|channel|>commentary to=functions.f <|constrain|>json<|message|>[]<|call|>".to_owned(), false),
        ("inkling", "<|content_invoke_tool_json|>{\"name\": \"f\", \"args\": {\"unit\": \"F\"}}<|end_message|>".to_owned(), true),
        ("inkling", "g<|content_invoke_tool_json|>{\"name\": \"f\", \"args\": {}}<|end_message|>".to_owned(), false),
    ] {
        let format = tool_format(name).expect("a format");
        let grammar = format.grammar(&refs, Many::One).expect("a grammar");
        assert_eq!(accepts(&grammar, &text), expected, "{name}: {text}");
    }
}
