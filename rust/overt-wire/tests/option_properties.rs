//! What each option adds, and that it changes nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panic")]

mod common;

use overt_wire::{Options, Protocol, ReasoningField};
use proptest::prelude::*;
use serde_json::{Value, json};

use common::{CHOICES, Say, ends, options, pieces, protocols, run, steps};

/// The frames of a piece of a stream, as text, without the blank lines.
fn texts(bytes: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.split_terminator("\n\n").map(Into::into).collect()
}

fn parsed(frame: &str) -> Value {
    serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap()
}

proptest! {
    #[test]
    fn padded_frames_are_blocks_and_say_the_same(
        protocol in protocols(), options in options(), steps in steps(), ends in ends(),
    ) {
        let padded = Options { obfuscation: true, ..options };
        let plain = Options { obfuscation: false, ..options };
        let padded = texts(&run(protocol, true, padded, "m", &steps, &ends));
        let plain = texts(&run(protocol, true, plain, "m", &steps, &ends));
        prop_assert_eq!(padded.len(), plain.len());
        for (padded, plain) in padded.iter().zip(&plain) {
            if plain.contains("[DONE]") || parsed(plain)["choices"] == json!([]) {
                prop_assert_eq!(padded, plain);
                continue;
            }
            prop_assert_eq!((padded.len() + 2) % 64, 0);
            let (before, padding) = padded.rsplit_once(",\"obfuscation\":\"").unwrap();
            let padding = padding.strip_suffix("\"}").unwrap();
            prop_assert!((1..=64).contains(&padding.len()));
            prop_assert!(padding.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            prop_assert_eq!(&format!("{before}}}"), plain);
        }
    }

    #[test]
    fn every_frame_carries_the_counts_told_last(
        protocol in protocols(), options in options(), steps in steps(), ends in ends(),
    ) {
        let options = Options { continuous_usage: true, ..options };
        let mut last = 0;
        for piece in pieces(protocol, true, options, "m", &steps, &ends) {
            for frame in texts(&piece.bytes) {
                if frame == "data: [DONE]" {
                    continue;
                }
                let frame = parsed(&frame);
                let made = piece.told.completion_tokens;
                let mut counts = json!({"prompt_tokens": 1, "completion_tokens": made, "total_tokens": made + 1});
                if options.shape.cached_tokens {
                    counts["prompt_tokens_details"] = json!({"cached_tokens": 1});
                }
                prop_assert_eq!(&frame["usage"], &counts);
                last += usize::from(frame["choices"] == json!([]));
            }
        }
        prop_assert_eq!(last, usize::from(options.include_usage));
    }

    /// No token is lost or told twice, and reasoning that is not delivered takes its tokens with it.
    #[test]
    fn every_id_is_told_once(
        protocol in protocols(), options in options(), steps in steps(), ends in ends(),
    ) {
        let options = Options { token_ids: true, ..options };
        let body = run(protocol, false, options, "m", &steps, &ends);
        let answer: Value = serde_json::from_slice(&body).unwrap();
        let hides = protocol == Protocol::Chat && options.shape.reasoning == ReasoningField::None;
        for choice in 0..CHOICES {
            let (mut expected, mut waiting) = (Vec::<u32>::new(), Vec::new());
            for step in steps.iter().filter(|step| step.choice == choice) {
                waiting.extend(&step.ids);
                let words = |say: &Say| match say {
                    Say::Text(text) | Say::Reasoning(text) => !text.is_empty(),
                    Say::Call(..) => true,
                };
                let shown = |say: &Say| words(say) && !(hides && matches!(say, Say::Reasoning(_)));
                let shows = step.says.iter().any(shown);
                if !shows && step.says.iter().any(words) {
                    waiting.clear();
                } else if shows || (options.logprobs && !step.logprobs.is_empty()) {
                    expected.append(&mut waiting);
                }
            }
            expected.append(&mut waiting);
            prop_assert_eq!(&answer["choices"][choice as usize]["token_ids"], &json!(expected));
        }
    }

    #[test]
    fn hidden_reasoning_leaves_no_word(
        options in options(), stream: bool, mut steps in steps(), ends in ends(),
    ) {
        let mut options = Options { logprobs: false, ..options };
        options.shape.reasoning = ReasoningField::None;
        for step in &mut steps {
            step.says.retain(|say| !matches!(say, Say::Reasoning(_)));
            step.says.push(Say::Reasoning("SECRET".into()));
        }
        let bytes = run(Protocol::Chat, stream, options, "m", &steps, &ends);
        let text = String::from_utf8(bytes).unwrap();
        prop_assert!(!text.contains("SECRET") && !text.contains("\"reasoning"));
    }
}
