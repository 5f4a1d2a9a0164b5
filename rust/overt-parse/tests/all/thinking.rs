//! Reasoning before an answer.

use crate::common::How;
use overt_parse::Options;

fn how(reasoning: &str) -> How {
    How { reasoning: Some(reasoning.to_owned()), ..How::default() }
}

#[test]
fn the_end_of_the_prompt_tells_whether_thinking_is_open() {
    for (parser, tail, text, reasoning, content) in [
        ("deepseek_r1", "<think>\n", "I add 2+2.</think>\n\nIt is 4.", "I add 2+2.", "It is 4."),
        ("deepseek_r1", "", "I add", "I add", ""),
        ("deepseek_r1", "<think></think>", "It is 4.", "", "It is 4."),
        ("qwen3", "<|im_start|>assistant\n<think>\n", "<think>\na\n</think>\n\nb", "a", "b"),
        ("qwen3", "<think>\n\n</think>\n\n", "0.9 is larger.", "", "0.9 is larger."),
        ("qwen3", "<|im_start|>assistant\n", "<think>r</think>c", "r", "c"),
        ("qwen3", "", "  <think>r\n\ns</think>\n c", "r\n\ns", " c"),
        ("qwen3", "", "no <think> here </think>", "", "no <think> here </think>"),
        ("qwen3", "", "<thin", "", "<thin"),
        ("qwen3", "<think>", "a</thin", "a</thin", ""),
        ("qwen3", "<think>", "a\n", "a\n", ""),
    ] {
        let answer = how(parser).tail(tail).read(text);
        assert_eq!(
            (answer.reasoning.as_str(), answer.content.as_str()),
            (reasoning, content),
            "{parser} {tail:?} {text:?}"
        );
    }
}

#[test]
fn each_family_has_its_own_markers() {
    for (parser, tail, text, reasoning, content) in [
        // It thinks where the prompt opens it, and not of itself.
        ("deepseek_v3", "<｜Assistant｜><think>", "a</think>b", "a", "b"),
        ("deepseek-v3", "<｜Assistant｜></think>", "b", "", "b"),
        ("deepseek_v3", "", "b", "", "b"),
        ("holo2", "", "a</think>b", "a", "b"),
        ("holo2", "<think>\n\n</think>\n\n", "b", "", "b"),
        ("granite", "", "Here is my thought process: a\nHere is my response:\n\nb", " a", "b"),
        ("granite", "", "Here's my thought process:\na Here's my response: b", "a ", " b"),
        ("granite", "", "Here is my answer", "", "Here is my answer"),
        ("granite", "", "So. Here is my response: b", "", "So. Here is my response: b"),
        ("granite_thinking_parser", "<think>", "a</think>b", "a", "b"),
        ("minicpmv", "<|im_start|>assistant\n", "b", "", "b"),
        ("minicpmv", "<|im_start|>assistant\n<think>\n", "a</think>\n\nb", "a", "b"),
        ("nemotron_v3", "<think>\n", "a\n</think>\nb", "a", "b"),
        ("nemotron_3", "<think></think>", "b", "", "b"),
        ("kimi", "", "◁think▷a◁/think▷b", "a", "b"),
        ("kimi", "", "◁thi", "", "◁thi"),
        ("mistral", "", "[THINK]a <think>[/THINK]b", "a <think>", "b"),
        ("mistral", "", "<think>\na\n</think>\nb", "a", "b"),
        ("hunyuan_a13b", "", "<think>\na\n</think>\n<answer>\nb\n\nc\n</answer>", "a", "b\n\nc"),
        ("hunyuan_a13b", "<think>\n\n</think>\n", "<answer>\nb\n</answer>", "", "b"),
        ("hunyuan_a13b", "", "b </answer", "", "b </answer"),
        ("ernie45", "<think>\n", "a\n</think>\n\n<response>\nb\n</response>\n", "a", "b"),
        ("ernie45", "<think>\n", "a\n</think>\n\nb", "a", "b"),
        ("qwen3-thinking", "", "a</think>\n\nb", "a", "b"),
        ("minimax_m2", "]~b]ai\n<think>\n", "a\n</think>\n\nb", "a", "b"),
        ("minimax", "", "a</think>b", "a", "b"),
        (
            "minimax_m2_append_think",
            "]~b]ai\n<think>\n",
            "a</think>\n\nb",
            "",
            "<think>a</think>\n\nb",
        ),
        ("minimax-append-think", "", "a", "", "<think>a"),
    ] {
        // Some of these families are still to come.
        if overt_parse::reasoning_format(parser).is_none() {
            continue;
        }
        let answer = how(parser).tail(tail).read(text);
        assert_eq!(
            (answer.reasoning.as_str(), answer.content.as_str()),
            (reasoning, content),
            "{parser} {tail:?} {text:?}"
        );
    }
}

#[test]
fn special_tokens_open_thinking_between_texts() {
    let answer = how("qwen3").specials(&["<think>", "</think>"]).read("a<think>b</think>c<think>d");
    assert_eq!(
        (answer.reasoning.as_str(), answer.content.as_str(), answer.order.as_str()),
        ("bd", "ac", "crcr")
    );
}

#[test]
fn thinking_may_stay_in_the_answer_or_be_ruled_out() {
    let merged = Options { merged: true, ..Options::default() };
    let answer = How { options: merged, ..how("qwen3") }.read("<think>\nr\n</think>\n\nc");
    assert_eq!(answer.content, "<think>\nr\n</think>\n\nc");
    let none = Options { no_thinking: true, ..Options::default() };
    let answer = How { options: none, ..how("qwen3") }.tail("<think>\n").read("{\"a\": 1}");
    assert_eq!((answer.content.as_str(), answer.reasoning.as_str()), ("{\"a\": 1}", ""));
}

#[test]
fn without_a_parser_everything_is_text() {
    let answer = How::default().specials(&["</s>"]).read("<think>r</think>c</s>");
    assert_eq!(answer.content, "<think>r</think>c");
}
