//! What the families of tagged calls differ in: quotes, attributes, sections, JSON, wrappers.

use crate::common::with;
use serde_json::{Value, json};

fn tools() -> Value {
    let tool = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    json!([
        tool(
            "put",
            json!({"type": "object", "properties": {
                "path": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": "object"}}})
        ),
        tool("now", json!({"type": "object", "properties": {}})),
    ])
}

/// Each case: text, content, and pairs of name and arguments; read in every cutting.
fn check(format: &str, cases: &[(&str, &str, Value)]) {
    for (text, content, expected) in cases {
        let answer = with(format, &tools()).read(text);
        let found = json!(answer.calls());
        assert_eq!((answer.content.as_str(), &found), (*content, expected), "{format}: {text:?}");
    }
}

#[test]
fn minimax_m2() {
    check(
        "minimax_m2",
        &[
            ("Sure.", "Sure.", json!([])),
            (
                "<minimax:tool_call>\n<invoke name=\"now\">\n</invoke>\n<invoke name=\"put\">\n<parameter name=\"n\">1</parameter>\n</invoke>\n</minimax:tool_call>",
                "",
                json!([["now", {}], ["put", {"n": 1}]]),
            ),
            // Line feeds are the value's.
            (
                "<minimax:tool_call>\n<invoke name=\"put\">\n<parameter name=\"path\">\na\n</parameter>\n</invoke>\n</minimax:tool_call>",
                "",
                json!([["put", {"path": "\na\n"}]]),
            ),
            // A value ends at the last closing tag.
            (
                "<minimax:tool_call>\n<invoke name=\"put\">\n<parameter name=\"path\"><parameter>\n  <hello></hello>\n</parameter>\n</parameter>\n</invoke>\n</minimax:tool_call>",
                "",
                json!([["put", {"path": "<parameter>\n  <hello></hello>\n</parameter>\n"}]]),
            ),
            (
                "<minimax:tool_call><invoke name=\"put\"><parameter name=\"o\">{\"a\": \"</parameter></invoke></minimax:tool_call>\"}</parameter></invoke></minimax:tool_call>",
                "",
                json!([["put", {"o": {"a": "</parameter></invoke></minimax:tool_call>"}}]]),
            ),
            // A JSON value that is broken does not swallow what follows.
            (
                "<minimax:tool_call>\n<invoke name=\"put\">\n<parameter name=\"o\">{\"a</parameter>\n<parameter name=\"n\">1</parameter>\n</invoke>\n</minimax:tool_call>",
                "",
                json!([["put", {"o": "{\"a", "n": 1}]]),
            ),
            (
                "<minimax:tool_call><invoke name=\"put\"><parameter name=\"n\">five</parameter><parameter name=\"path\">/tmp/it's.js</parameter></invoke></minimax:tool_call>.",
                ".",
                json!([["put", {"n": "five", "path": "/tmp/it's.js"}]]),
            ),
            ("Write <invoke name=\"put\"> here.", "Write <invoke name=\"put\"> here.", json!([])),
            (
                "<invoke name=\"put\"><parameter name=\"n\">1</parameter></invoke></minimax:tool_call>",
                "",
                json!([["put", {"n": 1}]]),
            ),
            (
                "<invoke name=\"other\"><parameter name=\"n\">1</parameter></invoke>",
                "<invoke name=\"other\"><parameter name=\"n\">1</parameter></invoke>",
                json!([]),
            ),
            (
                "<minimax:tool_call><invoke name=\"other\"><parameter name=\"n\">1</parameter></invoke></minimax:tool_call>",
                "",
                json!([["other", {"n": 1}]]),
            ),
            (
                "<minimax:tool_call>\nno call\n</minimax:tool_call>",
                "<minimax:tool_call>\nno call\n</minimax:tool_call>",
                json!([]),
            ),
        ],
    );
}

#[test]
fn deepseek() {
    let text = |body: &str| format!("<｜DSML｜function_calls>\n{body}\n</｜DSML｜function_calls>");
    let put = |body: &str| text(&format!("<｜DSML｜invoke name=\"put\">{body}</｜DSML｜invoke>"));
    let one = |attributes: &str, value: &str| {
        put(&format!("<｜DSML｜parameter name=\"x\"{attributes}>{value}</｜DSML｜parameter>"))
    };
    let mention = "To call a tool write <｜DSML｜invoke name=\"put\"> and then parameters.";
    for (text, content, expected) in [
        (mention.to_owned(), mention, json!([])),
        ("<｜DSML｜function_calls>".to_owned(), "<｜DSML｜function_calls>", json!([])),
        // What the schema leaves open the attribute decides.
        (one(" string=\"true\"", "12"), "", json!([["put", {"x": "12"}]])),
        (one(" string=\"false\"", "12"), "", json!([["put", {"x": 12}]])),
        (one("", "12"), "", json!([["put", {"x": 12}]])),
        (one(" string=\"false\"", "\"hello\""), "", json!([["put", {"x": "hello"}]])),
        (one(" string=\"false\"", "null"), "", json!([["put", {"x": null}]])),
        (
            one(" string=\"false\"", "{\"nested\": true}"),
            "",
            json!([["put", {"x": {"nested": true}}]]),
        ),
        (
            one(" string=\"true\"", "{\"nested\": true}"),
            "",
            json!([["put", {"x": "{\"nested\": true}"}]]),
        ),
        (
            one(" string=\"true\"", "</｜DSML｜invoke>&lt;</div>\n"),
            "",
            json!([["put", {"x": "</｜DSML｜invoke>&lt;</div>\n"}]]),
        ),
        // The whole arguments as JSON.
        (
            put("\n{\"n\": 1, \"path\": \"</invoke>}\"}\n"),
            "",
            json!([["put", {"n": 1, "path": "</invoke>}"}]]),
        ),
        (put("{}"), "", json!([["put", {}]])),
        (put(""), "", json!([["put", {}]])),
        (put("\n\n"), "", json!([["put", {}]])),
        // Text behind the block is kept, and another block is read.
        (
            format!("a{}b{}c", put("{\"n\": 1}"), put("{\"n\": 2}")),
            "abc",
            json!([["put", {"n": 1}], ["put", {"n": 2}]]),
        ),
        // A call without a closing tag.
        (
            text(
                "<｜DSML｜invoke name=\"put\"><｜DSML｜parameter name=\"n\" string=\"false\">1</｜DSML｜parameter>\n<｜DSML｜invoke name=\"now\"></｜DSML｜invoke>",
            ),
            "",
            json!([["put", {"n": 1}], ["now", {}]]),
        ),
    ] {
        for format in ["deepseek_v32", "deepseek_v4", "deepseek_v41"] {
            let answer = with(format, &tools()).specials(&["｜DSML｜"]).read(&text);
            let found = json!(answer.calls());
            // A special token's spelling is dropped from text.
            let content = content.replace("｜DSML｜", "");
            assert_eq!((&answer.content, &found), (&content, &expected), "{format}: {text:?}");
        }
        check("deepseek_v32", &[(&text, content, expected)]);
    }
}

#[test]
fn closing_tags_in_a_json_object_are_its_own() {
    check(
        "deepseek_v32",
        &[(
            "<｜DSML｜function_calls><｜DSML｜invoke name=\"put\">{\"path\": \"</｜DSML｜invoke>}\"}</｜DSML｜invoke>",
            "",
            json!([["put", {"path": "</｜DSML｜invoke>}"}]]),
        )],
    );
}

#[test]
fn minicpm5() {
    check(
        "minicpm5",
        &[
            (
                "Head\n<function name=\"put\"><param name=\"path\"><![CDATA[a <b>\n& </param></function>]] >]]></param></function>\nTXT\n<function name=\"now\"></function>\nTail\n",
                "Head\n\nTXT\n\nTail\n",
                json!([["put", {"path": "a <b>\n& </param></function>]] >"}], ["now", {}]]),
            ),
            // A section that holds the end of a section; sections beside each other.
            (
                "<function name=\"put\"><param name=\"path\"> <![CDATA[a]]>b]]> </param></function>",
                "",
                json!([["put", {"path": "a]]>b"}]]),
            ),
            (
                "<function name=\"put\"><param name=\"path\"><![CDATA[a]]]]><![CDATA[>b]]></param></function>",
                "",
                json!([["put", {"path": "a]]>b"}]]),
            ),
            (
                "<function name=\"put\"><param name=\"n\"><![CDATA[ 3 ]]></param><param name=\"path\">x<![CDATA[y</param></function>",
                "",
                json!([["put", {"n": 3, "path": "x<![CDATA[y"}]]),
            ),
            (
                "<function name=\"put\"><param name=\"path\"><![CDATA[a]]></function>",
                "",
                json!([["put", {"path": "a"}]]),
            ),
            (
                "<function name=\"put\"><param name=\"path\">  </param></function>",
                "",
                json!([["put", {"path": "  "}]]),
            ),
            (
                "<function name=\"unknown\"><param name=\"x\">1</param></function>",
                "<function name=\"unknown\"><param name=\"x\">1</param></function>",
                json!([]),
            ),
            (
                "<function name=\"put\"><param>x</param></function>",
                "<function name=\"put\"><param>x</param></function>",
                json!([]),
            ),
            ("<tool_call><function name=\"now\"></function></tool_call>", "", json!([["now", {}]])),
            ("The function of it: <function>", "The function of it: <function>", json!([])),
        ],
    );
}

#[test]
fn dots() {
    let block = |body: &str| format!("<dots_function_call>{body}</dots_function_call>");
    for (body, content, expected) in [
        (
            "<invoke name=\"now\"></invoke>\n<invoke name=\"put\"><parameter name=\"n\">1</parameter></invoke>",
            "",
            json!([["now", {}], ["put", {"n": 1}]]),
        ),
        (
            "{\"name\":\"put\",\"arguments\":{\"n\":1, \"path\":\"</dots_function_call>}{\"}}",
            "",
            json!([["put", {"n": 1, "path": "</dots_function_call>}{"}]]),
        ),
        ("\n{\"parameters\": {\"n\": 1}, \"name\": \"put\"}\n", "", json!([["put", {"n": 1}]])),
        ("{\"name\": \"now\"}", "", json!([["now", {}]])),
        (
            "{\"name\": \"now\", \"arguments\": null, \"id\": [1, {\"a\": \"}\"}]}",
            "",
            json!([["now", {}]]),
        ),
        ("{\"name\": \"put\", \"arguments\": \"{\\\"n\\\": 1}\"}", "", json!([["put", {"n": 1}]])),
        (
            "[{\"name\": \"now\"}, {\"name\": \"put\", \"arguments\": {\"n\": 2}}]",
            "",
            json!([["now", {}], ["put", {"n": 2}]]),
        ),
        (
            "{\"name\": \"now\"}\n{\"name\": \"put\", \"arguments\": {\"n\": 2}}",
            "",
            json!([["now", {}], ["put", {"n": 2}]]),
        ),
        (
            "{\"arguments\": {}}",
            "<dots_function_call>{\"arguments\": {}}</dots_function_call>",
            json!([]),
        ),
        ("{not json}", "<dots_function_call>{not json}</dots_function_call>", json!([])),
        ("", "<dots_function_call></dots_function_call>", json!([])),
    ] {
        check("dots", &[(&block(body), content, expected)]);
    }
    let cut = "<dots_function_call>{\"name\": \"put\", \"arguments\": {\"path\": \"a";
    let answer = with("dots", &tools()).read(cut);
    assert_eq!(answer.calls[0].arguments, "{\"path\": \"a");
    check(
        "dots",
        &[(
            "<dots_function_call>{\"name\": \"pu",
            "<dots_function_call>{\"name\": \"pu",
            json!([]),
        )],
    );
}

#[test]
fn step3() {
    let call = |body: &str| {
        format!("<｜tool_call_begin｜>function<｜tool_sep｜>{body}<｜tool_call_end｜>")
    };
    let now = "<steptml:invoke name=\"now\">\n</steptml:invoke>";
    let put = "<steptml:invoke name=\"put\"><steptml:parameter name=\"path\">if a < b: x</steptml:parameter></steptml:invoke>";
    let both = json!([["now", {}], ["put", {"path": "if a < b: x"}]]);
    for (text, content, expected) in [
        (
            format!("a<｜tool_calls_begin｜>\n{}\n{}<｜tool_calls_end｜>b", call(now), call(put)),
            "ab",
            both.clone(),
        ),
        (format!("<｜tool_calls_begin｜>{now}{put}<｜tool_calls_end｜>"), "", both.clone()),
        (format!("{}{}", call(now), call(put)), "", both.clone()),
        (format!("{now}\n{put}<｜tool_call_end｜><｜tool_calls_end｜>"), "", both),
        (
            format!("<｜tool_calls_begin｜>{}<｜tool_calls_end｜>", call("nothing")),
            "nothing",
            json!([]),
        ),
    ] {
        let specials = [
            "<｜tool_calls_begin｜>",
            "<｜tool_calls_end｜>",
            "<｜tool_call_begin｜>",
            "<｜tool_call_end｜>",
            "<｜tool_sep｜>",
        ];
        let answer = with("step3", &tools()).specials(&specials).read(&text);
        let content = if content == "nothing" { "functionnothing" } else { content };
        assert_eq!(
            (answer.content.as_str(), json!(answer.calls())),
            (content, expected.clone()),
            "{text}"
        );
        if content != "functionnothing" {
            check("step3", &[(&text, content, expected)]);
        }
    }
}

#[test]
fn thinking_before_calls() {
    let text = "<minimax:tool_call><invoke name=\"now\"></invoke></minimax:tool_call>";
    for (reasoning, tail, before, thoughts, content) in [
        (
            "minimax_m2",
            "]~b]ai\n<think>\n",
            "I must <minimax:tool_call> look.\n</think>\n\nSo:",
            "I must <minimax:tool_call> look.",
            "So:",
        ),
        ("minimax", "]~b]ai\n", "think</think>", "think", ""),
        (
            "minimax_m2_append_think",
            "]~b]ai\n<think>\n",
            "t\n</think>\n\n",
            "",
            "<think>t\n</think>",
        ),
        ("minimax-append-think", "]~b]ai\n", "t</think>", "", "<think>t</think>"),
        ("step3p5", "", "t\n", "t", ""),
        ("qwen3", "<think>\n", "t\n", "t", ""),
        ("qwen3-thinking", "", "t\n", "t", ""),
        ("mimo", "<think>", "t", "t", ""),
        ("seed_oss", "assistant\n", "<seed:think>t</seed:think>c", "t", "c"),
        ("deepseek_v4", "<think>", "t", "t", ""),
        ("deepseek-v41", "</think>", "c", "", "c"),
        ("deepseek_v32", "</think>", "c", "", "c"),
        ("gigachat35", "", "t</think>", "t", ""),
        ("step3", "", "<think>t</think>", "t", ""),
        ("dots", "<think>", "t", "t", ""),
        ("nanbeige", "<think>", "t", "t", ""),
        ("mimo", "", "c", "", "c"),
    ] {
        let how = with("minimax_m2", &tools()).reasoning(reasoning).tail(tail);
        let answer = how.read(&format!("{before}{text}"));
        assert_eq!(
            (answer.reasoning.as_str(), answer.content.as_str(), answer.calls.len()),
            (thoughts, content, 1),
            "{reasoning} {tail:?} {before:?}"
        );
    }
}
