//! Answers that a framed format sets apart: what a grammar for them lets a model write, and that it is read as text.

use overt_parse::{formats, reasoning_format, tool_format};
use overt_rule::{Grammar, Rule};
use serde_json::json;

use crate::common::How;
use crate::common::accepts::accepts;

fn rule(name: &str) -> Grammar {
    let format = tool_format(name).expect("a format");
    format.answer_rule(Rule::Json(json!({"type": "object"}))).into()
}

#[test]
fn a_framed_answer_stands_in_its_frame() {
    for (name, again, open, close) in [
        ("gpt-oss", "<|start|>assistant", "<|channel|>final<|message|>", ""),
        ("cohere_command4", "", "<|START_RESPONSE|>", "<|END_RESPONSE|>"),
        ("kimi_k3", "", "<|open|>response<|sep|>", "<|close|>response<|sep|>"),
        ("inkling", "<|message_model|>", "<|content_text|>", "<|end_message|>"),
        ("muse", "<|start|>assistant", " to=user<|message|>", ""),
    ] {
        let rule = rule(name);
        let frame = |inner: &str| format!("{open}{inner}{close}");
        assert!(accepts(&rule, &frame("{\"a\": 1}")), "{name}");
        assert!(accepts(&rule, &format!("{again}{}", frame("{}"))), "{name}");
        for wrong in ["{}".to_owned(), frame("[]"), frame(""), format!("{}{{}}", frame("{}"))] {
            assert!(!accepts(&rule, &wrong), "{name} {wrong}");
        }
        let how = How { reasoning: Some(name.to_owned()), ..How::default() };
        assert!(reasoning_format(name).is_some_and(|format| format.framed), "{name}");
        for text in [frame("{\"a\": 1}"), format!("{again}{}", frame("{\"a\": 1}"))] {
            let answer = how.read(&text);
            assert_eq!(
                (answer.content.as_str(), answer.order.as_str()),
                ("{\"a\": 1}", "c"),
                "{text}"
            );
        }
    }
}

#[test]
fn markers_of_the_frame_are_special_tokens() {
    let Rule::Seq(rules) = rule("openai").start else { panic!("a sequence") };
    let expected = [
        Rule::Seq(vec![Rule::marker("<|start|>"), Rule::text("assistant")]).maybe(),
        Rule::marker("<|channel|>"),
        Rule::text("final"),
        Rule::marker("<|message|>"),
        Rule::Json(json!({"type": "object"})),
    ];
    assert_eq!(rules, expected);
}

#[test]
fn an_answer_that_stands_free_is_itself() {
    assert_eq!(rule("hermes").start, Rule::Json(json!({"type": "object"})));
    for format in formats() {
        assert_eq!(format.answer.is_some(), format.framed, "{}", format.name);
    }
}
