//! Calls in braces.

use crate::common::{How, with};
use serde_json::{Value, json};

fn tools() -> Value {
    let tool = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    let set = json!({"type": "object", "properties": {"zip": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": "object"}}});
    json!([tool("set", set), tool("now", json!({"type": "object", "properties": {}}))])
}

fn how(format: &str) -> How {
    with(format, &tools())
}

fn check(how: &How, text: &str, content: &str, calls: &Value) {
    let answer = how.read(text);
    assert_eq!(answer.content, content, "{text}");
    let said: Vec<Value> =
        answer.calls().into_iter().map(|(name, arguments)| json!([name, arguments])).collect();
    assert_eq!(Value::Array(said), *calls, "{text}");
}

const FORMATS: [(&str, &str, &str, &str); 2] = [
    ("gemma4", "<|tool_call>", "<tool_call|>", "<|\"|>"),
    ("functiongemma", "<start_function_call>", "<end_function_call>", "<escape>"),
];

#[test]
fn calls_are_read() {
    for (format, open, close, quote) in FORMATS {
        let how = how(format);
        check(&how, "Hello {you}.", "Hello {you}.", &json!([]));
        for (inside, arguments) in [
            ("", json!({})),
            (" ", json!({})),
            ("zip:'Oslo'", json!({"zip": "Oslo"})),
            ("zip:'',n:3", json!({"zip": "", "n": 3})),
            ("zip:'}{,:]\n\"\\ it',n:3", json!({"zip": "}{,:]\n\"\\ it", "n": 3})),
            ("zip:'CLOSE OPEN call:now{}'", json!({"zip": format!("{close} {open} call:now{{}}")})),
            (r"zip:'\ud83d\ude00'", json!({"zip": r"\ud83d\ude00"})),
            (
                "n:-12.5e3, m:true ,k:false,j:null,i:None,h:True",
                json!({"n": -12500.0, "m": true, "k": false, "j": null, "i": null, "h": true}),
            ),
            (
                "o:{a:{b:'c'},d:[1,'e',[],{}]},n:1",
                json!({"o": {"a": {"b": "c"}, "d": [1, "e", [], {}]}, "n": 1}),
            ),
            ("o:{'a b':1,\"c\\u0041\":2}", json!({"o": {"a b": 1, "cA": 2}})),
            ("zip:\"a\\n\\\"b\\\"\",n:1", json!({"zip": "a\n\"b\"", "n": 1})),
            ("zip:12345", json!({"zip": "12345"})),
            ("zip:New York", json!({"zip": "New York"})),
            ("n:007", json!({"n": "007"})),
            ("o:[1,],n:1,", json!({"o": [1], "n": 1})),
            ("\n  n : 1 ,\n  zip : 'a'\n", json!({"n": 1, "zip": "a"})),
        ] {
            let inside = inside.replace('\'', quote).replace("CLOSE", close).replace("OPEN", open);
            let text = format!("{open}call:set{{{inside}}}{close}");
            check(&how, &text, "", &json!([["set", arguments]]));
            let around = format!("Sure.\n{text}{open}call:now{{}}{close}\nDone.");
            check(&how, &around, "Sure.\n\nDone.", &json!([["set", arguments], ["now", {}]]));
        }
        check(
            &how,
            &format!("{open}\ncall:other{{n:1}}\n{close}"),
            "",
            &json!([["other", {"n": 1}]]),
        );
        check(&how, &format!("{open}now{{}}{close}"), "", &json!([["now", {}]]));
        let big = format!(
            "{open}call:set{{n:123456789012345678901234567890,zip:{quote}a{quote}}}{close}"
        );
        assert_eq!(
            how.read(&big).calls[0].arguments,
            r#"{"n": 123456789012345678901234567890, "zip": "a"}"#
        );
    }
}

#[test]
fn faults_are_read_as_meant() {
    for (format, open, close, quote) in FORMATS {
        let how = how(format);
        let string = |text: &str| format!("{quote}{text}{quote}");
        for (text, content, calls) in [
            (format!("{open}call:set{{n:1}} x"), "x", json!([["set", {"n": 1}]])),
            (format!("{open}call:set{{n:1{close}"), "", json!([["set", {"n": 1}]])),
            (
                format!("{open}call:set{{o:{{a:[1,{}{close} x", string("b")),
                "x",
                json!([["set", {"o": {"a": [1, "b"]}}]]),
            ),
            (
                format!("{open}call:set{{o:{{a:1,b:{close}"),
                "",
                json!([["set", {"o": {"a": 1, "b": null}}]]),
            ),
            (format!("{open}call:set{{{close}"), "", json!([["set", {}]])),
            (
                format!("{open}call:set{{n:1}}{open}call:now{{}}{close}{close}"),
                "",
                json!([["set", {"n": 1}], ["now", {}]]),
            ),
            (format!("{open}{open}call:now{{}}{close}"), "", json!([["now", {}]])),
            (
                format!("{open}call:set{{zip:{} oops}}{close}", string("a")),
                "oops}",
                json!([["set", {"zip": "a"}]]),
            ),
        ] {
            let answer = how.read(&text);
            assert_eq!(answer.content.trim(), content, "{text}");
            let said: Vec<Value> = answer
                .calls()
                .into_iter()
                .map(|(name, arguments)| json!([name, arguments]))
                .collect();
            assert_eq!(Value::Array(said), calls, "{text}");
        }
    }
}

#[test]
fn what_is_no_call_is_text_and_what_is_cut_off_stays_as_it_is() {
    for (format, open, close, quote) in FORMATS {
        let how = how(format);
        for inside in [
            "",
            "hello there",
            "call:set",
            "call:{}",
            "call:a b{}",
            "other{}",
            "{\"name\": 1}",
            "call:set{,}",
            "call:set{n}",
            "call:set{:1}",
        ] {
            let text = format!("a {open}{inside}{close} b");
            check(&how, &text, &text, &json!([]));
        }
        for text in [
            open.to_owned(),
            format!("{open}call:se"),
            format!("{open}call:set{{n:1"),
            format!("x{close}"),
            format!("{quote}a{quote}"),
            open[..5].to_owned(),
        ] {
            check(&how, &text, &text, &json!([]));
        }
        for (inside, arguments) in [
            (format!("zip:{quote}ab"), r#"{"zip": "ab"#),
            (format!("zip:{quote}ab{}", &quote[..3]), r#"{"zip": "ab"#),
            (format!("zip:{quote}a{quote},n:12"), r#"{"zip": "a""#),
            ("o:{a:[1,2".to_owned(), r#"{"o": {"a": [1"#),
        ] {
            let answer = how.read(&format!("{open}call:set{{{inside}"));
            // A comma and a key are said with the value that follows them, or before it.
            assert!(
                answer.calls[0].arguments.starts_with(arguments),
                "{inside}: {}",
                answer.calls[0].arguments
            );
            assert!(!answer.calls[0].arguments.ends_with('}'));
        }
    }
}

#[test]
fn markers_may_be_special_tokens_and_others_are_dropped() {
    for (format, open, close, quote) in FORMATS {
        let how = how(format).specials(&[open, close, quote, "<eos>"]);
        let text = format!("a{open}call:s<eos>et{{zip:{quote}b<eos>{close}c{quote}}}{close}<eos>");
        check(&how, &text, "a", &json!([["set", {"zip": format!("b{close}c")}]]));
        check(&how, &format!("{open}no{close}"), "no", &json!([]));
    }
}

#[test]
fn gemma_thinks_in_a_channel() {
    let how = how("gemma4").reasoning("gemma4");
    let call = "<|tool_call>call:now{}<tool_call|>";
    for (how, text, reasoning, content, calls) in [
        (how.clone(), format!("<|channel>thought\nabc\n<channel|>d{call}"), "abc", "d", 1),
        (how.clone(), format!("<|channel>thought\nabc{call}"), "abc", "", 1),
        (how.clone(), "<|channel>thought\n<channel|>d".to_owned(), "", "d", 0),
        (how.clone(), "<|channel>thou".to_owned(), "thou", "", 0),
        (
            how.clone().tail("<|turn>model\n<|channel>thought\n<channel|>"),
            "d".to_owned(),
            "",
            "d",
            0,
        ),
        (
            how.clone().tail("<|turn>model\n<|channel>thought\n"),
            "a<channel|>d".to_owned(),
            "a",
            "d",
            0,
        ),
        (
            how.clone().specials(&["<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>"]),
            format!("{call}<|channel>thought\nabc<channel|>{call}"),
            "abc",
            "",
            2,
        ),
    ] {
        let answer = how.read(&text);
        assert_eq!(
            (answer.reasoning.as_str(), answer.content.as_str(), answer.calls.len()),
            (reasoning, content, calls),
            "{text}"
        );
    }
}
