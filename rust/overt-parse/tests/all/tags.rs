//! Calls written as tags, in each family's words.

use crate::common::{Answer, How, with};
use serde_json::{Value, json};

fn tools() -> Value {
    let tool = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    json!([
        tool(
            "get_weather",
            json!({"type": "object", "properties": {
            "city": {"type": "string"}, "days": {"type": "integer"}}})
        ),
        tool(
            "write_file",
            json!({"type": "object", "properties": {
            "path": {"type": "string"}, "text": {"type": "string"}}})
        ),
        tool(
            "set",
            json!({"type": "object", "properties": {
            "on": {"type": "boolean"}, "ratio": {"type": "number"}, "tags": {"type": "array"},
            "meta": {"type": ["object", "null"]}, "label": {"type": "string"},
            "mode": {"type": "string", "enum": ["none", "7"]},
            "item": {"$ref": "#/$defs/Item"}}, "$defs": {"Item": {"type": "object"}}})
        ),
        tool("now", json!({"type": "object", "properties": {}})),
        tool("any", Value::Null),
    ])
}

fn how(format: &str) -> How {
    with(format, &tools())
}

/// Reads `text` in every cutting; says content, and names with arguments.
fn read(format: &str, text: &str) -> (String, Vec<(String, Value)>) {
    said(&how(format).read(text))
}

fn said(answer: &Answer) -> (String, Vec<(String, Value)>) {
    (answer.content.clone(), answer.calls())
}

fn calls(list: &[(&str, Value)]) -> Vec<(String, Value)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// Cases of text, content, and pairs of name and arguments.
fn check(format: &str, cases: &[(&str, &str, Value)]) {
    for (text, content, expected) in cases {
        let (said, found) = read(format, text);
        assert_eq!(
            (said.as_str(), json!(found)),
            (*content, expected.clone()),
            "{format}: {text:?}"
        );
    }
}

