//! Calls written as Python's.

use crate::common::{How, with};
use serde_json::{Value, json};

fn tools() -> Value {
    let tool = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    let weather = json!({"type": "object", "properties": {"city": {"type": "string"}, "metric": {"type": "string"}}});
    json!([
        tool("get_weather", weather),
        tool("now", json!({"type": "object", "properties": {}})),
        tool("grocery.order", json!({"type": "object", "properties": {"list": {"type": "array"}}})),
    ])
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

/// Each format's way to set `calls`, one a line, apart from text.
const WRAPS: [(&str, &str, &str, &str); 5] = [
    ("pythonic", "[", ", ", "]"),
    ("llama4_pythonic", "<|python_start|>[", ", ", "]<|python_end|>"),
    ("lfm2", "<|tool_call_start|>[", ", ", "]<|tool_call_end|>"),
    ("olmo3", "<function_calls>", "\n", "</function_calls>"),
    ("olmo3", "<function_calls>\n", "\n", "\n</function_calls>"),
];

#[test]
fn calls_are_read_in_every_wrap() {
    for (format, open, between, close) in WRAPS {
        let how = how(format);
        let wrap = |calls: &[&str]| format!("{open}{}{close}", calls.join(between));
        check(&how, "How can I help [you](today)?", "How can I help [you](today)?", &json!([]));
        for (call, name, arguments) in [
            (
                "get_weather(city='San Francisco', metric='celsius')",
                "get_weather",
                json!({"city": "San Francisco", "metric": "celsius"}),
            ),
            ("now()", "now", json!({})),
            ("now( )", "now", json!({})),
            ("now(\n  a = 1 ,\n)", "now", json!({"a": 1})),
            (
                "now(name='John Doe', age=37, address={'city': 'SF', 'state': 'CA'}, role=None, ok=True, aliases=['J', 'K'])",
                "now",
                json!({"name": "John Doe", "age": 37, "address": {"city": "SF", "state": "CA"}, "role": null, "ok": true, "aliases": ["J", "K"]}),
            ),
            ("now(d={}, l=[], t=(), s='')", "now", json!({"d": {}, "l": [], "t": [], "s": ""})),
            (
                r#"get_weather(city='Martha\'s Vineyard', metric='\"cool\" units')"#,
                "get_weather",
                json!({"city": "Martha's Vineyard", "metric": "\"cool\" units"}),
            ),
            (
                "get_weather(city='it's [fine], (ok)}')",
                "get_weather",
                json!({"city": "it's [fine], (ok)}"}),
            ),
            (
                "get_weather(city=\"]<|tool_call_end|></function_calls><|python_end|>\")",
                "get_weather",
                json!({"city": "]<|tool_call_end|></function_calls><|python_end|>"}),
            ),
            (
                r"get_weather(city='\ud83d\ude00 \n\u00e9')",
                "get_weather",
                json!({"city": "😀 \né"}),
            ),
            ("get_weather(city='''a\n'b' ''')", "get_weather", json!({"city": "a\n'b' "})),
            (
                "get_weather('Oslo', 'celsius')",
                "get_weather",
                json!({"city": "Oslo", "metric": "celsius"}),
            ),
            (
                "get_weather('Oslo', metric='c')",
                "get_weather",
                json!({"city": "Oslo", "metric": "c"}),
            ),
            ("get_weather(r'a\\b')", "get_weather", json!({"city": "a\\b"})),
            (
                "grocery.order(list=[{\"name\": \"apple\", \"n\": 2}, {'name': 'bread', 'n': (1, 2)}])",
                "grocery.order",
                json!({"list": [{"name": "apple", "n": 2}, {"name": "bread", "n": [1, 2]}]}),
            ),
            (
                "now(a=(1), b=-0.5, c=1_000, d=0xff)",
                "now",
                json!({"a": 1, "b": -0.5, "c": 1000, "d": 255}),
            ),
            ("now(a=1, a=2)", "now", json!({"a": 1})),
        ] {
            let one = json!([name, arguments]);
            check(&how, &wrap(&[call]), "", &json!([one]));
            check(
                &how,
                &format!("Sure. {}\nDone.", wrap(&[call, "now()"])),
                "Sure. \nDone.",
                &json!([one, ["now", {}]]),
            );
        }
        let seven = wrap(&["now(a=123456789012345678901234567890)"]);
        assert_eq!(how.read(&seven).calls[0].arguments, "{\"a\": 123456789012345678901234567890}");
    }
}

#[test]
fn what_stands_before_a_broken_tuple_is_said() {
    let answer = how("pythonic").read("[get_weather(s=\"a\", l=[\"x\", (1, \"y\"), ($");
    assert_eq!(answer.calls[0].arguments, "{\"s\": \"a\", \"l\": [\"x\", [1, \"y\"], ");
}

#[test]
fn a_bare_list_names_declared_tools() {
    let how = how("pythonic");
    for text in [
        "[1, 2]",
        "[unknown(a=1)]",
        "see [now] and [get_weather(city)]",
        "x[now()]",
        "`[now()]`",
        "[[link]](now())",
        "[]",
        "[now(",
        "[now(a=1",
        "[now(a=foo)]",
        "[now(5)]",
        "[get_weather(city=lookup(1))]",
        "[now(a=1+2)]",
        "now(a=1)",
        "<|python_start|>print(1)<|python_end|> [",
        "<|python_start|>x = 1",
    ] {
        let calls = if text.starts_with("<|python_start|>print(1)") {
            json!([["print", {}]])
        } else {
            json!([])
        };
        if calls == json!([]) {
            check(&how, text, text, &calls);
        }
    }
    check(&how, "Sure.[now()] ok", "Sure. ok", &json!([["now", {}]]));
    check(&how, "[now(), see below]", ", see below]", &json!([["now", {}]]));
    check(&how, "[now()]\n[now()]", "", &json!([["now", {}], ["now", {}]]));
    // A closing marker that has no opener.
    check(&how, "[now()]<|python_end|>", "", &json!([["now", {}]]));
}

#[test]
fn what_is_no_call_is_text_and_what_breaks_later_ends_as_it_stands() {
    let lfm2 = how("lfm2");
    let (open, close) = ("<|tool_call_start|>", "<|tool_call_end|>");
    for inside in ["[A(A=\t)A(A=,\t]", "hello", "[]", "[{\"name\": 5}]", "[f(x)]", "[f(", ""] {
        let text = format!("{open}{inside}{close}");
        check(&lfm2, &text, &text, &json!([]));
    }
    for (text, content, arguments) in [
        ("[f(a='x'", "", r#"{"a": "x""#),
        ("[f(a='x', b=12", "", r#"{"a": "x""#),
        ("[f(a='x", "", r#"{"a": "x"#),
        ("[f(a='x'<|tool_call_e", "", r#"{"a": "x""#),
        ("[f(a='x', <|tool_call_e", "", r#"{"a": "x""#),
        ("[f(a=[1.", "", r#"{"a": ["#),
        ("[f(a=[1, {'b': 2", "", r#"{"a": [1, {"b": "#),
        ("[f(a=['x', oops])]", "oops])]", r#"{"a": ["x""#),
        ("[f(a='x' b=2)]", "", r#"{"a": "x' b=2)]"#),
        ("[f(a=[1] b=2)]", "b=2)]", r#"{"a": [1]}"#),
        ("[f(a=[1]", "", r#"{"a": [1]"#),
    ] {
        let answer = lfm2.read(&format!("{open}{text}"));
        assert_eq!(answer.content, content, "{text}");
        assert_eq!(
            (answer.calls.len(), answer.calls[0].arguments.as_str()),
            (1, arguments),
            "{text}"
        );
    }
    // White space behind the last bracket is text where text follows it.
    check(&lfm2, &format!("{open}[now()]\n\n then"), "\n\n then", &json!([["now", {}]]));
    for inside in [r#"{"name": "\x", "arguments": {}}"#, r#"{"na\me": "f"}"#, r#"{"name" "f"}"#] {
        let text = format!("{open}[{inside}]{close}");
        check(&lfm2, &text, &text, &json!([]));
    }
    let broken = lfm2.read(&format!("{open}[{{\"name\": \"f\", \"arguments\": [1}} then{close}"));
    assert_eq!((broken.calls[0].arguments.as_str(), broken.content.as_str()), ("[1", "} then"));
    // The marker closes what its bracket did not.
    let cut = lfm2.read(&format!("{open}[f(a=1, b='c'{close} on"));
    assert_eq!(
        (cut.calls[0].arguments.as_str(), cut.content.as_str()),
        (r#"{"a": 1, "b": "c"}"#, " on")
    );
    check(&lfm2, &format!("{open}[now(){close}{close}"), "", &json!([["now", {}]]));
    check(&lfm2, &format!("{open}{open}[now()]{close}"), "", &json!([["now", {}]]));
    check(
        &lfm2,
        &format!("{open}[now()]{open}[now()]{close}"),
        "",
        &json!([["now", {}], ["now", {}]]),
    );
    check(&lfm2, "[now()]", "[now()]", &json!([]));
}

#[test]
fn lfm2_may_write_json_and_repeat_itself() {
    let how = how("lfm2");
    let (open, close) = ("<|tool_call_start|>", "<|tool_call_end|>");
    let call = r#"{"name": "get_weather", "arguments": {"city": "]<|tool_call_end|>"}}"#;
    let said = json!(["get_weather", {"city": "]<|tool_call_end|>"}]);
    check(&how, &format!("a{open}[{call}, {call}]{close}b"), "ab", &json!([said, said]));
    check(&how, &format!("{open}{call}{close}"), "", &json!([said]));
    check(&how, &format!("{open}[{{\"name\": \"now\"}}]{close}"), "", &json!([["now", {}]]));
    let body = "[get_weather(city='a')]";
    let one = json!([["get_weather", {"city": "a"}]]);
    check(&how, &format!("{open}{body}{close}{body}{close}"), "", &one);
    check(&how, &format!("{open}{body}{close}\n{body}{close} x"), " x", &one);
    check(&how, &format!("{open}{body}{close}{body}"), body, &one);
    check(&how, &format!("{open}{body}{close}[get_wet"), "[get_wet", &one);
    let twice = format!("{open}{body}{close}{open}{body}{close}");
    check(&how, &twice, "", &json!([one[0], one[0]]));
}

#[test]
fn markers_may_be_special_tokens_and_others_are_dropped() {
    let how = how("lfm2").specials(&["<|tool_call_start|>", "<|tool_call_end|>", "<|im_end|>"]);
    let text = "a<|tool_call_start|>[get_<|im_end|>weather(city='b<|im_end|><|tool_call_end|>')]<|tool_call_end|><|im_end|>";
    check(&how, text, "a", &json!([["get_weather", {"city": "b<|tool_call_end|>"}]]));
    check(&how, "<|tool_call_start|>no<|tool_call_end|>", "no", &json!([]));
}

#[test]
fn a_bracket_does_not_end_thinking() {
    let how = how("pythonic").reasoning("glm45");
    let answer = how.read("<think>a [b]</think>[now()]");
    assert_eq!((answer.reasoning.as_str(), answer.calls.len()), ("a [b]", 1));
    let answer = how.read("<think>a <|python_start|>[now()]");
    assert_eq!((answer.reasoning.as_str(), answer.calls.len()), ("a ", 1));
}

#[test]
fn olmo3_thinks_first() {
    let answer = how("olmo3").reasoning("olmo3").tail("<think>").read(
        "I look it up.</think>\n<function_calls>get_weather(city='Oslo')\nnow()</function_calls>",
    );
    assert_eq!((answer.reasoning.as_str(), answer.content.as_str()), ("I look it up.", ""));
    assert_eq!(
        answer.calls(),
        [("get_weather".to_owned(), json!({"city": "Oslo"})), ("now".to_owned(), json!({}))]
    );
}
