//! What holds for every sequence of events.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panic")]

mod common;

use overt_parse::Events;
use overt_wire::{
    Head, Options, PromptEntry, PromptToken, Protocol, TokenText, Usage, chunk, writer,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use common::{CHOICES, ends, frames, join, number, options, protocols, run, steps};

fn empty_head() -> Head {
    let (id, fingerprint, extra) = ("i".into(), String::new(), String::new());
    Head { id, created: 0, model: "m".into(), fingerprint, extra }
}

proptest! {
    #[test]
    fn the_joined_stream_is_the_answer(
        protocol in protocols(),
        model in any::<String>(),
        options in options(),
        steps in steps(),
        ends in ends(),
    ) {
        let stream = run(protocol, true, options, &model, &steps, &ends);
        let joined = join(protocol, &frames(&stream), options);
        let body = run(protocol, false, options, &model, &steps, &ends);
        let answer: Value = serde_json::from_slice(&body).unwrap();
        prop_assert_eq!(&joined["choices"], &answer["choices"]);
        if options.include_usage {
            prop_assert_eq!(&joined["usage"], &answer["usage"]);
        }
        for key in ["service_tier", "extra", "prompt_token_ids"] {
            prop_assert_eq!(joined.get(key), answer.get(key), "{}", key);
        }
        prop_assert_eq!(&answer["extra"], &json!({"a": [1]}));
        prop_assert_eq!(&answer["model"], &model);
    }

    /// The number of entries is that of the tokens, and each says what it was given.
    #[test]
    fn every_token_has_its_entry(
        protocol in protocols(), as_ids: bool, steps in steps(),
        ends in ends(),
    ) {
        let options = Options { logprobs: true, tokens_as_ids: as_ids, ..Options::default() };
        let body = run(protocol, false, options, "m", &steps, &ends);
        let answer: Value = serde_json::from_slice(&body).unwrap();
        for choice in 0..CHOICES {
            let of_choice = steps.iter().filter(|step| step.choice == choice);
            let tokens: Vec<_> = of_choice.flat_map(|step| &step.logprobs).collect();
            let lists = &answer["choices"][choice as usize]["logprobs"];
            let spelt = |token: &TokenText| {
                if as_ids { format!("token_id:{}", token.id) } else { token.text.clone() }
            };
            let reads = |value: &Value, logprob: f32| {
                let value = value.as_f64().unwrap() as f32;
                let known = if logprob.is_nan() { -9999.0 } else { logprob.clamp(-9999.0, f32::MAX) };
                value == known
            };
            if protocol == Protocol::Chat {
                let entries = lists["content"].as_array().unwrap();
                prop_assert_eq!(entries.len(), tokens.len());
                for (entry, token) in entries.iter().zip(tokens) {
                    let logprob = token.logprob.unwrap_or(f32::NAN);
                    let itself = (&token.token, logprob, entry);
                    let top = entry["top_logprobs"].as_array().unwrap();
                    prop_assert_eq!(top.len(), token.top.len());
                    let top = token.top.iter().zip(top).map(|((t, l), e)| (t, *l, e));
                    for (token, logprob, entry) in top.chain([itself]) {
                        prop_assert_eq!(entry["token"].as_str().unwrap(), spelt(token));
                        prop_assert_eq!(&entry["bytes"], &json!(token.bytes));
                        prop_assert!(reads(&entry["logprob"], logprob));
                    }
                }
                continue;
            }
            for list in ["text_offset", "token_logprobs", "tokens", "top_logprobs"] {
                prop_assert_eq!(lists[list].as_array().unwrap().len(), tokens.len());
            }
            for (at, token) in tokens.iter().enumerate() {
                prop_assert_eq!(lists["text_offset"][at].as_u64(), Some(token.offset));
                prop_assert_eq!(lists["tokens"][at].as_str().unwrap(), spelt(&token.token));
                let Some(logprob) = token.logprob else {
                    prop_assert!(lists["token_logprobs"][at].is_null());
                    prop_assert!(lists["top_logprobs"][at].is_null());
                    continue;
                };
                prop_assert!(reads(&lists["token_logprobs"][at], logprob));
                let map = lists["top_logprobs"][at].as_object().unwrap();
                prop_assert!(map.contains_key(&spelt(&token.token)));
                prop_assert!(map.len() <= token.top.len() + 1);
                for (other, _) in &token.top {
                    prop_assert!(map.contains_key(&spelt(other)));
                }
            }
        }
    }

    #[test]
    fn prompt_log_probabilities_are_json(
        protocol in protocols(),
        tokens in prop::collection::vec(prop::collection::vec((0..4u32, any::<String>(), number(), any::<u32>()), 0..4), 0..4),
    ) {
        let tokens: Vec<_> = tokens.into_iter().map(|entries| PromptToken {
            entries: entries.into_iter().map(|(id, text, logprob, rank)| PromptEntry { id, text, logprob, rank }).collect(),
        }).collect();
        let head = empty_head();
        let mut writer = writer(protocol, false, head, Options::default(), 1, 1);
        let mut out = Vec::new();
        writer.prompt_logprobs(0, &tokens, &mut out);
        writer.end(&Usage::default(), &mut out);
        let body: Value = serde_json::from_slice(&out).unwrap();
        let place = if protocol == Protocol::Chat { &body } else { &body["choices"][0] };
        let written = place["prompt_logprobs"].as_array().unwrap();
        prop_assert_eq!(written.len(), tokens.len());
        for (value, token) in written.iter().zip(&tokens) {
            prop_assert_eq!(value.is_null(), token.entries.is_empty());
            for entry in &token.entries {
                let first = token.entries.iter().find(|other| other.id == entry.id).unwrap();
                let value = &value[entry.id.to_string()];
                prop_assert_eq!(value["decoded_token"].as_str().unwrap(), &first.text);
                prop_assert_eq!(value["rank"].as_u64().unwrap(), u64::from(first.rank));
            }
        }
    }

    #[test]
    fn without_usage_no_frame_names_it(
        protocol in protocols(),
        steps in steps(),
        ends in ends(),
    ) {
        let options = Options::default();
        let frames = frames(&run(protocol, true, options, "m", &steps, &ends));
        let joined = join(protocol, &frames, options);
        prop_assert_eq!(joined.get("usage"), None);
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
                let head = empty_head();
                let mut writer = writer(protocol, stream, head, Options::default(), 1, 1);
                let mut out = Vec::new();
                writer.events(0, &events, &[], &mut out);
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
