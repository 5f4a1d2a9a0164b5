//! Calls of custom tools, calls in OpenAI's older field, and the counts of reasoning.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panic")]

use overt_parse::Events;
use overt_wire::{Finish, Head, Options, Protocol, Usage, writer};
use serde_json::{Value, json};

fn head() -> Head {
    let (id, model) = ("i".into(), "m".into());
    Head { id, created: 1, model, fingerprint: String::new(), extra: String::new() }
}

/// A function's call and a custom tool's, in two steps.
fn answer(stream: bool, functions: bool) -> String {
    let options = Options { functions, include_usage: true, ..Options::default() };
    let mut writer = writer(Protocol::Chat, stream, head(), options, 1, 1);
    writer.custom_tools(&["shell".to_owned()]);
    let mut out = Vec::new();
    writer.begin(0, &mut out);
    let mut events = Events::new();
    events.tool_start(0, "c0", "f");
    events.tool_args(0, "{\"a\"");
    writer.events(0, &events, &[], &mut out);
    events.clear();
    events.tool_args(0, ":1}");
    events.tool_end(0);
    if !functions {
        events.tool_start(1, "c1", "shell");
        events.tool_args(1, "ls \"x\"");
        events.tool_end(1);
    }
    writer.events(0, &events, &[], &mut out);
    writer.finish(0, Finish::ToolCalls, None, &mut out);
    let usage = Usage {
        prompt_tokens: 3,
        completion_tokens: 4,
        cached_tokens: 2,
        reasoning_tokens: Some(1),
    };
    writer.end(&usage, &mut out);
    String::from_utf8(out).unwrap()
}

fn frames(stream: &str) -> Vec<Value> {
    let frames = stream.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
    frames
        .filter(|frame| *frame != "[DONE]")
        .map(|frame| serde_json::from_str(frame).unwrap())
        .collect()
}

#[test]
fn custom_tools_are_called_with_an_input() {
    let body: Value = serde_json::from_str(&answer(false, false)).unwrap();
    let choice = &body["choices"][0];
    assert_eq!(
        choice["message"]["tool_calls"],
        json!([
            {"id": "c0", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}},
            {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls \"x\""}},
        ])
    );
    assert_eq!(choice["finish_reason"], "tool_calls");
    let deltas: Vec<Value> = frames(&answer(true, false))
        .iter()
        .filter_map(|frame| frame["choices"][0]["delta"]["tool_calls"].as_array().cloned())
        .flatten()
        .collect();
    assert_eq!(
        deltas,
        [
            json!({"index": 0, "id": "c0", "type": "function", "function": {"name": "f", "arguments": ""}}),
            json!({"index": 0, "function": {"arguments": "{\"a\""}}),
            json!({"index": 0, "function": {"arguments": ":1}"}}),
            json!({"index": 1, "id": "c1", "type": "custom", "custom": {"name": "shell", "input": ""}}),
            json!({"index": 1, "custom": {"input": "ls \"x\""}}),
        ]
    );
}

#[test]
fn older_clients_read_one_function_call() {
    let body: Value = serde_json::from_str(&answer(false, true)).unwrap();
    let choice = &body["choices"][0];
    assert_eq!(choice["message"]["function_call"], json!({"name": "f", "arguments": "{\"a\":1}"}));
    assert_eq!(choice["message"].get("tool_calls"), None);
    assert_eq!(choice["finish_reason"], "function_call");
    let frames = frames(&answer(true, true));
    let calls: Vec<&Value> = frames
        .iter()
        .filter_map(|frame| frame["choices"][0]["delta"].get("function_call"))
        .collect();
    assert_eq!(
        calls,
        [
            &json!({"name": "f", "arguments": ""}),
            &json!({"arguments": "{\"a\""}),
            &json!({"arguments": ":1}"}),
        ]
    );
}

#[test]
fn reasoning_is_counted() {
    let body: Value = serde_json::from_str(&answer(false, false)).unwrap();
    assert_eq!(body["usage"]["completion_tokens_details"], json!({"reasoning_tokens": 1}));
    let frames = frames(&answer(true, false));
    let usage = &frames.last().unwrap()["usage"];
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 1);
}
