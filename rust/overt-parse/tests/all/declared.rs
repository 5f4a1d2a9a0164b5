//! Formats that a checkpoint declares.

use std::sync::Arc;

use crate::common::accepts::accepts;
use crate::common::{Answer, How};
use overt_parse::{Format, Many, Options, Tools, Written, declared};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

fn tools() -> Value {
    json!([
        {"name": "f", "parameters": {"type": "object", "properties": {
            "s": {"type": "string"}, "i": {"type": "integer"}, "o": {"type": "object"}
        }}},
        {"name": "now"}
    ])
}

fn how(format: &'static Format, tail: &str, specials: &[&str]) -> How {
    let list = tools();
    let tools = Arc::new(Tools::of(list.as_array().expect("a list")));
    let options = Options { tools, prompt_tail: tail.to_owned(), ..Options::default() };
    How { formats: Some((Some(format), Some(format))), options, ..How::default() }
        .specials(specials)
}

fn short(answer: &Answer) -> String {
    let calls: String =
        answer.calls.iter().map(|call| format!("{}{}", call.name, call.arguments)).collect();
    format!("{}|{}|{}|{calls}", answer.order, answer.content, answer.reasoning)
}

fn check(template: &Value, tail: &str, specials: &[&str], cases: &[(&str, &str)]) {
    let format = declared(template).expect("a declaration");
    for (text, expected) in cases {
        for specials in [specials, &[]] {
            let answer = how(format, tail, specials).read(text);
            assert_eq!(short(&answer), *expected, "{text:?}");
        }
    }
}

/// Reasoning in tags, calls as JSON, the rest text up to the turn's end.
fn tagged() -> Value {
    json!({
        "defaults": {"role": "assistant"},
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "reasoning_content": {"open": "<think>", "close": "</think>"},
            "tool_calls": {
                "open_pattern": r"\s*<tool_call>", "close": "</tool_call>", "repeats": true, "content": "json",
                "transform": {"type": "function", "function": "{content}"}
            },
            "content": {"close_pattern": r"\s*(?:<\|im_end\|>|$)"}
        }
    })
}

#[test]
fn json_calls_are_read_as_they_come() {
    check(
        &tagged(),
        "<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n",
        &["<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>"],
        &[
            ("Hi.<|im_end|>\n", "c|Hi.||"),
            ("<think>\nhm\n</think>\n\nHi\n\nthere. <|im_end|>", "rc|Hi\n\nthere.|hm|"),
            (
                "I look.\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"s\": \"}</tool_cal\\\"l>\"}}\n</tool_call>\n<tool_call>{\"arguments\": null, \"name\": \"now\"}</tool_call>",
                "ct|I look.||f{\"s\": \"}</tool_cal\\\"l>\"}now{}",
            ),
            ("<tool_call>{\"name\": \"f\", \"arguments\": {\"i\": 1", "t|||f{\"i\": 1"),
            ("a <tool_ca", "c|a <tool_ca||"),
            ("<think>a <tool_ca</think>b", "rc|b|a <tool_ca|"),
            ("<think>never closed", "r||never closed|"),
            ("a <b> c < d", "c|a <b> c < d||"),
        ],
    );
    // What turns out to be no call is text, delimiters and all.
    check(
        &tagged(),
        "",
        &[],
        &[
            ("x <tool_call>nothing</tool_call> y", "c|x <tool_call>nothing</tool_call> y||"),
            ("<tool_call></tool_call>", "c|<tool_call></tool_call>||"),
            ("<tool_call>{\"name\": \"f\"", "c|<tool_call>{\"name\": \"f\"||"),
            ("<think>a<tool_call></think>b", "rc|b|a<tool_call>|"),
        ],
    );
    let format = declared(&tagged()).expect("a declaration");
    let mut parser = how(format, "<|im_start|>assistant\n", &[]).parser();
    let mut out = overt_parse::Events::new();
    parser.push(
        overt_parse::Piece {
            text: "<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"ab",
            special: false,
        },
        &mut out,
    );
    assert!(
        out.iter().any(|event| matches!(
            event,
            overt_parse::Event::ToolArgs { text: "{\"s\": \"ab", .. }
        ))
    );
}

