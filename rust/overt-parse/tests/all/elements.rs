//! Calls of elements: MiniMax M3.

use crate::common::accepts::accepts;
use crate::common::{How, with};
use overt_parse::{Many, Tools, Written, tool_format};
use serde_json::{Value, json};

const MARK: &str = "]<]minimax[>[";

fn tools() -> Value {
    let tool = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    json!([
        tool("now", json!({"type": "object", "properties": {}})),
        tool(
            "order",
            json!({"type": "object", "properties": {
                "user": {"type": "integer"},
                "note": {"type": "string"},
                "urgent": {"type": ["boolean", "null"]},
                "shipping": {"$ref": "#/$defs/Address"},
                "items": {"type": "array", "items": {"type": "object", "properties": {
                    "sku": {"type": "string"}, "qty": {"type": "integer"}}}},
                "tags": {"type": "array", "items": {"type": "string"}},
                "scores": {"type": "object", "additionalProperties": {"type": "number"}},
                "free": {}},
                "$defs": {"Address": {"type": "object", "properties": {
                    "city": {"type": "string"}, "zip": {"type": "string"},
                    "next": {"$ref": "#/$defs/Address"}}}}})
        ),
    ])
}

/// `~` stands for the mark.
fn how() -> How {
    with("minimax_m3", &tools()).specials(&[MARK])
}

fn check(cases: &[(&str, &str, Value)]) {
    for (text, content, expected) in cases {
        let text = text.replace('~', MARK);
        for how in [how(), with("minimax-m3", &tools())] {
            let answer = how.read(&text);
            // A special token's spelling is no text.
            let kept = if how.specials.is_empty() { MARK } else { "" };
            let content = content.replace('~', kept);
            assert_eq!(
                (answer.content.as_str(), json!(answer.calls())),
                (content.as_str(), expected.clone()),
                "{text}"
            );
        }
    }
}

fn order(body: &str) -> String {
    format!("~<tool_call>\n~<invoke name=\"order\">{body}~</invoke>\n~</tool_call>")
}

#[test]
fn calls_and_text() {
    check(&[
        ("Hello <b>.", "Hello <b>.", json!([])),
        (
            "Look. ~<tool_call>\n~<invoke name=\"now\">~</invoke>\n~</tool_call>",
            "Look. ",
            json!([["now", {}]]),
        ),
        (
            "~<tool_call>\n~<invoke name=\"now\">~</invoke>\n~<invoke name=\"order\">~<user>4~</user>~</invoke>\n~</tool_call> so",
            " so",
            json!([["now", {}], ["order", {"user": 4}]]),
        ),
        (
            "~<tool_call>\n~<invoke name=\"mcp.x\">~<a>1~</a>~</invoke>\n~</tool_call>",
            "",
            json!([["mcp.x", {"a": 1}]]),
        ),
        // No call.
        ("use ~<tool_call> for it", "use ~<tool_call> for it", json!([])),
        ("~<invoke name=\"order\"> is one", "~<invoke name=\"order\"> is one", json!([])),
        (
            "~<invoke name=\"x\">~<a>1~</a>~</invoke>",
            "~<invoke name=\"x\">~<a>1~</a>~</invoke>",
            json!([]),
        ),
        ("~<tool_call>~<invoke name=\"order\">", "~<tool_call>~<invoke name=\"order\">", json!([])),
        ("a ]<]mini", "a ]<]mini", json!([])),
        // Missing wrapper, missing marks.
        (
            "~<invoke name=\"order\">~<user>4~</user>~</invoke>\n~</tool_call>",
            "",
            json!([["order", {"user": 4}]]),
        ),
        (
            "<tool_call>\n~<invoke name=\"order\">~<user>4~</user>~</invoke></tool_call>",
            "",
            json!([["order", {"user": 4}]]),
        ),
        (
            "<tool_call>\n<invoke name=\"order\">\n~<user>4~</user>\n</invoke>\n</tool_call>",
            "",
            json!([["order", {"user": 4}]]),
        ),
        // Missing closing tags.
        (
            "~<tool_call>~<invoke name=\"order\">~<note>a~<user>4~</invoke>~</tool_call>",
            "",
            json!([["order", {"note": "a", "user": 4}]]),
        ),
        (
            "~<tool_call>~<invoke name=\"order\">~<note>a~</tool_call>",
            "",
            json!([["order", {"note": "a"}]]),
        ),
        (
            "~<tool_call>~<invoke name=\"order\">~<user>1~<invoke name=\"now\">~</invoke>~</tool_call>",
            "",
            json!([["order", {"user": 1}], ["now", {}]]),
        ),
        // Text between parameters ends the call.
        (
            "~<tool_call>~<invoke name=\"order\">~<user>1~</user>so ~<note>x",
            "so ~<note>x",
            json!([["order", {"user": 1}]]),
        ),
    ]);
}

