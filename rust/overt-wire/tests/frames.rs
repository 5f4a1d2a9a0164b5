//! The frames as clients read them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panic")]

use overt_parse::Events;
use overt_wire::{ErrorBody, Finish, Head, Options, Protocol, StopReason, Usage, Writer, writer};
use serde_json::Value;

fn head() -> Head {
    Head {
        id: "chatcmpl-1".into(),
        created: 17,
        model: "m\"1".into(),
        fingerprint: String::new(),
        extra: String::new(),
    }
}

fn make(protocol: Protocol, stream: bool, include_usage: bool) -> Box<dyn Writer> {
    writer(protocol, stream, head(), Options { include_usage, ..Options::default() }, 1, 1)
}

fn events(fill: impl FnOnce(&mut Events)) -> Events {
    let mut events = Events::new();
    fill(&mut events);
    events
}

const USAGE: Usage =
    Usage { prompt_tokens: 3, completion_tokens: 4, cached_tokens: 2, reasoning_tokens: None };
const USAGE_JSON: &str = r#""usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":2}}"#;
const CHUNK: &str = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":17,"model":"m\"1","choices":["#;

/// One choice that thinks, speaks and calls, through `writer`.
fn converse(mut writer: Box<dyn Writer>) -> String {
    let mut out = Vec::new();
    writer.begin(0, &mut out);
    writer.events(0, &events(|e| e.reasoning("hm\n")), &[], &mut out);
    writer.events(0, &Events::new(), &[], &mut out);
    let both = events(|e| {
        e.text("It’s ");
        e.tool_start(0, "call_1", "f");
        e.tool_args(0, "{\"a\":");
    });
    writer.events(0, &both, &[], &mut out);
    writer.events(0, &events(|e| e.tool_args(0, "1}")), &[], &mut out);
    writer.events(0, &events(|e| e.tool_end(0)), &[], &mut out);
    writer.finish(0, Finish::ToolCalls, None, &mut out);
    writer.end(&USAGE, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_chat_stream_byte_for_byte() {
    for include_usage in [false, true] {
        let tail = if include_usage { "],\"usage\":null}\n\n" } else { "]}\n\n" };
        let deltas = [
            r#""role":"assistant","content":"""#,
            r#""reasoning_content":"hm\n","reasoning":"hm\n""#,
            r#""content":"It’s ""#,
            r#""tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}]"#,
            r#""tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]"#,
            r#""tool_calls":[{"index":0,"function":{"arguments":"1}"}}]"#,
        ];
        let mut expected = String::new();
        for delta in deltas {
            expected += &format!(
                r#"{CHUNK}{{"index":0,"delta":{{{delta}}},"logprobs":null,"finish_reason":null}}{tail}"#
            );
        }
        expected += &format!(
            r#"{CHUNK}{{"index":0,"delta":{{}},"logprobs":null,"finish_reason":"tool_calls","stop_reason":null}}{tail}"#
        );
        if include_usage {
            expected += &format!("{CHUNK}],{USAGE_JSON}}}\n\n");
        }
        expected += "data: [DONE]\n\n";
        assert_eq!(converse(make(Protocol::Chat, true, include_usage)), expected);
    }
}

#[test]
fn a_chat_answer_byte_for_byte() {
    let expected = format!(
        "{}{}{}{}{USAGE_JSON}}}",
        r#"{"id":"chatcmpl-1","object":"chat.completion","created":17,"model":"m\"1","choices":["#,
        r#"{"index":0,"message":{"role":"assistant","content":"It’s ","refusal":null,"tool_calls":"#,
        r#"[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}],"reasoning_content":"hm\n","reasoning":"hm\n"},"#,
        r#""logprobs":null,"finish_reason":"tool_calls","stop_reason":null}],"#,
    );
    assert_eq!(converse(make(Protocol::Chat, false, false)), expected);
}

#[test]
fn a_completion_stream_byte_for_byte() {
    let mut writer = make(Protocol::Completions, true, false);
    let mut out = Vec::new();
    writer.begin(0, &mut out);
    assert!(out.is_empty());
    writer.events(0, &events(|e| e.text("a")), &[], &mut out);
    writer.finish(0, Finish::Length, None, &mut out);
    writer.end(&USAGE, &mut out);
    let open = r#"data: {"id":"chatcmpl-1","object":"text_completion","created":17,"model":"m\"1","choices":[{"index":0,"text":"#;
    let expected = format!(
        "{open}\"a\",\"logprobs\":null,\"finish_reason\":null}}]}}\n\n{open}\"\",\"logprobs\":null,\"finish_reason\":\"length\",\"stop_reason\":null}}]}}\n\ndata: [DONE]\n\n"
    );
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

/// The JSON answer of a lone choice.
fn answer(protocol: Protocol, said: &Events, finish: Finish, reason: Option<&StopReason>) -> Value {
    let mut writer = make(protocol, false, false);
    let mut out = Vec::new();
    writer.begin(0, &mut out);
    writer.events(0, said, &[], &mut out);
    writer.finish(0, finish, reason, &mut out);
    assert!(out.is_empty(), "nothing before the end");
    writer.end(&USAGE, &mut out);
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn content_is_null_with_only_tool_calls_and_text_otherwise() {
    let calls = events(|e| e.tool_start(0, "id", "f"));
    let value = answer(Protocol::Chat, &calls, Finish::ToolCalls, None);
    assert_eq!(value["choices"][0]["message"]["content"], Value::Null);
    assert_eq!(value["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"], "");
    let value = answer(Protocol::Chat, &Events::new(), Finish::Stop, None);
    let message = value["choices"][0]["message"].as_object().unwrap();
    assert_eq!(message["content"], "");
    assert_eq!(message["refusal"], Value::Null);
    for absent in ["tool_calls", "reasoning", "reasoning_content", "annotations"] {
        assert!(!message.contains_key(absent), "{absent}");
    }
}

#[test]
fn a_length_is_not_overridden_by_tool_calls() {
    let calls = events(|e| e.tool_start(0, "id", "f"));
    let value = answer(Protocol::Chat, &calls, Finish::Length, None);
    assert_eq!(value["choices"][0]["finish_reason"], "length");
}

#[test]
fn stop_reasons_are_null_text_or_number() {
    for protocol in [Protocol::Chat, Protocol::Completions] {
        for (reason, expected) in [
            (None, Value::Null),
            (Some(StopReason::Text("\"\n".into())), Value::from("\"\n")),
            (Some(StopReason::Token(7)), Value::from(7)),
        ] {
            let value = answer(protocol, &Events::new(), Finish::Stop, reason.as_ref());
            assert_eq!(value["choices"][0]["stop_reason"], expected);
            assert_eq!(value["choices"][0]["finish_reason"], "stop");
        }
    }
}

#[test]
fn completions_know_no_tool_calls() {
    let said = events(|e| {
        e.reasoning("r");
        e.tool_start(0, "id", "f");
        e.tool_args(0, "{}");
    });
    let value = answer(Protocol::Completions, &said, Finish::ToolCalls, None);
    assert_eq!(value["choices"][0]["finish_reason"], "stop");
    assert_eq!(value["choices"][0]["text"], "r{}");
}

#[test]
fn the_fingerprint_is_there_when_known() {
    let head = Head { fingerprint: "fp\\1".into(), ..head() };
    for stream in [true, false] {
        let mut writer = writer(Protocol::Chat, stream, head.clone(), Options::default(), 1, 1);
        let mut out = Vec::new();
        writer.begin(0, &mut out);
        writer.finish(0, Finish::Stop, None, &mut out);
        writer.end(&USAGE, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains(r#""model":"m\"1","system_fingerprint":"fp\\1","choices""#),
            "{text}"
        );
    }
}

#[test]
fn errors_end_a_stream_and_are_the_body_elsewhere() {
    let error = ErrorBody {
        message: "gone".into(),
        kind: "server_error".into(),
        param: None,
        code: None,
        status: 500,
    };
    let body = r#"{"error":{"message":"gone","type":"server_error","param":null,"code":null}}"#;
    for protocol in [Protocol::Chat, Protocol::Completions] {
        let mut out = Vec::new();
        make(protocol, true, true).error(&error, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), format!("data: {body}\n\ndata: [DONE]\n\n"));
        let mut out = Vec::new();
        let mut json = make(protocol, false, true);
        json.events(0, &events(|e| e.text("half an answer")), &[], &mut out);
        json.error(&error, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), body);
    }
}

#[test]
fn choices_that_are_not_of_the_response_leave_nothing() {
    for protocol in [Protocol::Chat, Protocol::Completions] {
        for stream in [true, false] {
            let mut writer = make(protocol, stream, false);
            let mut out = Vec::new();
            writer.begin(1, &mut out);
            writer.events(1, &events(|e| e.text("x")), &[], &mut out);
            writer.finish(1, Finish::Stop, None, &mut out);
            assert!(out.is_empty());
            writer.end(&USAGE, &mut out);
            assert!(!String::from_utf8(out).unwrap().contains("\"x\""));
        }
    }
}
