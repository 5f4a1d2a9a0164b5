//! What holds for every sequence of events.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panic")]

use overt_parse::Events;
use overt_wire::{Finish, Head, Options, Protocol, StopReason, Usage, chunk, writer};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// What a choice says in one step.
#[derive(Debug, Clone)]
enum Say {
    Text(String),
    Reasoning(String),
    /// A call with its arguments in fragments.
    Call(String, Vec<String>),
}

#[derive(Debug, Clone)]
struct Step {
    choice: u32,
    says: Vec<Say>,
}

const CHOICES: u32 = 3;

fn say() -> impl Strategy<Value = Say> {
    prop_oneof![
        any::<String>().prop_map(Say::Text),
        any::<String>().prop_map(Say::Reasoning),
        (any::<String>(), prop::collection::vec(any::<String>(), 0..4))
            .prop_map(|(name, args)| Say::Call(name, args)),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..CHOICES, prop::collection::vec(say(), 0..4))
        .prop_map(|(choice, says)| Step { choice, says });
    prop::collection::vec(step, 0..12)
}

fn ending() -> impl Strategy<Value = (Finish, Option<StopReason>)> {
    let finish = prop_oneof![Just(Finish::Stop), Just(Finish::Length), Just(Finish::ToolCalls)];
    let reason = prop_oneof![
        Just(None),
        any::<String>().prop_map(|text| Some(StopReason::Text(text))),
        any::<u32>().prop_map(|id| Some(StopReason::Token(id))),
    ];
    (finish, reason)
}

/// The bytes of a response in which every choice says its steps and ends, in reverse order.
fn run(
    protocol: Protocol,
    stream: bool,
    include_usage: bool,
    model: &str,
    steps: &[Step],
    ends: &[(Finish, Option<StopReason>)],
) -> Vec<u8> {
    let head =
        Head { id: "id-1".into(), created: 5, model: model.into(), fingerprint: "fp".into() };
    let mut writer = writer(protocol, stream, head, Options { include_usage }, CHOICES);
    let mut out = Vec::new();
    let mut events = Events::new();
    let mut calls = vec![0; CHOICES as usize];
    for choice in 0..CHOICES {
        writer.begin(choice, &mut out);
    }
    for step in steps {
        events.clear();
        let calls = &mut calls[step.choice as usize];
        for say in &step.says {
            match say {
                Say::Text(text) => events.text(text),
                Say::Reasoning(text) => events.reasoning(text),
                Say::Call(name, args) => {
                    events.tool_start(*calls, &format!("call-{}-{calls}", step.choice), name);
                    args.iter().for_each(|text| events.tool_args(*calls, text));
                    events.tool_end(*calls);
                    *calls += 1;
                }
            }
        }
        writer.events(step.choice, &events, &mut out);
    }
    for choice in (0..CHOICES).rev() {
        let (finish, reason) = &ends[choice as usize];
        writer.finish(choice, *finish, reason.as_ref(), &mut out);
    }
    writer.end(&Usage { prompt_tokens: 1, completion_tokens: 2, cached_tokens: 0 }, &mut out);
    out
}

/// The frames of a stream; its framing must hold.
fn frames(stream: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(stream).unwrap();
    let text = text.strip_suffix("data: [DONE]\n\n").expect("[DONE] last");
    let mut frames = Vec::new();
    for frame in text.split_terminator("\n\n") {
        assert_eq!(frame.lines().count(), 1);
        frames.push(serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap());
    }
    frames
}

fn append(object: &mut Map<String, Value>, key: &str, text: &Value) {
    let text = text.as_str().unwrap();
    match object.entry(key).or_insert(json!("")) {
        Value::String(so_far) => so_far.push_str(text),
        other => panic!("{key} is {other}"),
    }
}