#[test]
fn values_are_typed_at_every_depth() {
    for (body, expected) in [
        ("~<user>42~</user>~<note>\n 42 \n~</note>", json!({"user": 42, "note": "\n 42 \n"})),
        (
            "~<note>a </note> <b>\"\\~</x>~</note>",
            json!({"note": format!("a </note> <b>\"\\{MARK}</x>")}),
        ),
        ("~<urgent>true~</urgent>", json!({"urgent": true})),
        ("~<urgent>~</urgent>", json!({"urgent": ""})),
        ("~<urgent>null~</urgent>", json!({"urgent": null})),
        (
            "~<shipping>\n~<city>Oslo~</city>\n~<zip>0150~</zip>\n~<next>~<zip>1~</zip>~</next>\n~</shipping>",
            json!({"shipping": {"city": "Oslo", "zip": "0150", "next": {"zip": "1"}}}),
        ),
        (
            "~<items>~<item>~<sku>7~</sku>~<qty>2~</qty>~</item>~<item>~<sku>b~</sku>~</item>~</items>",
            json!({"items": [{"sku": "7", "qty": 2}, {"sku": "b"}]}),
        ),
        // Another name than `item`; JSON in place of elements; nothing at all.
        ("~<items>~<x>~<qty>1~</qty>~</x>~</items>", json!({"items": [{"qty": 1}]})),
        (
            "~<items>[{\"qty\": 1}]~</items>~<tags>['a']~</tags>",
            json!({"items": [{"qty": 1}], "tags": ["a"]}),
        ),
        (
            "~<items>~</items>~<shipping>\n~</shipping>~<tags>~<item>1~</item>~</tags>",
            json!({"items": [], "shipping": {}, "tags": ["1"]}),
        ),
        ("~<scores>~<a>1.50~</a>~<b>x~</b>~</scores>", json!({"scores": {"a": 1.50, "b": "x"}})),
        // Without a schema: elements of one name, `item`s, and what JSON would read.
        (
            "~<free>~<tag>1~</tag>~<tag>b~</tag>~<l>~<item>true~</item>~</l>~<n>~</n>~</free>",
            json!({"free": {"tag": [1, "b"], "l": [true], "n": ""}}),
        ),
        ("~<free>~<item>~<item>1~</item>~</item>~</free>", json!({"free": [[1]]})),
        ("~<free>a~<k>b~</k>~</free>", json!({"free": {"k": "b", "$text": "a"}})),
        // Closed with the element around it; a tag that closes nothing is text.
        (
            "~<shipping>~<next>~<city>Oslo~</shipping>",
            json!({"shipping": {"next": {"city": "Oslo"}}}),
        ),
        ("~<free>a~</b>~</free>", json!({"free": format!("a{MARK}")})),
    ] {
        let text = order(&body.replace('~', MARK)).replace('~', MARK);
        let answer = with("minimax_m3", &tools()).read(&text);
        let expected = match body.contains("</b>~</free>") {
            true => json!({"free": format!("a{MARK}</b>")}),
            false => expected,
        };
        assert_eq!(
            (answer.content.as_str(), json!(answer.calls())),
            ("", json!([["order", expected]])),
            "{body}"
        );
    }
}

