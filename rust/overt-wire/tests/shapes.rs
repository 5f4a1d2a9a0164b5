//! The bytes of each server's shape.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panic")]

use overt_parse::Events;
use overt_wire::{
    ErrorBody, ErrorShape, Finish, Head, Options, Protocol, ReasoningField, Shape, StopField,
    StopReason, TokenLogprobs, TokenText, Usage, error_body, writer,
};
use serde_json::{Value, json};

fn shaped(protocol: Protocol, stream: bool, shape: Shape) -> Box<dyn overt_wire::Writer> {
    let (id, model) = ("i".into(), "m".into());
    let head = Head { id, created: 1, model, fingerprint: String::new(), extra: String::new() };
    writer(
        protocol,
        stream,
        head,
        Options { shape, include_usage: true, ..Options::default() },
        1,
        1,
    )
}

/// One choice that thinks and calls, or speaks, and meets a stop token.
fn answer(protocol: Protocol, stream: bool, shape: Shape) -> String {
    let mut writer = shaped(protocol, stream, shape);
    let mut out = Vec::new();
    let mut events = Events::new();
    writer.begin(0, &mut out);
    if protocol == Protocol::Chat {
        events.reasoning("hm");
        events.tool_start(0, "c", "f");
        events.tool_end(0);
    } else {
        events.text("a");
    }
    writer.events(0, &events, &[], &mut out);
    writer.finish(0, Finish::ToolCalls, Some(&StopReason::Token(5)), &mut out);
    let usage =
        Usage { prompt_tokens: 3, completion_tokens: 4, cached_tokens: 2, reasoning_tokens: None };
    writer.end(&usage, &mut out);
    String::from_utf8(out).unwrap()
}

const COUNTS: &str = r#""usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7"#;
const CACHED: &str = r#","prompt_tokens_details":{"cached_tokens":2}"#;

