//! Formats that are described in a file.

use std::sync::Arc;

use crate::common::How;
use overt_parse::{Format, Options, Tools, described};
use serde_json::{Value, json};

fn read(format: &'static Format, text: &str) -> (String, String, Vec<(String, Value)>) {
    let tools = Arc::new(Tools::of(&[json!({"name": "f"})]));
    let options = Options { tools, ..Options::default() };
    let calls = (!format.tool_names.is_empty()).then_some(format);
    let reasoning = (!format.reasoning_names.is_empty()).then_some(format);
    let how = How { formats: Some((calls, reasoning)), options, ..How::default() };
    let answer = how.read(text);
    (answer.content.clone(), answer.reasoning.clone(), answer.calls())
}

/// A framed format.
fn framed() -> Value {
    json!({
        "name": "mine",
        "reasoning_names": ["mine", "mine-thinking"],
        "thinking": {"open": ["<<think>>"], "close": ["<</think>>"]},
        "ids": "nine",
        "tokens": ["<<act>>"],
        "signs": [["<<act>>", "!<tool_call>"]],
        "calls": {"channels": {
            "bodies": [
                {"marker": "<<think>>", "body": "reasoning"},
                {"marker": "<<say>>", "body": "text"},
                {"marker": "<<act>>", "body": "calls"}
            ],
            "ends": ["<</think>>", "<<end>>"],
            "calls": {"objects": {"keys": {"name": ["tool"], "arguments": ["input"]}}},
            "openers": ["<<act>>"],
            "frame": {"open": "<<act>>", "close": "<<end>>"}
        }}
    })
}

#[test]
fn framed_formats_need_no_code() {
    let format = described(&framed().to_string()).expect("a format");
    assert_eq!((format.name, format.tool_names, format.framed), ("mine", &["mine"][..], true));
    assert_eq!(format.signs, [["<<act>>", "!<tool_call>"]]);
    assert_eq!(
        read(
            format,
            "<<think>>hm<</think>>\n<<act>>{\"tool\": \"f\", \"input\": {\"a\": 1}}<<end>><<say>>c"
        ),
        ("c".to_owned(), "hm".to_owned(), vec![("f".to_owned(), json!({"a": 1}))])
    );
    let thinking = json!({"name": "only", "thinking": {"open": ["[T]"], "close": ["[/T]"], "start": "thinking"}});
    let format = described(&thinking.to_string()).expect("a format");
    assert_eq!((format.tool_names, format.reasoning_names), (&[][..], &["only"][..]));
    assert_eq!(read(format, "hm[/T]\nc").1, "hm");
}

#[test]
fn a_declaration_may_stand_in_a_file() {
    let row = json!({"name": "declared_mine", "calls": {"declared": {
        "start_anchor": "A",
        "fields": {"tool_calls": {"open": "<c>", "close": "</c>", "content": "json"}, "content": {}}
    }}});
    let format = described(&row.to_string()).expect("a format");
    let (content, _, calls) = read(format, "a <c>{\"name\": \"f\", \"arguments\": {}}</c>");
    assert_eq!((content.as_str(), calls), ("a", vec![("f".to_owned(), json!({}))]));
}

#[test]
fn faults_are_named() {
    let changed = |path: &str, value: Value| {
        let mut row = framed();
        *row.pointer_mut(path).expect("a place") = value;
        row
    };
    for (row, part) in [
        (json!([]), "the format"),
        (json!({"tokens": []}), "name"),
        (json!({"name": ""}), "name"),
        (json!({"name": "x"}), "calls, thinking"),
        (json!({"name": "x", "extra": 1}), "extra"),
        (json!({"name": "x", "calls": {"yaml": {}}}), "yaml"),
        (json!({"name": "x", "thinking": {"open": ["<t>"], "close": []}}), "thinking.close"),
        (json!({"name": "x", "thinking": {"open": [""], "close": ["</t>"]}}), "thinking.open"),
        (json!({"name": "x", "tool_names": ["kimi_k3"], "calls": {"declared": {}}}), "kimi_k3"),
        (json!({"name": "qwen3", "thinking": {"open": ["<t>"], "close": ["</t>"]}}), "qwen3"),
        (json!({"name": "x", "calls": {"declared": {"fields": {}}}}), "calls.declared"),
        (changed("/calls/channels/ends", json!([])), "ends"),
        (changed("/calls/channels/ends", json!([""])), "ends"),
        (changed("/calls/channels/bodies/0/body", json!("song")), "song"),
        (changed("/calls/channels/calls/objects/keys/name", json!([])), "calls lack a word"),
        (changed("/ids", json!("ten")), "ten"),
    ] {
        let error = described(&row.to_string()).expect_err("refused");
        assert!(error.contains(part), "{row}: {error}");
    }
    assert!(described("{").is_err());
}

#[test]
fn words_with_which_calls_are_not_read_back_are_refused() {
    let words = json!({"open": ["<c>"], "close": ["</c>"], "spellings": [{"before": "<c>"}]});
    let row = json!({"name": "own", "calls": {"json": words}});
    let error = described(&row.to_string()).expect_err("refused");
    assert!(error.contains("read back"), "{error}");
}

#[test]
fn every_engine_may_be_described() {
    for (engine, words, text) in [
        (
            "json",
            json!({"open": ["<c>"], "close": ["</c>"], "spellings": [{
                "before": "<c>{\"name\": \"",
                "middle": "\", \"arguments\": ",
                "after": "}</c>",
                "quoted": true,
            }]}),
            "<c>{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}</c>",
        ),
        (
            "tags",
            json!({"open": ["<c>"], "close": ["</c>"], "invoke": ["<f="], "invoke_end": ["</f>"],
                "parameter": ["<p="], "parameter_end": ["</p>"]}),
            "<c><f=f><p=a>x</p></f></c>",
        ),
    ] {
        let row = json!({"name": format!("own_{engine}"), "calls": {engine: words}});
        let format = described(&row.to_string()).expect("a format");
        assert!(!format.framed);
        let (content, _, calls) = read(format, &format!("b {text}"));
        assert_eq!((content.trim_end(), calls), ("b", vec![("f".to_owned(), json!({"a": "x"}))]));
    }
}
