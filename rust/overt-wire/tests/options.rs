//! The bytes of each option of a request.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panic")]

use overt_parse::Events;
use overt_wire::{ErrorBody, Finish, Head, Options, Protocol, Usage, Writer, writer};
use serde_json::{Value, json};

fn head(extra: &str) -> Head {
    let (id, fingerprint) = ("i".into(), String::new());
    Head { id, created: 1, model: "m".into(), fingerprint, extra: extra.into() }
}

fn text(said: &str) -> Events {
    let mut events = Events::new();
    events.text(said);
    events
}

fn usage(completion_tokens: u64) -> Usage {
    Usage { prompt_tokens: 3, completion_tokens, cached_tokens: 2, reasoning_tokens: None }
}

fn counts(made: u64) -> String {
    format!(
        r#""usage":{{"prompt_tokens":3,"completion_tokens":{made},"total_tokens":{},"prompt_tokens_details":{{"cached_tokens":2}}}}"#,
        made + 3
    )
}

const CHAT: &str =
    r#"data: {"id":"i","object":"chat.completion.chunk","created":1,"model":"m","choices":["#;
const TEXT: &str =
    r#"data: {"id":"i","object":"text_completion","created":1,"model":"m","choices":["#;
const DONE: &str = "data: [DONE]\n\n";