#[test]
fn the_answer_begins_behind_the_last_anchor_of_the_prompt() {
    let format = declared(&tagged()).expect("a declaration");
    for (tail, text, expected) in [
        ("<|im_start|>assistant\n<think>\n", "hm</think>c", "rc|c|hm|"),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", "c", "c|c||"),
        ("<|im_start|>assistant\n<think>x<|im_start|>assistant\n", "c", "c|c||"),
        ("<|im_start|>assistant\nSo it", " is.", "c| is.||"),
        ("", "c", "c|c||"),
    ] {
        assert_eq!(short(&how(format, tail, &[]).read(text)), expected, "{tail:?}");
    }
}

#[test]
fn elements_are_typed_by_the_schema() {
    let template = json!({
        "start_anchor": "A:",
        "fields": {
            "thinking": {"open": "<t>", "close": "</t>"},
            "tool_calls": {
                "open_pattern": r"\s*<call>\s*<function=(?P<name>[^>\n]+)>", "close_pattern": r"</function>\s*</call>",
                "repeats": true, "content": "xml-inline",
                "content_args": {"tag_pattern": r"<p=(?P<key>[^>\n]+)>\n?(?P<value>.*?)\n?</p>"},
                "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
            },
            "content": {}
        }
    });
    check(
        &template,
        "",
        &[],
        &[
            (
                "<call>\n<function=f>\n<p=s>\n12\n</p><p=i>12</p><p=o>{\"a\": [1]}</p><p=x>1</p></function>\n</call>",
                "t|||f{\"s\": \"12\", \"i\": 12, \"o\": {\"a\": [1]}, \"x\": \"1\"}",
            ),
            ("<t>hm</t> a <call><function=now></function></call> b", "rctc|ab|hm|now{}"),
            ("<call><function=f><p=s>never closed", "t|||f{}"),
            ("<call>no function", "c|<call>no function||"),
        ],
    );
}

#[test]
fn dialects_lists_and_lines() {
    let braces = json!({
        "start_anchor": ["<|turn>model\n", "<tool_response|>"],
        "fields": {
            "reasoning_content": {"open": "<|channel>thought\n", "close": "<channel|>"},
            "tool_calls": {
                "open_pattern": r"<\|tool_call>call:(?P<name>\w+)", "close": "<tool_call|>", "repeats": true,
                "content": "json",
                "content_args": {"unquoted_keys": true, "string_delims": [["<|\"|>", "<|\"|>"]]},
                "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
            },
            "content": {"close": ["<turn|>", "<|tool_response>", "<eos>"]}
        }
    });
    check(
        &braces,
        "",
        &["<|tool_call>", "<tool_call|>", "<|\"|>", "<|channel>", "<channel|>", "<turn|>"],
        &[
            ("<|channel>thought\nhm<channel|>Hi.<turn|>", "rc|Hi.|hm|"),
            (
                "<|tool_call>call:f{s:<|\"|>a \"q\"<|\"|>,i:3,o:{k:[true]}}<tool_call|>",
                "t|||f{\"s\":\"a \\\"q\\\"\",\"i\":3,\"o\":{\"k\":[true]}}",
            ),
        ],
    );
    let list = json!({
        "start_anchor_pattern": "assistant:",
        "fields": {
            "tool_calls": {
                "open": "[CALLS]", "close": "[/CALLS]", "content": "json", "transform_each": true,
                "transform": {"function": {"name": "{tool}", "arguments": "{args}"}}
            },
            "content": {"open": "[TEXT]", "close": "[/TEXT]", "repeats": true, "join": "\n"}
        }
    });
    check(
        &list,
        "",
        &["[CALLS]"],
        &[
            (
                "[TEXT] a [/TEXT]\n[CALLS][{\"tool\": \"f\", \"args\": {\"i\": 1}}, {\"args\": {}, \"tool\": \"now\"}] [/CALLS][TEXT]b[/TEXT]",
                "ctc|a\nb||f{\"i\": 1}now{}",
            ),
            ("bare text", "c|bare text||"),
        ],
    );
    let bare = json!({
        "start_anchor": "A",
        "fields": {
            "tool_calls": {
                "open_pattern": r"<(?P<id>\w+)\.(?P<name>\w+):\d+>", "close": "</>", "content": "text",
                "transform": {"id": "{id}", "function": {"name": "{name}", "arguments": "{content}"}}
            },
            "content": {}
        }
    });
    check(
        &bare,
        "",
        &[],
        &[
            ("<functions.f:0>{\"s\": \"</>\"}</><x.now:12></>", "t|||f{\"s\": \"</>\"}now{}"),
            ("<functions.f:0>[1]</>", "c|<functions.f:0>[1]</>||"),
        ],
    );
    let python = json!({
        "start_anchor": "A",
        "fields": {
            "tool_calls": {
                "open": "<s>", "close": "<e>", "content": "python-call-list", "transform_each": true,
                "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}}
            },
            "content": {}
        }
    });
    check(
        &python,
        "",
        &[],
        &[
            ("a <s>[f(s='x', i=2), now()]<e>", "ct|a||f{\"s\": \"x\", \"i\": 2}now{}"),
            ("<s>[f(x)]<e>", "c|<s>[f(x)]<e>||"),
        ],
    );
    let lines = json!({
        "start_anchor": "A",
        "fields": {
            "tool_calls": {
                "open_pattern": "<(?P<name>[a-z]+)>\\n", "close": "</end>", "content": "kv-lines",
                "transform": {"name": "{name}", "arguments": {"all": "{content}", "n": 1}}
            },
            "content": {}
        }
    });
    check(
        &lines,
        "",
        &[],
        &[("<f>\ns: 1\ni: 2\n</end>", "t|||f{\"all\": {\"s\": \"1\", \"i\": 2}, \"n\": 1}")],
    );
    let whole = json!({
        "start_anchor": "A",
        "fields": {"tool_calls": {"open": "<c>", "close": "</c>", "content": "json"}, "content": {}}
    });
    check(
        &whole,
        "",
        &[],
        &[
            (
                "<c>{\"type\": \"function\", \"function\": {\"name\": \"f\", \"arguments\": \"{\\\"i\\\": 1}\"}}</c>",
                "t|||f{\"i\": 1}",
            ),
            (
                "<c>[{\"name\": \"f\", \"arguments\": {\"i\": 12345678901234567890}}]</c>",
                "t|||f{\"i\": 12345678901234567890}",
            ),
        ],
    );
}

