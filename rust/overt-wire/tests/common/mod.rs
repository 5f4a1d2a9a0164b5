//! Responses of all kinds, and their frames joined as a client joins them.
#![allow(dead_code, reason = "no test binary needs all of it")]

use overt_parse::Events;
use overt_wire::{
    ErrorShape, Finish, Head, Options, Protocol, ReasoningField, Shape, StopField, StopReason,
    TokenLogprobs, TokenText, Usage, writer,
};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// What a choice says in one step.
#[derive(Debug, Clone)]
pub(crate) enum Say {
    Text(String),
    Reasoning(String),
    /// A call with its arguments in fragments.
    Call(String, Vec<String>),
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) choice: u32,
    pub(crate) says: Vec<Say>,
    pub(crate) logprobs: Vec<TokenLogprobs>,
    pub(crate) ids: Vec<u32>,
}

pub(crate) type End = (Finish, Option<StopReason>);

pub(crate) const CHOICES: u32 = 3;

/// What the head says besides.
pub(crate) const EXTRA: &str = r#""service_tier":"default","extra":{"a":[1]}"#;

fn say() -> impl Strategy<Value = Say> {
    prop_oneof![
        any::<String>().prop_map(Say::Text),
        any::<String>().prop_map(Say::Reasoning),
        (any::<String>(), prop::collection::vec(any::<String>(), 0..4))
            .prop_map(|(name, args)| Say::Call(name, args)),
    ]
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let says = prop::collection::vec(say(), 0..4);
    let logprobs = prop::collection::vec(logprobs(), 0..3);
    let ids = prop::collection::vec(any::<u32>(), 0..4);
    let step = (0..CHOICES, says, logprobs, ids).prop_map(|(choice, says, logprobs, ids)| Step {
        choice,
        says,
        logprobs,
        ids,
    });
    prop::collection::vec(step, 0..12)
}

fn token() -> impl Strategy<Value = TokenText> {
    let text = prop_oneof![any::<String>(), "[\\x00-\\x22\\\\ab]{0,2}"];
    (text, prop::option::of(prop::collection::vec(any::<u8>(), 0..4)), any::<u32>())
        .prop_map(|(text, bytes, id)| TokenText { text, bytes, id })
}

/// Every bit pattern, infinities and NaN among them.
pub(crate) fn number() -> impl Strategy<Value = f32> {
    prop_oneof![any::<u32>().prop_map(f32::from_bits), -20f32..0.0]
}

fn logprobs() -> impl Strategy<Value = TokenLogprobs> {
    let top = prop::collection::vec((token(), number()), 0..3);
    (token(), prop::option::of(number()), top, any::<u64>())
        .prop_map(|(token, logprob, top, offset)| TokenLogprobs { token, logprob, top, offset })
}

fn shape() -> impl Strategy<Value = Shape> {
    let stop = select(vec![StopField::StopReason, StopField::MatchedStop, StopField::None]);
    let reasoning = select(vec![
        ReasoningField::Both,
        ReasoningField::Reasoning,
        ReasoningField::ReasoningContent,
        ReasoningField::None,
    ]);
    let errors = select(vec![ErrorShape::OpenAi, ErrorShape::Vllm, ErrorShape::SgLang]);
    (stop, reasoning, any::<bool>(), any::<bool>(), errors).prop_map(
        |(stop, reasoning, cached_tokens, empty_content, errors)| Shape {
            stop,
            reasoning,
            cached_tokens,
            empty_content,
            errors,
        },
    )
}

pub(crate) fn options() -> impl Strategy<Value = Options> {
    (any::<[bool; 6]>(), shape()).prop_map(|(on, shape)| Options {
        include_usage: on[0],
        logprobs: on[1],
        tokens_as_ids: on[2],
        continuous_usage: on[3],
        token_ids: on[4],
        obfuscation: on[5],
        // Answers of many calls: the older field holds one.
        functions: false,
        shape,
    })
}

pub(crate) fn ends() -> impl Strategy<Value = Vec<End>> {
    let finish = prop_oneof![Just(Finish::Stop), Just(Finish::Length), Just(Finish::ToolCalls)];
    let reason = prop_oneof![
        Just(None),
        any::<String>().prop_map(|text| Some(StopReason::Text(text))),
        any::<u32>().prop_map(|id| Some(StopReason::Token(id))),
    ];
    prop::collection::vec((finish, reason), CHOICES as usize)
}

pub(crate) fn protocols() -> impl Strategy<Value = Protocol> {
    prop_oneof![Just(Protocol::Chat), Just(Protocol::Completions)]
}

/// What one call wrote, and the counts told before it.
pub(crate) struct Piece {
    pub(crate) bytes: Vec<u8>,
    pub(crate) told: Usage,
}