#[test]
fn bytes_of_scalars_and_of_what_is_cut_off() {
    for (body, arguments) in [
        (
            "~<user>123456789012345678901234567890~</user>~</invoke>",
            "{\"user\": 123456789012345678901234567890}",
        ),
        ("~<scores>~<a>1e400~</a>~</scores>~</invoke>", "{\"scores\": {\"a\": 1e400}}"),
        ("~<note>a\"b", "{\"note\": \"a\\\"b"),
        ("~<note>a]<]mini", "{\"note\": \"a"),
        ("~<note>a~</no", "{\"note\": \"a"),
        ("~<user>4", "{\"user\": 4"),
        ("~<user>4~</user>~<no", "{\"user\": 4"),
        ("~<user>4~</user>~</inv", "{\"user\": 4"),
        ("~<items>~<item>~<sku>a", "{\"items\": [{\"sku\": \"a"),
    ] {
        let text = format!("~<tool_call>\n~<invoke name=\"order\">{body}").replace('~', MARK);
        let answer = how().read(&text);
        assert_eq!(answer.content, "", "{body}");
        let found: Vec<&str> = answer.calls.iter().map(|call| call.arguments.as_str()).collect();
        assert_eq!(found, [arguments], "{body}");
    }
}

#[test]
fn thoughts_may_be_closed_unopened() {
    for (tail, text, reasoning, content) in [
        ("]~b]ai\n", "<mm:think>t</mm:think>c", "t", "c"),
        ("]~b]ai\n", "</mm:think>c", "", "c"),
        ("]~b]ai\n", "c</mm:think>", "", "c</mm:think>"),
        ("]~b]ai\n<mm:think>", "t</mm:think>c", "t", "c"),
        ("]~b]ai\n</mm:think>", "c", "", "c"),
    ] {
        let answer = how().reasoning("minimax-m3").tail(tail).read(text);
        assert_eq!(
            (answer.reasoning.as_str(), answer.content.as_str()),
            (reasoning, content),
            "{text}"
        );
    }
}

#[test]
fn what_is_written_is_read_and_allowed() {
    let declared = Tools::of(tools().as_array().expect("a list"));
    let format = tool_format("minimax_m3").expect("a format");
    let list: Vec<&overt_parse::Tool> = declared.list.iter().collect();
    let grammar = |many| format.grammar(&list, many).expect("a grammar");
    for arguments in [
        json!({}),
        json!({"user": -7, "note": "a <b>\n \"c\" </note>", "urgent": null}),
        json!({"shipping": {"city": "", "next": {"zip": "1", "next": {}}}}),
        json!({"items": [{"sku": "1", "qty": 2}, {}, {"qty": 3}], "tags": ["", "12", " x "]}),
        json!({"items": [], "tags": []}),
        json!({"urgent": false, "shipping": {}, "free": "text"}),
    ] {
        let call = Written { name: "order", arguments: &arguments, tool: declared.get("order") };
        let now = Written { name: "now", arguments: &json!({}), tool: declared.get("now") };
        for (calls, one) in [(vec![call], true), (vec![call, now, call], false)] {
            let text = format.write(&calls);
            let expected: Vec<(String, Value)> =
                calls.iter().map(|call| (call.name.to_owned(), call.arguments.clone())).collect();
            assert_eq!(how().read(&text).calls(), expected, "{text}");
            assert!(accepts(&grammar(Many::Some), &text), "{text}");
            assert_eq!(accepts(&grammar(Many::One), &text), one, "{text}");
        }
    }
    for wrong in [
        json!({"user": "x"}),
        json!({"items": [{"qty": "x"}]}),
        json!({"other": 1}),
        json!({"note": MARK}),
    ] {
        let call = Written { name: "order", arguments: &wrong, tool: None };
        assert!(!accepts(&grammar(Many::Some), &format.write(&[call])), "{wrong}");
    }
}
