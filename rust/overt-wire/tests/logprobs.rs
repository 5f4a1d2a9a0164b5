//! Log probabilities, prompts' and answers', and the selection of choices, as clients read them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panic")]

use overt_parse::Events;
use overt_wire::{
    Finish, Head, Options, PromptEntry, PromptToken, Protocol, TokenLogprobs, TokenText, Usage,
    Writer, writer,
};
use serde_json::{Value, json};

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

fn asked() -> Options {
    Options { logprobs: true, ..Options::default() }
}

fn token(text: &str, id: u32) -> TokenText {
    TokenText { text: text.into(), bytes: Some(text.as_bytes().to_vec()), id }
}

fn logprobs(text: &str, logprob: Option<f32>, offset: u64) -> TokenLogprobs {
    let top = logprob.map(|logprob| (token("x", 1), logprob - 1.0)).into_iter().collect();
    TokenLogprobs { token: token(text, 2), logprob, top, offset }
}

/// The choices of a stream's frames.
fn pieces(stream: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(stream).unwrap();
    let frames = text.split_terminator("\n\n").map(|frame| frame.strip_prefix("data: ").unwrap());
    frames
        .filter(|frame| *frame != "[DONE]")
        .map(|frame| {
            let frame: Value = serde_json::from_str(frame).unwrap();
            frame["choices"][0].clone()
        })
        .collect()
}

#[test]
fn the_first_frame_of_a_batch_carries_the_log_probabilities() {
    let entry = |text: &str| {
        json!({"token": text, "logprob": -0.5, "bytes": text.as_bytes(),
            "top_logprobs": [{"token": "x", "logprob": -1.5, "bytes": [120]}]})
    };
    let mut out = Vec::new();
    let mut writer = writer(Protocol::Chat, true, head(), asked(), 1, 1);
    writer.begin(0, &mut out);
    let both = events(|e| {
        e.text("a");
        e.tool_start(0, "id", "f");
    });
    let two = [logprobs("a", Some(-0.5), 0), logprobs("\"\n", Some(-0.5), 1)];
    writer.events(0, &both, &two, &mut out);
    writer.events(0, &events(|e| e.text("b")), &[], &mut out);
    // Nothing in these events makes a frame.
    writer.events(0, &events(|e| e.tool_end(0)), &two[1..], &mut out);
    writer.events(0, &Events::new(), &two[..1], &mut out);
    writer.events(0, &Events::new(), &[], &mut out);
    writer.finish(0, Finish::Stop, None, &mut out);
    let pieces = pieces(&out);
    let seen: Vec<_> =
        pieces.iter().map(|p| (p["delta"]["content"].clone(), p["logprobs"].clone())).collect();
    let list = |entries: &[Value]| json!({"content": entries, "refusal": null});
    assert_eq!(
        seen,
        [
            (json!(""), Value::Null),
            (json!("a"), list(&[entry("a"), entry("\"\n")])),
            (Value::Null, Value::Null),
            (json!("b"), Value::Null),
            (json!(""), list(&[entry("\"\n")])),
            (json!(""), list(&[entry("a")])),
            (Value::Null, Value::Null),
        ]
    );
}

#[test]
fn a_completion_stream_carries_the_four_lists() {
    let mut out = Vec::new();
    let mut writer = writer(Protocol::Completions, true, head(), asked(), 1, 1);
    writer.begin(0, &mut out);
    let two = [logprobs("a", None, 0), logprobs("b", Some(-0.5), 1)];
    writer.events(0, &events(|e| e.text("ab")), &two, &mut out);
    writer.events(0, &events(|e| e.tool_start(0, "id", "f")), &two[1..], &mut out);
    writer.finish(0, Finish::Stop, None, &mut out);
    let pieces = pieces(&out);
    assert_eq!(pieces.len(), 3);
    assert_eq!(pieces[0]["text"], "ab");
    assert_eq!(
        pieces[0]["logprobs"],
        json!({"text_offset": [0, 1], "token_logprobs": [null, -0.5], "tokens": ["a", "b"],
            "top_logprobs": [null, {"x": -1.5, "b": -0.5}]})
    );
    assert_eq!(pieces[1]["text"], "");
    assert_eq!(pieces[1]["logprobs"]["tokens"], json!(["b"]));
    assert_eq!(pieces[2]["finish_reason"], "stop");
    assert_eq!(pieces[2]["logprobs"], Value::Null);
}