/// The bytes of a response in which every choice says its steps and ends, in reverse order; prompt `p` is `[p, 7]`.
pub(crate) fn pieces(
    protocol: Protocol,
    stream: bool,
    options: Options,
    model: &str,
    steps: &[Step],
    ends: &[End],
) -> Vec<Piece> {
    let (id, fingerprint) = ("id-1".into(), "fp".into());
    let head = Head { id, created: 5, model: model.into(), fingerprint, extra: EXTRA.into() };
    let mut writer = writer(protocol, stream, head, options, CHOICES, 1);
    let mut pieces = Vec::new();
    let mut told =
        Usage { prompt_tokens: 1, completion_tokens: 0, cached_tokens: 1, reasoning_tokens: None };
    let mut events = Events::new();
    let mut calls = vec![0; CHOICES as usize];
    let mut add = |told, write: &mut dyn FnMut(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        write(&mut bytes);
        pieces.push(Piece { bytes, told });
    };
    writer.usage(&told);
    for prompt in 0..CHOICES {
        writer.prompt_tokens(prompt, &[prompt, 7]);
    }
    for choice in 0..CHOICES {
        add(told, &mut |out| writer.begin(choice, out));
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
        told.completion_tokens += step.ids.len() as u64;
        writer.usage(&told);
        writer.tokens(step.choice, &step.ids);
        add(told, &mut |out| writer.events(step.choice, &events, &step.logprobs, out));
    }
    for choice in (0..CHOICES).rev() {
        let (finish, reason) = &ends[choice as usize];
        add(told, &mut |out| writer.finish(choice, *finish, reason.as_ref(), out));
    }
    add(told, &mut |out| writer.end(&told, out));
    pieces
}

/// The pieces joined.
pub(crate) fn run(
    protocol: Protocol,
    stream: bool,
    options: Options,
    model: &str,
    steps: &[Step],
    ends: &[End],
) -> Vec<u8> {
    let pieces = pieces(protocol, stream, options, model, steps, ends);
    pieces.into_iter().flat_map(|piece| piece.bytes).collect()
}

/// The frames of a stream; its framing must hold.
pub(crate) fn frames(stream: &[u8]) -> Vec<Value> {
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

fn extend(array: &mut Value, more: &Value) {
    array.as_array_mut().unwrap().extend(more.as_array().unwrap().iter().cloned());
}

/// Joins a stream's frames as a client does, into the shape of the JSON answer.
pub(crate) fn join(protocol: Protocol, frames: &[Value], options: Options) -> Value {
    let mut choices = vec![Map::new(); CHOICES as usize];
    let mut answer = json!({});
    let mut logprobs = vec![empty(protocol, options); CHOICES as usize];
    for (at, frame) in frames.iter().enumerate() {
        assert_eq!(frame["id"], "id-1");
        for key in ["service_tier", "extra", "prompt_token_ids"] {
            if let Some(value) = frame.get(key) {
                assert_eq!(at, 0, "{key} stands on the first frame");
                answer[key] = value.clone();
            }
        }
        let counts = options.include_usage || options.continuous_usage;
        assert_eq!(frame.get("usage").is_some(), counts);
        if frame["choices"] == json!([]) {
            answer["usage"] = frame["usage"].clone();
            continue;
        }
        let [piece] = frame["choices"].as_array().unwrap().as_slice() else { panic!("{frame}") };
        let index = usize::try_from(piece["index"].as_u64().unwrap()).unwrap();
        let choice = &mut choices[index];
        if let Some(lists) = piece["logprobs"].as_object() {
            for (name, list) in lists {
                match &mut logprobs[index][name] {
                    so_far @ Value::Array(_) => extend(so_far, list),
                    so_far => assert_eq!(so_far, list),
                }
            }
        }
        assert!(!choice.contains_key("finish_reason"), "a frame after the finish frame: {frame}");
        if protocol == Protocol::Completions && choice.is_empty() {
            assert_eq!(piece.get("prompt_token_ids").is_some(), options.token_ids);
        }
        if let Some(ids) = piece.get("prompt_token_ids") {
            assert!(choice.insert("prompt_token_ids".into(), ids.clone()).is_none());
        }
        if let Some(ids) = piece.get("token_ids") {
            assert_ne!(ids, &json!([]));
            extend(choice.entry("token_ids").or_insert(json!([])), ids);
        }
        if !piece["finish_reason"].is_null() {
            for key in ["finish_reason", "stop_reason", "matched_stop"] {
                if let Some(value) = piece.get(key) {
                    choice.insert(key.into(), value.clone());
                }
            }
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
                "tool_calls" => add_call(message, value),
                other => panic!("{other}"),
            }
        }
    }
    for (index, choice) in choices.iter_mut().enumerate() {
        choice.insert("index".into(), json!(index));
        choice.insert("logprobs".into(), logprobs[index].take());
        if options.token_ids {
            choice.entry("token_ids").or_insert(json!([]));
        }
        if let Some(Value::Object(message)) = choice.get_mut("message") {
            message.insert("refusal".into(), Value::Null);
            let calls_only = message["content"] == "" && message.contains_key("tool_calls");
            if calls_only && !options.shape.empty_content {
                message["content"] = Value::Null;
            }
        }
    }
    answer["choices"] = json!(choices);
    answer
}

/// Joins a delta's `tool_calls` into a message's.
fn add_call(message: &mut Map<String, Value>, delta: &Value) {
    let [call] = delta.as_array().unwrap().as_slice() else { panic!("{delta}") };
    let calls = message.entry("tool_calls").or_insert(json!([])).as_array_mut().unwrap();
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

/// The log probabilities of no tokens.
fn empty(protocol: Protocol, options: Options) -> Value {
    match protocol {
        _ if !options.logprobs => Value::Null,
        Protocol::Chat => json!({"content": [], "refusal": null}),
        Protocol::Completions => {
            json!({"text_offset": [], "token_logprobs": [], "tokens": [], "top_logprobs": []})
        }
    }
}