#[test]
fn qwen3_coder() {
    for format in ["qwen3_coder", "qwen3_xml", "step3p5", "nanbeige"] {
        check(
            format,
            &[
                ("Just text.", "Just text.", json!([])),
                (
                    "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
                    "",
                    json!([["get_weather", {"city": "Oslo"}]]),
                ),
                // All on one line.
                (
                    "<tool_call><function=get_weather><parameter=city>Oslo</parameter><parameter=days>3</parameter></function></tool_call>",
                    "",
                    json!([["get_weather", {"city": "Oslo", "days": 3}]]),
                ),
                // Text before, between and behind; two calls.
                (
                    "I look. \n\n<tool_call>\n<function=now>\n</function>\n</tool_call>\nand\n<tool_call>\n<function=get_weather>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>\ndone",
                    "I look. \n\n\nand\n\ndone",
                    json!([["now", {}], ["get_weather", {"days": 2}]]),
                ),
                // Two calls in one wrapper.
                (
                    "<tool_call><function=now></function>\n<function=now></function></tool_call>",
                    "",
                    json!([["now", {}], ["now", {}]]),
                ),
                // One line feed at each end is the format's.
                (
                    "<tool_call>\n<function=write_file>\n<parameter=path>\na.py\n</parameter>\n<parameter=text>\n\n  if x < 3:\n    \"</b>\\n\"\n\n</parameter>\n</function>\n</tool_call>",
                    "",
                    json!([["write_file", {"path": "a.py", "text": "\n  if x < 3:\n    \"</b>\\n\"\n"}]]),
                ),
                // An empty value; one line feed is one line feed.
                (
                    "<tool_call><function=write_file><parameter=path></parameter><parameter=text>\n</parameter></function></tool_call>",
                    "",
                    json!([["write_file", {"path": "", "text": ""}]]),
                ),
                // Closing tags in a value.
                (
                    "<tool_call><function=write_file><parameter=text>\na</parameter>b</function> c</tool_call>d <tool_call> e <function=now>\n</parameter></function></tool_call>",
                    "",
                    json!([["write_file", {"text": "a</parameter>b</function> c</tool_call>d <tool_call> e <function=now>"}]]),
                ),
                // Missing wrapper, stray closing tags.
                (
                    "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
                    "",
                    json!([["get_weather", {"city": "Oslo"}]]),
                ),
                ("<function=nothing>\n</function>", "<function=nothing>\n</function>", json!([])),
                (
                    "<tool_call><function=now></function></tool_call></tool_call>\n</function></parameter>",
                    "",
                    json!([["now", {}]]),
                ),
                ("the tag </tool_call> ends", "the tag </tool_call> ends", json!([])),
                // Missing closing tags.
                (
                    "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n<parameter=days>\n4\n</parameter>\n</function>\n</tool_call>",
                    "",
                    json!([["get_weather", {"city": "Oslo", "days": 4}]]),
                ),
                (
                    "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</function>\n</tool_call>\nThere.",
                    "\nThere.",
                    json!([["get_weather", {"city": "Oslo"}]]),
                ),
                (
                    "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</tool_call>",
                    "",
                    json!([["get_weather", {"city": "Oslo"}]]),
                ),
                (
                    "<tool_call><function=get_weather><parameter=city>Oslo</parameter><tool_call><function=now></function></tool_call>",
                    "",
                    json!([["get_weather", {"city": "Oslo"}], ["now", {}]]),
                ),
                // No parameter of another name ends a value.
                (
                    "<tool_call><function=get_weather><parameter=city>a <parameter=b> c</parameter></function></tool_call>",
                    "",
                    json!([["get_weather", {"city": "a <parameter=b> c"}]]),
                ),
                // Doubled wrappers.
                (
                    "<tool_call>\n<tool_call>\n<function=now>\n</function>\n</tool_call>\n</tool_call>",
                    "",
                    json!([["now", {}]]),
                ),
                (
                    "<tool_calls><tool_call><function=now></function></tool_call></tool_calls>",
                    "",
                    json!([["now", {}]]),
                ),
                // What only looks like a call.
                ("use <tool_call> for it", "use <tool_call> for it", json!([])),
                ("<tool_call>\n</tool_call>", "<tool_call>\n</tool_call>", json!([])),
                ("<tool_call><function=now", "<tool_call><function=now", json!([])),
                ("<tool_call><function=now>", "<tool_call><function=now>", json!([])),
                ("<function=get_weather> is a tag", "<function=get_weather> is a tag", json!([])),
                (
                    "<tool_call>\n<function=bad\n</function>\n</tool_call>\n<tool_call><function=now></function></tool_call>",
                    "<tool_call>\n<function=bad\n</function>\n</tool_call>\n",
                    json!([["now", {}]]),
                ),
                ("<tool_ca", "<tool_ca", json!([])),
                // Unknown tools and parameters are the client's to judge.
                (
                    "<tool_call><function=mcp__x-y.z><parameter=a b>[1, 2.50]</parameter><parameter=c>None</parameter></function></tool_call>",
                    "",
                    json!([["mcp__x-y.z", {"a b": [1, 2.50], "c": "None"}]]),
                ),
                // A closing tag before more text is text.
                (
                    "<tool_call><function=get_weather><parameter=city>Oslo</parameter>\nso\n</function></tool_call>",
                    "",
                    json!([["get_weather", {"city": "Oslo</parameter>\nso"}]]),
                ),
            ],
        );
    }
}