#[test]
fn bodies_have_all_log_probabilities_or_none() {
    for (options, chat, completion) in [
        (Options::default(), Value::Null, Value::Null),
        (
            asked(),
            json!({"content": [], "refusal": null}),
            json!({"text_offset": [], "token_logprobs": [], "tokens": [], "top_logprobs": []}),
        ),
    ] {
        for (protocol, empty, list) in
            [(Protocol::Chat, chat, "content"), (Protocol::Completions, completion, "tokens")]
        {
            let mut body = Vec::new();
            writer(protocol, false, head(), options, 1, 1).end(&USAGE, &mut body);
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["choices"][0]["logprobs"], empty);

            let mut writer = writer(protocol, false, head(), options, 1, 1);
            let mut body = Vec::new();
            writer.events(0, &Events::new(), &[logprobs("a", Some(-1.0), 0)], &mut body);
            writer.events(0, &events(|e| e.text("ab")), &[logprobs("b", Some(-1.0), 1)], &mut body);
            writer.end(&USAGE, &mut body);
            let body: Value = serde_json::from_slice(&body).unwrap();
            let tokens = body["choices"][0]["logprobs"][list].as_array().map(Vec::len);
            assert_eq!(tokens, options.logprobs.then_some(2));
        }
    }
}

#[test]
fn without_being_asked_a_stream_writes_no_log_probabilities() {
    for protocol in [Protocol::Chat, Protocol::Completions] {
        let written = |logprobs: &[TokenLogprobs]| {
            let mut out = Vec::new();
            let mut writer = make(protocol, true, false);
            writer.events(0, &events(|e| e.text("a")), logprobs, &mut out);
            writer.events(0, &Events::new(), logprobs, &mut out);
            out
        };
        assert_eq!(written(&[logprobs("a", Some(-1.0), 0)]), written(&[]));
    }
}

#[test]
fn a_selection_is_written_in_its_order_and_numbered_anew() {
    for protocol in [Protocol::Chat, Protocol::Completions] {
        for stream in [true, false] {
            let run = |order: Option<&[u32]>| {
                let mut writer = writer(protocol, stream, head(), asked(), 4, 2);
                let mut out = Vec::new();
                for choice in 0..4 {
                    let said = choice.to_string();
                    writer.events(choice, &events(|e| e.text(&said)), &[], &mut out);
                    writer.prompt_logprobs(choice / 2, &prompt(choice / 2), &mut out);
                    writer.finish(choice, Finish::Stop, None, &mut out);
                }
                if let Some(order) = order {
                    writer.select(order);
                }
                writer.end(&USAGE, &mut out);
                out
            };
            // A choice that the response has not is passed over.
            let chosen = run(Some(&[3, 9, 1]));
            if stream {
                assert_eq!(chosen, run(None));
                assert!(!String::from_utf8(chosen).unwrap().contains("prompt_logprobs"));
                continue;
            }
            let body: Value = serde_json::from_slice(&chosen).unwrap();
            let choices = body["choices"].as_array().unwrap();
            let said: Vec<_> = choices
                .iter()
                .map(|c| (&c["index"], c.get("text").unwrap_or(&c["message"]["content"])))
                .collect();
            assert_eq!(said, [(&json!(0), &json!("3")), (&json!(1), &json!("1"))]);
            if protocol == Protocol::Completions {
                // By the prompt that the choice continued, not by its new number.
                assert_eq!(choices[0]["prompt_logprobs"][1]["11"]["rank"], 2);
                assert_eq!(choices[1]["prompt_logprobs"][1]["10"]["rank"], 2);
            }
            let none: Value = serde_json::from_slice(&run(Some(&[]))).unwrap();
            assert_eq!(none["choices"], json!([]));
        }
    }
}

fn prompt(number: u32) -> [PromptToken; 2] {
    let entry = PromptEntry { id: 10 + number, text: "a\"".into(), logprob: -0.5, rank: 2 };
    [PromptToken::default(), PromptToken { entries: vec![entry] }]
}

#[test]
fn prompt_log_probabilities_stand_where_clients_look() {
    let mut chat = make(Protocol::Chat, false, false);
    let mut out = Vec::new();
    chat.prompt_logprobs(0, &prompt(0), &mut out);
    chat.prompt_logprobs(1, &prompt(1), &mut out);
    assert!(out.is_empty());
    chat.end(&USAGE, &mut out);
    let expected = json!([null, {"10": {"logprob": -0.5, "rank": 2, "decoded_token": "a\""}}]);
    let body: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(body["prompt_logprobs"], expected);

    let mut completions = writer(Protocol::Completions, false, head(), Options::default(), 4, 2);
    let mut out = Vec::new();
    completions.prompt_logprobs(1, &prompt(0), &mut out);
    completions.prompt_logprobs(2, &prompt(0), &mut out);
    completions.prompt_logprobs(u32::MAX, &prompt(0), &mut out);
    completions.end(&USAGE, &mut out);
    let body: Value = serde_json::from_slice(&out).unwrap();
    assert!(body.get("prompt_logprobs").is_none());
    let of_choices: Vec<_> =
        (0..4).map(|choice| body["choices"][choice].get("prompt_logprobs")).collect();
    assert_eq!(of_choices, [None, None, Some(&expected), Some(&expected)]);
}