#[test]
fn reasoning_may_be_what_has_no_opening() {
    let template = json!({
        "start_anchor": "A",
        "fields": {
            "reasoning_content": {"close": "</think>"},
            "content": {"open": "<a>", "close": "</a>", "content_args": {"strip": false}}
        }
    });
    check(&template, "", &[], &[("hm\n</think><a> c </a>", "rc| c |hm|")]);
}

#[test]
fn without_tools_calls_are_text() {
    let format = declared(&tagged()).expect("a declaration");
    let mut how = how(format, "", &[]);
    how.options.tools = Arc::new(Tools::default());
    let answer = how.read("a <tool_call>{\"name\": \"f\"}</tool_call>");
    assert_eq!(short(&answer), "c|a{\"name\": \"f\"}||");
}

#[test]
fn what_is_written_is_read_back_and_accepted() {
    let list = tools();
    let tools = Tools::of(list.as_array().expect("a list"));
    let arguments = [json!({"s": "a\nb", "i": -3, "o": {"k": [null, "v"]}}), json!({})];
    let written: Vec<Written<'_>> = tools
        .list
        .iter()
        .zip(&arguments)
        .map(|(tool, arguments)| Written { name: &tool.name, arguments, tool: Some(tool) })
        .collect();
    let expected: Vec<(String, Value)> =
        written.iter().map(|call| (call.name.to_owned(), call.arguments.clone())).collect();
    let field =
        |value: Value| json!({"start_anchor": "A", "fields": {"tool_calls": value, "content": {}}});
    let by_name = json!({"function": {"name": "{name}", "arguments": "{content}"}});
    for template in [
        tagged(),
        field(json!({"open": "<c>", "close": "</c>", "content": "json"})),
        field(
            json!({"open_pattern": r"\n*<f=(?P<name>\w+)>", "close_pattern": "</f>|$", "content": "json", "transform": by_name}),
        ),
        field(
            json!({"open_pattern": r"<f=(?P<name>\w+)>", "close": "</f>", "content": "xml-inline", "transform": by_name,
            "content_args": {"tag_pattern": r"<p=(?P<key>\w+)>(?P<value>.*?)</p>"}}),
        ),
        field(json!({"open": "[C]", "close": "[/C]", "content": "json", "transform_each": true,
            "transform": {"name": "{n}", "arguments": "{a}"}})),
        field(json!({"open": "[C]", "close": "[/C]", "content": "python-call-list"})),
        field(json!({"open": "[C]", "close": "[/C]", "content": "json",
            "transform": {"function": {"name": "{content.call.name}", "arguments": "{content.call.input}"}}})),
    ] {
        let format = declared(&template).expect("a declaration");
        let text = format.write(&written);
        let answer = how(format, "", &[]).read(&text);
        assert_eq!(answer.calls(), expected, "{text}");
        assert_eq!(answer.content, "", "{text}");
        let refs: Vec<_> = tools.list.iter().collect();
        let grammar = format.grammar(&refs, Many::Some).expect("a grammar");
        assert!(accepts(&grammar, &text), "{text} {grammar:?}");
        assert!(!format.openers().is_empty() && text.contains(format.openers()[0]), "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    let with = |fields: Value| json!({"start_anchor": "A", "fields": fields});
    for (template, part) in [
        (json!([]), "object"),
        (json!({"type": "object", "properties": {}}), "response_schema"),
        (json!({"fields": {"content": {}}}), "start_anchor"),
        (json!({"start_anchor": "A"}), "fields"),
        (json!({"start_anchor": "A", "fields": {"content": {}}, "version": 2}), "version 2"),
        (json!({"start_anchor": "A", "fields": {"content": {}}, "extra": 2}), "extra"),
        (with(json!({"content": {}, "thinking": {}})), "only one field"),
        (with(json!({"tool_calls": {}})), "tool_calls"),
        (with(json!({"citations": {"open": "<"}})), "citations"),
        (with(json!({"content": {"opens": "<"}})), "opens"),
        (with(json!({"content": {"open": ""}})), "open"),
        (with(json!({"content": {"open": "<", "open_pattern": "<"}})), "open_pattern"),
        (with(json!({"content": {"open_pattern": "(?<=x)y"}})), "look-around"),
        (with(json!({"content": {"open_pattern": "\\bx"}})), "boundary"),
        (with(json!({"content": {"open_pattern": "x*"}})), "empty text"),
        (with(json!({"content": {"content": "yaml"}})), "yaml"),
        (
            with(
                json!({"tool_calls": {"open": "<", "content": "json", "transform": {"function": {"name": "{n}", "arguments": "{content}"}}}}),
            ),
            "{n}",
        ),
        (
            with(
                json!({"tool_calls": {"open": "<", "content": "json", "transform": {"function": {"name": "f-{content}", "arguments": "{content}"}}}}),
            ),
            "mixes",
        ),
        (
            with(
                json!({"tool_calls": {"open": "<", "content": "json", "transform": {"function": {"arguments": "{content}"}}}}),
            ),
            "name",
        ),
    ] {
        let error = declared(&template).expect_err("refused");
        assert!(error.contains(part), "{template}: {error}");
    }
}

proptest! {
    #[test]
    fn nothing_panics_and_cuts_never_matter(
        parts in vec(
            prop_oneof![
                select(vec![
                    "<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>", "{\"name\": \"f\"", ", \"arguments\": ",
                    "{\"a\": [1]}", "null", "}", "{", "\"", "[", "]", " ", "\n", "<", "</", "<function=f>", "</function>", "<p=s>",
                    "</p>", "é",
                ]).prop_map(str::to_owned),
                "\\PC{0,3}",
            ],
            0..20,
        ),
    ) {
        let text = parts.concat();
        let xml = json!({"start_anchor": "A", "fields": {
            "reasoning_content": {"open": "<think>", "close": "</think>", "repeats": true, "join": "+"},
            "tool_calls": {"open_pattern": r"\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>", "close_pattern": r"</function>\s*</tool_call>",
                "content": "xml-inline", "content_args": {"tag_pattern": r"<p=(?P<key>\w+)>(?P<value>.*?)</p>"},
                "transform": {"function": {"name": "{name}", "arguments": "{content}"}}},
            "content": {"close": ["<|im_end|>", "<|"]}
        }});
        for template in [tagged(), xml] {
            how(declared(&template).expect("a declaration"), "", &[]).read(&text);
        }
    }
}