#[test]
fn values_follow_the_schema() {
    let call = |key: &str, value: &str| {
        format!(
            "<tool_call>\n<function=set>\n<parameter={key}>\n{value}\n</parameter>\n</function>\n</tool_call>"
        )
    };
    for (key, value, expected) in [
        ("on", "true", json!(true)),
        ("on", "False", json!(false)),
        ("on", "maybe", json!("maybe")),
        ("ratio", "1.50", json!(1.50)),
        ("ratio", "-2e3", json!(-2e3)),
        ("ratio", "007", json!("007")),
        ("tags", "[\"a\", {\"b\": null}]", json!(["a", {"b": null}])),
        ("tags", "['a', True, None, (1, 2),]", json!(["a", true, null, [1, 2]])),
        ("tags", "\"[{\\\"a\\\": 1}]\"", json!([{"a": 1}])),
        ("tags", "none", json!("none")),
        ("meta", "None", json!(null)),
        ("meta", "{'k': \"it's\", 2: 'x\\n'}", json!({"k": "it's", "2": "x\n"})),
        ("label", "None", json!("None")),
        ("label", "42", json!("42")),
        ("label", "{\"a\": 1}", json!("{\"a\": 1}")),
        ("label", "\\ud83d\\ude00 \u{1F600}\t\u{1}", json!("\\ud83d\\ude00 \u{1F600}\t\u{1}")),
        ("mode", "none", json!("none")),
        ("mode", "7", json!("7")),
        ("item", "{\"id\": 3}", json!({"id": 3})),
        (
            "item",
            "{\"s\": \"</parameter>\\n</function> } <parameter=on>\"}",
            json!({"s": "</parameter>\n</function> } <parameter=on>"}),
        ),
        ("item", "{\"s\": \"\\ud83d\\ude00\"}", json!({"s": "\u{1F600}"})),
        ("other", "12", json!(12)),
        ("other", "twelve", json!("twelve")),
        ("other", "null", json!(null)),
        ("other", "{\"a\": [1]}", json!({"a": [1]})),
    ] {
        let (content, found) = read("qwen3_coder", &call(key, value));
        assert_eq!(
            (content.as_str(), found),
            ("", calls(&[("set", json!({key: expected}))])),
            "{key} {value}"
        );
    }
}

#[test]
fn digits_and_bytes_are_the_models() {
    for (text, arguments) in [
        (
            "<tool_call><function=any><parameter=a>123456789012345678901234567890</parameter><parameter=b>[1.10,  {\"x\":1e400}]</parameter></function></tool_call>",
            "{\"a\": 123456789012345678901234567890, \"b\": [1.10,  {\"x\":1e400}]}",
        ),
        ("<tool_call><function=now>\n</function></tool_call>", "{}"),
        // A call that was cut off stays open.
        (
            "<tool_call><function=write_file><parameter=path>a</parameter><parameter=text>b\"c\nd\n",
            "{\"path\": \"a\", \"text\": \"b\\\"c\\nd",
        ),
        (
            "<tool_call><function=write_file><parameter=path>a</parameter><parameter=te",
            "{\"path\": \"a\"",
        ),
        ("<tool_call><function=write_file><parameter=path>a</parameter>\n", "{\"path\": \"a\""),
        ("<tool_call><function=write_file><parameter=path>a</para", "{\"path\": \"a"),
        ("<tool_call><function=write_file><parameter=path>a</parameter></func", "{\"path\": \"a\""),
        (
            "<tool_call><function=write_file><parameter=path>a</parameter></function></tool",
            "{\"path\": \"a\"}",
        ),
        ("<tool_call><function=set><parameter=tags>[1, 2", "{\"tags\": [1, 2"),
        ("<tool_call><function=get_weather><parameter=days>4", "{\"days\": 4"),
    ] {
        let answer = how("qwen3_coder").read(text);
        assert_eq!(answer.content, "", "{text}");
        let found: Vec<&str> = answer.calls.iter().map(|call| call.arguments.as_str()).collect();
        assert_eq!(found, [arguments], "{text}");
    }
}

#[test]
fn texts_are_said_as_they_come() {
    let how = how("qwen3_coder");
    let pieces = [
        "<tool_call>\n<function=write_file>\n<parameter=path>\na.py\n</parameter>\n<parameter=text>\n",
        "def f(x):\n",
        "    return 1\n",
        "\n",
        "</parameter>\n</function>\n</tool_call>",
    ];
    let mut parser = how.parser();
    let mut out = overt_parse::Events::new();
    let mut said: Vec<String> = Vec::new();
    for text in pieces {
        out.clear();
        parser.push(overt_parse::Piece { text, special: false }, &mut out);
        said.push(
            out.iter()
                .filter_map(|event| match event {
                    overt_parse::Event::ToolArgs { text, .. } => Some(text),
                    _ => None,
                })
                .collect(),
        );
    }
    assert_eq!(
        said,
        ["{\"path\": \"a.py\", \"text\": \"", "def f(x):", "\\n    return 1", "\\n", "\"}"]
    );
}