/// Shapes of servers, with what of the bytes they decide: content, reasoning, stop, cached.
fn shapes() -> [(Shape, &'static str, &'static str, &'static str, &'static str); 4] {
    let shape = |stop, reasoning, cached_tokens, empty_content| Shape {
        stop,
        reasoning,
        cached_tokens,
        empty_content,
        errors: ErrorShape::OpenAi,
    };
    let (stop, matched) = (r#","stop_reason":5"#, r#","matched_stop":5"#);
    let both = r#""reasoning_content":"hm","reasoning":"hm""#;
    [
        (Shape::default(), "null", both, stop, CACHED),
        (
            shape(StopField::StopReason, ReasoningField::Reasoning, false, false),
            "null",
            r#""reasoning":"hm""#,
            stop,
            "",
        ),
        (
            shape(StopField::MatchedStop, ReasoningField::ReasoningContent, false, true),
            "\"\"",
            r#""reasoning_content":"hm""#,
            matched,
            "",
        ),
        (shape(StopField::None, ReasoningField::None, true, false), "null", "", "", CACHED),
    ]
}

#[test]
fn a_chat_body_byte_for_byte() {
    for (shape, content, reasoning, stop, cached) in shapes() {
        let comma = if reasoning.is_empty() { "" } else { "," };
        assert_eq!(
            answer(Protocol::Chat, false, shape),
            format!(
                r#"{{"id":"i","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":{content},"refusal":null,"tool_calls":[{{"id":"c","type":"function","function":{{"name":"f","arguments":""}}}}]{comma}{reasoning}}},"logprobs":null,"finish_reason":"tool_calls"{stop}}}],{COUNTS}{cached}}}}}"#
            )
        );
    }
}

#[test]
fn a_chat_stream_byte_for_byte() {
    for (shape, _, reasoning, stop, cached) in shapes() {
        let open = r#"data: {"id":"i","object":"chat.completion.chunk","created":1,"model":"m","choices":["#;
        let frame = |delta: &str, end: &str| {
            format!(
                "{open}{{\"index\":0,\"delta\":{{{delta}}},\"logprobs\":null,\"finish_reason\":{end}}}],\"usage\":null}}\n\n"
            )
        };
        let mut expected = frame(r#""role":"assistant","content":"""#, "null");
        if !reasoning.is_empty() {
            expected += &frame(reasoning, "null");
        }
        let call = r#""tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]"#;
        expected += &frame(call, "null");
        expected += &frame("", &format!("\"tool_calls\"{stop}"));
        expected += &format!("{open}],{COUNTS}{cached}}}}}\n\ndata: [DONE]\n\n");
        assert_eq!(answer(Protocol::Chat, true, shape), expected);
    }
}

#[test]
fn completions_byte_for_byte() {
    for (shape, _, _, stop, cached) in shapes() {
        let open = r#"{"id":"i","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"#;
        let end = format!(r#","logprobs":null,"finish_reason":"stop"{stop}}}]"#);
        assert_eq!(
            answer(Protocol::Completions, false, shape),
            format!("{open}\"a\"{end},{COUNTS}{cached}}}}}")
        );
        let stream = answer(Protocol::Completions, true, shape);
        let finish = format!("data: {open}\"\"{end},\"usage\":null}}");
        assert_eq!(stream.split("\n\n").nth(1), Some(finish.as_str()));
    }
}

#[test]
fn a_choice_without_an_end_has_null_in_its_fields() {
    for (stop, present) in [
        (StopField::StopReason, Some("stop_reason")),
        (StopField::MatchedStop, Some("matched_stop")),
        (StopField::None, None),
    ] {
        for protocol in [Protocol::Chat, Protocol::Completions] {
            let mut out = Vec::new();
            shaped(protocol, false, Shape { stop, ..Shape::default() })
                .end(&Usage::default(), &mut out);
            let body: Value = serde_json::from_slice(&out).unwrap();
            let choice = body["choices"][0].as_object().unwrap();
            assert_eq!(choice["finish_reason"], Value::Null);
            for field in ["stop_reason", "matched_stop"] {
                let expected = (present == Some(field)).then_some(&Value::Null);
                assert_eq!(choice.get(field), expected);
            }
        }
    }
}

/// What is not delivered cannot be read from its tokens either; completions deliver all they said.
#[test]
fn hidden_reasoning_takes_its_tokens_along() {
    let shape = Shape { reasoning: ReasoningField::None, ..Shape::default() };
    let options = Options { logprobs: true, token_ids: true, shape, ..Options::default() };
    let entry = |text: &str| TokenLogprobs {
        token: TokenText { text: text.into(), bytes: None, id: 1 },
        logprob: Some(-1.0),
        top: vec![],
        offset: 0,
    };
    for (protocol, told) in [(Protocol::Chat, false), (Protocol::Completions, true)] {
        for stream in [true, false] {
            let head = Head {
                id: "i".into(),
                created: 1,
                model: "m".into(),
                fingerprint: String::new(),
                extra: String::new(),
            };
            let mut writer = writer(protocol, stream, head, options, 1, 1);
            let mut out = Vec::new();
            let mut events = Events::new();
            events.reasoning("SECRET");
            writer.tokens(0, &[77_777]);
            writer.events(0, &events, &[entry("SECRET")], &mut out);
            events.clear();
            events.text("said");
            writer.tokens(0, &[88_888]);
            writer.events(0, &events, &[entry("said")], &mut out);
            writer.finish(0, Finish::Stop, None, &mut out);
            writer.end(&Usage::default(), &mut out);
            let out = String::from_utf8(out).unwrap();
            for secret in ["SECRET", "77777"] {
                assert_eq!(out.contains(secret), told, "{out}");
            }
            assert!(out.contains("\"said\"") && out.contains("88888"), "{out}");
        }
    }
}

fn error(status: u16) -> ErrorBody {
    ErrorBody {
        message: "no \"such\" model".into(),
        kind: "invalid_request_error".into(),
        param: Some("model".into()),
        code: Some("model_not_found".into()),
        status,
    }
}

fn error_frame(error: &ErrorBody, errors: ErrorShape) -> Value {
    let mut frames = Vec::new();
    for protocol in [Protocol::Chat, Protocol::Completions] {
        let mut out = Vec::new();
        let shape = Shape { errors, ..Shape::default() };
        shaped(protocol, true, shape).error(error, &mut out);
        frames.push(String::from_utf8(out).unwrap());
        let mut body = Vec::new();
        shaped(protocol, false, shape).error(error, &mut body);
        assert_eq!(body, error_body(error, errors));
    }
    assert_eq!(frames[0], frames[1]);
    let frame = frames[0].strip_suffix("\n\ndata: [DONE]\n\n").unwrap();
    serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap()
}

#[test]
fn errors_byte_for_byte() {
    let mut error = error(404);
    for (shape, expected) in [
        (
            ErrorShape::OpenAi,
            r#"{"error":{"message":"no \"such\" model","type":"invalid_request_error","param":"model","code":"model_not_found"}}"#,
        ),
        (
            ErrorShape::Vllm,
            r#"{"error":{"message":"no \"such\" model","type":"NotFoundError","param":"model","code":404}}"#,
        ),
        (
            ErrorShape::SgLang,
            r#"{"object":"error","message":"no \"such\" model","type":"404","param":"model","code":404}"#,
        ),
    ] {
        assert_eq!(String::from_utf8(error_body(&error, shape)).unwrap(), expected);
    }
    (error.param, error.code) = (None, None);
    for (shape, expected) in [
        (
            ErrorShape::OpenAi,
            r#"{"error":{"message":"no \"such\" model","type":"invalid_request_error","param":null,"code":null}}"#,
        ),
        (
            ErrorShape::Vllm,
            r#"{"error":{"message":"no \"such\" model","type":"NotFoundError","param":null,"code":404}}"#,
        ),
        (
            ErrorShape::SgLang,
            r#"{"object":"error","message":"no \"such\" model","type":"404","param":null,"code":404}"#,
        ),
    ] {
        assert_eq!(String::from_utf8(error_body(&error, shape)).unwrap(), expected);
    }
}

#[test]
fn types_follow_the_status() {
    for (status, vllm, sglang, frame) in [
        (400, "BadRequestError", "BadRequestError", "BAD_REQUEST"),
        (401, "AuthenticationError", "401", "BAD_REQUEST"),
        (403, "PermissionDeniedError", "403", "BAD_REQUEST"),
        (404, "NotFoundError", "404", "BAD_REQUEST"),
        (413, "BadRequestError", "413", "BAD_REQUEST"),
        (422, "UnprocessableEntityError", "422", "BAD_REQUEST"),
        (429, "RateLimitError", "429", "TOO_MANY_REQUESTS"),
        (500, "InternalServerError", "InternalServerError", "INTERNAL_SERVER_ERROR"),
        (501, "NotImplementedError", "NotImplementedError", "INTERNAL_SERVER_ERROR"),
        (503, "ServiceUnavailableError", "503", "SERVICE_UNAVAILABLE"),
        (504, "InternalServerError", "504", "INTERNAL_SERVER_ERROR"),
        (0, "InternalServerError", "0", "INTERNAL_SERVER_ERROR"),
    ] {
        let error = error(status);
        let body = |shape| -> Value { serde_json::from_slice(&error_body(&error, shape)).unwrap() };
        let inside = |kind: &str| json!({"message": error.message, "type": kind, "param": "model", "code": status});
        let expected = json!({"error": inside(vllm)});
        assert_eq!(body(ErrorShape::Vllm), expected);
        assert_eq!(error_frame(&error, ErrorShape::Vllm), expected);

        let mut flat = inside(sglang);
        flat["object"] = json!("error");
        assert_eq!(body(ErrorShape::SgLang), flat);
        flat["type"] = json!(frame);
        assert_eq!(error_frame(&error, ErrorShape::SgLang), json!({"error": flat}));
        assert_eq!(error_frame(&error, ErrorShape::OpenAi), body(ErrorShape::OpenAi));
    }
}