/// One choice of three tokens, of which the second says nothing yet.
fn told(mut writer: Box<dyn Writer>) -> String {
    let mut out = Vec::new();
    writer.prompt_tokens(0, &[7, 8, 9]);
    writer.usage(&usage(1));
    writer.tokens(0, &[10]);
    writer.begin(0, &mut out);
    writer.events(0, &text("a"), &[], &mut out);
    writer.usage(&usage(2));
    writer.tokens(0, &[11]);
    writer.events(0, &Events::new(), &[], &mut out);
    writer.usage(&usage(3));
    writer.tokens(0, &[12]);
    writer.events(0, &text("b"), &[], &mut out);
    writer.tokens(0, &[13]);
    writer.finish(0, Finish::Stop, None, &mut out);
    writer.end(&usage(4), &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn counts_on_every_frame() {
    for include_usage in [false, true] {
        let options = Options { include_usage, continuous_usage: true, ..Options::default() };
        let (one, three, four) = (counts(1), counts(3), counts(4));
        let last = if include_usage { format!("{CHAT}],{four}}}\n\n") } else { String::new() };
        let choice = r#"{"index":0,"delta":{"#;
        let more = r#"},"logprobs":null,"finish_reason":null}]"#;
        let end = r#"},"logprobs":null,"finish_reason":"stop","stop_reason":null}]"#;
        assert_eq!(
            told(writer(Protocol::Chat, true, head(""), options, 1, 1)),
            format!(
                "{CHAT}{choice}\"role\":\"assistant\",\"content\":\"\"{more},{one}}}\n\n\
                 {CHAT}{choice}\"content\":\"a\"{more},{one}}}\n\n\
                 {CHAT}{choice}\"content\":\"b\"{more},{three}}}\n\n\
                 {CHAT}{choice}{end},{three}}}\n\n{last}{DONE}"
            )
        );
        let last = if include_usage { format!("{TEXT}],{four}}}\n\n") } else { String::new() };
        let choice = r#"{"index":0,"text":"#;
        let more = r#","logprobs":null,"finish_reason":null}]"#;
        let end = r#","logprobs":null,"finish_reason":"stop","stop_reason":null}]"#;
        assert_eq!(
            told(writer(Protocol::Completions, true, head(""), options, 1, 1)),
            format!(
                "{TEXT}{choice}\"a\"{more},{one}}}\n\n{TEXT}{choice}\"b\"{more},{three}}}\n\n\
                 {TEXT}{choice}\"\"{end},{three}}}\n\n{last}{DONE}"
            )
        );
    }
}

#[test]
fn ids_stand_beside_what_the_tokens_said() {
    let options = Options { token_ids: true, ..Options::default() };
    let choice = r#"{"index":0,"delta":{"#;
    let more = r#"},"logprobs":null,"finish_reason":null"#;
    let end = r#"},"logprobs":null,"finish_reason":"stop","stop_reason":null"#;
    assert_eq!(
        told(writer(Protocol::Chat, true, head(""), options, 1, 1)),
        format!(
            "{CHAT}{choice}\"role\":\"assistant\",\"content\":\"\"{more}}}],\"prompt_token_ids\":[7,8,9]}}\n\n\
             {CHAT}{choice}\"content\":\"a\"{more},\"token_ids\":[10]}}]}}\n\n\
             {CHAT}{choice}\"content\":\"b\"{more},\"token_ids\":[11,12]}}]}}\n\n\
             {CHAT}{choice}{end},\"token_ids\":[13]}}]}}\n\n{DONE}"
        )
    );
    let choice = r#"{"index":0,"text":"#;
    let more = r#","logprobs":null,"finish_reason":null"#;
    let end = r#","logprobs":null,"finish_reason":"stop","stop_reason":null"#;
    assert_eq!(
        told(writer(Protocol::Completions, true, head(""), options, 1, 1)),
        format!(
            "{TEXT}{choice}\"a\"{more},\"prompt_token_ids\":[7,8,9],\"token_ids\":[10]}}]}}\n\n\
             {TEXT}{choice}\"b\"{more},\"token_ids\":[11,12]}}]}}\n\n\
             {TEXT}{choice}\"\"{end},\"token_ids\":[13]}}]}}\n\n{DONE}"
        )
    );
    let usage = counts(4);
    assert_eq!(
        told(writer(Protocol::Chat, false, head(""), options, 1, 1)),
        format!(
            r#"{{"id":"i","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"ab","refusal":null}},"logprobs":null,"finish_reason":"stop","stop_reason":null,"token_ids":[10,11,12,13]}}],{usage},"prompt_token_ids":[7,8,9]}}"#
        )
    );
    assert_eq!(
        told(writer(Protocol::Completions, false, head(""), options, 1, 1)),
        format!(
            r#"{{"id":"i","object":"text_completion","created":1,"model":"m","choices":[{{"index":0,"text":"ab","logprobs":null,"finish_reason":"stop","stop_reason":null,"prompt_token_ids":[7,8,9],"token_ids":[10,11,12,13]}}],{usage}}}"#
        )
    );
}

#[test]
fn unasked_nothing_told_is_written() {
    for protocol in [Protocol::Chat, Protocol::Completions] {
        for stream in [true, false] {
            let out = told(writer(protocol, stream, head(""), Options::default(), 1, 1));
            assert!(!out.contains("token_ids") && !out.contains("obfuscation"), "{out}");
            assert_eq!(out.contains("usage"), !stream, "{out}");
        }
    }
}

#[test]
fn completions_tell_every_choice_its_prompt() {
    let options = Options { token_ids: true, ..Options::default() };
    for stream in [true, false] {
        let mut writer = writer(Protocol::Completions, stream, head(""), options, 4, 2);
        let mut out = Vec::new();
        for (prompt, id) in [(0, 5), (1, 6), (2, 7), (u32::MAX, 8)] {
            writer.prompt_tokens(prompt, &[id]);
        }
        writer.tokens(9, &[1]);
        for choice in 0..4 {
            writer.events(choice, &text("a"), &[], &mut out);
            writer.finish(choice, Finish::Stop, None, &mut out);
        }
        writer.select(&[3, 0]);
        writer.end(&usage(4), &mut out);
        let out = String::from_utf8(out).unwrap();
        if !stream {
            let body: Value = serde_json::from_str(&out).unwrap();
            assert_eq!(body["choices"][0]["prompt_token_ids"], json!([6]));
            assert_eq!(body["choices"][1]["prompt_token_ids"], json!([5]));
            assert_eq!(body["choices"][1]["token_ids"], json!([]));
            continue;
        }
        let frames = out.lines().filter_map(|line| line.strip_prefix("data: {"));
        let ids = frames.map(|frame| {
            let frame: Value = serde_json::from_str(&format!("{{{frame}")).unwrap();
            assert_eq!(frame["choices"][0].get("token_ids"), None);
            frame["choices"][0].get("prompt_token_ids").map(|ids| ids[0].as_u64().unwrap())
        });
        let both = |id| [Some(id), None, Some(id), None];
        assert_eq!(ids.collect::<Vec<_>>(), [both(5), both(6)].concat());
    }
}

#[test]
fn padding_is_the_last_member_and_different_each_time() {
    let options = Options { include_usage: true, obfuscation: true, ..Options::default() };
    for protocol in [Protocol::Chat, Protocol::Completions] {
        let made = || told(writer(protocol, true, head("\"x\":1"), options, 1, 1));
        let (one, other) = (made(), made());
        assert_ne!(one, other);
        let first = one.split_once("\n\n").unwrap().0;
        assert!(first.contains("],\"usage\":null,\"x\":1,\"obfuscation\":\""), "{first}");
        assert_eq!(
            one.matches("obfuscation").count(),
            if protocol == Protocol::Chat { 4 } else { 3 }
        );
        // Neither the usage frame nor a body nor an error is padded.
        assert!(one.ends_with(&format!("\"choices\":[],{}}}\n\n{DONE}", counts(4))));
        let body = told(writer(protocol, false, head(""), options, 1, 1));
        assert!(!body.contains("obfuscation"));
        let (message, kind) = ("gone".into(), "server_error".into());
        let error = ErrorBody { message, kind, param: None, code: None, status: 500 };
        let mut out = Vec::new();
        writer(protocol, true, head(""), options, 1, 1).error(&error, &mut out);
        assert!(!String::from_utf8(out).unwrap().contains("obfuscation"));
    }
}

#[test]
fn further_members_stand_once() {
    let extra = r#""service_tier":"default","x":{"y":[]}"#;
    for protocol in [Protocol::Chat, Protocol::Completions] {
        for include_usage in [false, true] {
            let options = Options { include_usage, ..Options::default() };
            let stream = told(writer(protocol, true, head(extra), options, 1, 1));
            let null = if include_usage { ",\"usage\":null" } else { "" };
            let first = stream.split_once("\n\n").unwrap().0;
            assert!(first.ends_with(&format!("}}]{null},{extra}}}")), "{first}");
            assert_eq!(stream.matches(extra).count(), 1);
            let body = told(writer(protocol, false, head(extra), options, 1, 1));
            assert!(body.ends_with(&format!("}}],{},{extra}}}", counts(4))), "{body}");
        }
        // A stream whose first frame is its last.
        let options = Options { include_usage: true, ..Options::default() };
        let mut out = Vec::new();
        writer(protocol, true, head(extra), options, 0, 1).end(&usage(0), &mut out);
        let out = String::from_utf8(out).unwrap();
        assert!(out.ends_with(&format!("\"choices\":[],{},{extra}}}\n\n{DONE}", counts(0))));
    }
}