#[test]
fn families_with_tags_of_their_own() {
    for (format, text) in [
        (
            "mimo",
            "<tool_call>\n<function=get_weather>\n<parameter=city>Oslo</parameter>\n<parameter=days>3</parameter>\n</function>\n</tool_call>",
        ),
        (
            "seed_oss",
            "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Oslo</parameter>\n<parameter=days>3</parameter>\n</function>\n</seed:tool_call>",
        ),
        (
            "minimax_m2",
            "\n<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Oslo</parameter>\n<parameter name=\"days\">3</parameter>\n</invoke>\n</minimax:tool_call>",
        ),
        (
            "minimax-m2",
            "<minimax:tool_call><invoke name='get_weather'><parameter name=city>Oslo</parameter><parameter name='days'>3</parameter></invoke></minimax:tool_call>",
        ),
        (
            "deepseek_v32",
            "\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Oslo</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        ),
        (
            "deepseekv32",
            "<｜DSML｜function_calls><｜DSML｜invoke name=\"get_weather\">{\"city\": \"Oslo\", \"days\": 3}</｜DSML｜invoke></｜DSML｜function_calls>",
        ),
        (
            "deepseek_v4",
            "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\">Oslo</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        ),
        (
            "deepseekv4",
            "<｜DSML｜toolcalls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Oslo</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" string=\"true\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool>",
        ),
        (
            "deepseek_v41",
            "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"get_weather\">\n<｜DSML｜ parameter name=\"city\" string=\"true\">Oslo</｜DSML｜ parameter>\n<｜DSML｜ parameter name=\"days\" string=\"false\">3</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
        ),
        (
            "deepseekv41",
            "<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Oslo</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜ calls>",
        ),
        (
            "gigachat35",
            "<｜GCML｜tool_calls>\n<｜GCML｜invoke name=\"get_weather\">\n<｜GCML｜parameter name=\"city\" string=\"true\">Oslo</｜GCML｜parameter>\n<｜GCML｜parameter name=\"days\" string=\"false\">3</｜GCML｜parameter>\n</｜GCML｜invoke>\n</｜GCML｜tool_calls>",
        ),
        (
            "minicpm5",
            "<function name=\"get_weather\"><param name=\"city\">Oslo</param><param name=\"days\">3</param></function>",
        ),
        (
            "minicpm5",
            "<functionname=\"get_weather\"><arguments><paramname=\"city\">\n<![CDATA[Oslo]]></param><param name=\"days\">3</param></arguments></function>",
        ),
        (
            "dots",
            "<dots_function_call><invoke name=\"get_weather\"><parameter name=\"city\">Oslo</parameter><parameter name=\"days\">3</parameter></invoke></dots_function_call>",
        ),
        (
            "dots",
            "<dots_function_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 3}}\n</dots_function_call>",
        ),
        (
            "step3",
            "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"get_weather\">\n<steptml:parameter name=\"city\">Oslo</steptml:parameter>\n<steptml:parameter name=\"days\">3</steptml:parameter>\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>",
        ),
    ] {
        let expected = calls(&[("get_weather", json!({"city": "Oslo", "days": 3}))]);
        assert_eq!(read(format, text), (String::new(), expected), "{format} {text}");
        // Markers that are special tokens, or have one in them.
        let specials = [
            "<tool_call>",
            "</tool_call>",
            "<seed:tool_call>",
            "</seed:tool_call>",
            "<minimax:tool_call>",
            "</minimax:tool_call>",
            "｜DSML｜",
            "｜GCML｜",
            "<｜tool_calls_begin｜>",
            "<｜tool_call_begin｜>",
            "<｜tool_sep｜>",
            "<｜tool_call_end｜>",
            "<｜tool_calls_end｜>",
            "<dots_function_call>",
            "</dots_function_call>",
            "</s>",
        ];
        let text = format!("Look.\n{text}</s>");
        let (content, found) = said(&how(format).specials(&specials).read(&text));
        assert_eq!(content.trim_end(), "Look.", "{format}");
        assert_eq!(found.len(), 1, "{format}");
    }
}