/// Joins a stream's frames as a client does, into the shape of the JSON answer.
fn join(protocol: Protocol, frames: &[Value], include_usage: bool) -> Value {
    let mut choices = vec![Map::new(); CHOICES as usize];
    let mut usage = Value::Null;
    for frame in frames {
        assert_eq!(frame["id"], "id-1");
        assert_eq!(frame.get("usage").is_some(), include_usage);
        if frame["choices"] == json!([]) {
            usage = frame["usage"].clone();
            continue;
        }
        let [piece] = frame["choices"].as_array().unwrap().as_slice() else { panic!("{frame}") };
        assert_eq!(piece["logprobs"], Value::Null);
        let choice = &mut choices[usize::try_from(piece["index"].as_u64().unwrap()).unwrap()];
        assert!(!choice.contains_key("finish_reason"), "a frame after the finish frame: {frame}");
        if !piece["finish_reason"].is_null() {
            choice.insert("finish_reason".into(), piece["finish_reason"].clone());
            choice.insert("stop_reason".into(), piece["stop_reason"].clone());
        }
        if protocol == Protocol::Completions {
            append(choice, "text", &piece["text"]);
            continue;
        }
        let message = choice.entry("message").or_insert(json!({})).as_object_mut().unwrap();
        for (key, value) in piece["delta"].as_object().unwrap() {
            match key.as_str() {
                "role" => {
                    assert!(message.insert("role".into(), value.clone()).is_none());
                }
                "content" | "reasoning" | "reasoning_content" => append(message, key, value),
                "tool_calls" => {
                    let [call] = value.as_array().unwrap().as_slice() else { panic!("{frame}") };
                    let calls = message.entry("tool_calls").or_insert(json!([]));
                    let calls = calls.as_array_mut().unwrap();
                    let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
                    if let Some(id) = call.get("id") {
                        assert_eq!(index, calls.len());
                        let name = &call["function"]["name"];
                        calls.push(json!({"id": id, "type": call["type"],
                            "function": {"name": name, "arguments": ""}}));
                    }
                    let function = calls[index]["function"].as_object_mut().unwrap();
                    append(function, "arguments", &call["function"]["arguments"]);
                }
                other => panic!("{other}"),
            }
        }
    }
    for (index, choice) in choices.iter_mut().enumerate() {
        choice.insert("index".into(), json!(index));
        choice.insert("logprobs".into(), Value::Null);
        if let Some(Value::Object(message)) = choice.get_mut("message") {
            message.insert("refusal".into(), Value::Null);
            if message["content"] == "" && message.contains_key("tool_calls") {
                message["content"] = Value::Null;
            }
        }
    }
    json!({"choices": choices, "usage": usage})
}

fn chats() -> impl Strategy<Value = Protocol> {
    prop_oneof![Just(Protocol::Chat), Just(Protocol::Completions)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_joined_stream_is_the_answer(
        protocol in chats(),
        model in any::<String>(),
        steps in steps(),
        ends in prop::collection::vec(ending(), CHOICES as usize),
    ) {
        let stream = run(protocol, true, true, &model, &steps, &ends);
        let joined = join(protocol, &frames(&stream), true);
        let body = run(protocol, false, true, &model, &steps, &ends);
        let answer: Value = serde_json::from_slice(&body).unwrap();
        prop_assert_eq!(&joined["choices"], &answer["choices"]);
        prop_assert_eq!(&joined["usage"], &answer["usage"]);
        prop_assert_eq!(&answer["model"], &model);
    }

    #[test]
    fn without_usage_no_frame_names_it(
        protocol in chats(),
        steps in steps(),
        ends in prop::collection::vec(ending(), CHOICES as usize),
    ) {
        let frames = frames(&run(protocol, true, false, "m", &steps, &ends));
        let joined = join(protocol, &frames, false);
        prop_assert_eq!(&joined["usage"], &Value::Null);
        let finishes = frames.iter().filter(|f| !f["choices"][0]["finish_reason"].is_null()).count();
        prop_assert_eq!(finishes, CHOICES as usize);
    }

    /// Parsers never say these, but bytes must be valid whatever is said.
    #[test]
    fn calls_out_of_order_are_valid_json(
        order in prop::collection::vec((0..3u8, 0..4u32, any::<String>()), 0..12),
    ) {
        let mut events = Events::new();
        for (kind, index, text) in &order {
            match kind {
                0 => events.tool_start(*index, text, text),
                1 => events.tool_args(*index, text),
                _ => events.tool_end(*index),
            }
        }
        for protocol in [Protocol::Chat, Protocol::Completions] {
            for stream in [true, false] {
                let head = Head { id: "i".into(), created: 0, model: "m".into(), fingerprint: "".into() };
                let mut writer = writer(protocol, stream, head, Options::default(), 1);
                let mut out = Vec::new();
                writer.events(0, &events, &mut out);
                writer.end(&Usage::default(), &mut out);
                if stream {
                    frames(&out);
                } else {
                    let answer: Value = serde_json::from_slice(&out).unwrap();
                    prop_assert!(answer["choices"][0]["finish_reason"].is_null());
                }
            }
        }
    }

    #[test]
    fn chunks_join_to_what_was_sent(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 0..6)) {
        let mut sent = Vec::new();
        for part in &parts {
            chunk(part, &mut sent);
        }
        let mut rest = sent.as_slice();
        let mut joined = Vec::new();
        while !rest.is_empty() {
            let line = rest.windows(2).position(|pair| pair == b"\r\n").unwrap();
            let length = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
            prop_assert!(length > 0, "a chunk of length 0 ends the response");
            joined.extend_from_slice(&rest[line + 2..line + 2 + length]);
            prop_assert_eq!(&rest[line + 2 + length..line + 4 + length], b"\r\n");
            rest = &rest[line + 4 + length..];
        }
        prop_assert_eq!(joined, parts.concat());
    }
}
