//! Families whose calls are lists of JSON objects, and thinking before calls.

use crate::common::families::{check, tools};
use crate::common::with;

#[test]
fn lists() {
    check(&[
        ("granite", "No call [1, 2] <|tool", "No call [1, 2] <|tool", &[]),
        (
            "granite",
            "a<|tool_call|>[{\"name\": \"f\", \"arguments\": TWO}, {\"name\": \"u\", \"arguments\": {}}]",
            "a",
            &[("f", "TWO"), ("u", "{}")],
        ),
        ("granite", "<tool_call> [{\"name\": \"u\"}] b", " b", &[("u", "{}")]),
        ("granite", "[{\"name\": \"f\", \"arguments\": {\"a\": []}}]", "", &[("f", "{\"a\": []}")]),
        (
            "granite",
            "[{\"name\": \"u\", \"arguments\": {}}]",
            "[{\"name\": \"u\", \"arguments\": {}}]",
            &[],
        ),
        ("granite", "[{\"name\": \"f\"}]", "[{\"name\": \"f\"}]", &[]),
        ("granite", "[{\"a\": {}, \"name\": \"f\"}]", "[{\"a\": {}, \"name\": \"f\"}]", &[]),
        (
            "jamba",
            "a <tool_calls>[\n    {\"name\": \"f\", \"arguments\": TWO},\n    {\"name\": \"g\", \"arguments\": {}}\n]</tool_calls> b",
            "a  b",
            &[("f", "TWO"), ("g", "{}")],
        ),
        (
            "jamba",
            "<tool_calls>\n{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"u\", \"arguments\": {}}\n</tool_calls>",
            "",
            &[("f", "{}"), ("u", "{}")],
        ),
        (
            "jamba",
            "<tool_calls>[{\"name\": \"f\", \"arguments\": {\"s\": \"]</tool_calls>\"}}</tool_calls>b",
            "b",
            &[("f", "{\"s\": \"]</tool_calls>\"}")],
        ),
        ("jamba", "<tool_calls>[]</tool_calls>", "<tool_calls>[]</tool_calls>", &[]),
        (
            "hunyuan_a13b",
            "<tool_calls>[{\"name\": \"f\", \"arguments\": TWO}, {\"name\": \"g\", \"arguments\": {\"a\": {\"b\": [{}]}}}]</tool_calls>",
            "",
            &[("f", "TWO"), ("g", "{\"a\": {\"b\": [{}]}}")],
        ),
        ("phi4_mini_json", "functools is a module", "functools is a module", &[]),
        (
            "phi4_mini_json",
            "t functools[{\"name\": \"f\", \"arguments\": TWO}, {\"name\": \"u\", \"arguments\": {}}]",
            "t ",
            &[("f", "TWO"), ("u", "{}")],
        ),
        ("phi4_mini_json", "functools[{\"name\": \"f\", \"arguments\": {\"a", "", &[("f", "{\"a")]),
        (
            "xlam",
            "[{\"name\": \"f\", \"arguments\": TWO}, {\"name\": \"g\", \"arguments\": {}}]",
            "",
            &[("f", "TWO"), ("g", "{}")],
        ),
        (
            "xlam",
            "Sure.\n```json\n[{\"name\": \"f\", \"arguments\": {}}]\n```\nDone.",
            "Sure.\n\nDone.",
            &[("f", "{}")],
        ),
        ("xlam", "```\n{\"name\": \"f\", \"arguments\": {}}\n```", "", &[("f", "{}")]),
        (
            "xlam",
            "```json\n[{\"name\": \"u\", \"arguments\": {}}]\n``` see",
            "```json\n[{\"name\": \"u\", \"arguments\": {}}]\n``` see",
            &[],
        ),
        ("xlam", "```python\nx = [1]\n```", "```python\nx = [1]\n```", &[]),
        (
            "xlam",
            "<think>[a]</think>[TOOL_CALLS][{\"name\": \"u\", \"arguments\": {}}]",
            "<think>[a]</think>",
            &[("u", "{}")],
        ),
        (
            "xlam",
            "<tool_call>[{\"name\": \"f\", \"arguments\": {}}]</tool_call> x",
            " x",
            &[("f", "{}")],
        ),
        (
            "apertus",
            "before<|tools_prefix|>[{\"f\": TWO}, {\"list-all.v2\": {}}]<|tools_suffix|>after",
            "beforeafter",
            &[("f", "TWO"), ("list-all.v2", "{}")],
        ),
        (
            "apertus2509",
            "<|tools_prefix|>[{\"u\": {\"a\": \"<|tools_suffix|>\"}, \"g\": null}]<|tools_suffix|>",
            "",
            &[("u", "{\"a\": \"<|tools_suffix|>\"}"), ("g", "{}")],
        ),
        (
            "apertus",
            "<|tools_prefix|>[{\"f\": {\"a\": 1}, \"g\": 5}]",
            ", \"g\": 5}]",
            &[("f", "{\"a\": 1}")],
        ),
        ("apertus", "<|tools_prefix|>[{}]", "<|tools_prefix|>[{}]", &[]),
    ]);
}

#[test]
fn thinking_before_calls() {
    for (reasoning, tool, text, reasoned, content) in [
        (
            "ernie45",
            "ernie45",
            "r\n</think>\n\n<response>\nc\n</response>\n<tool_call>\n{\"name\": \"f\"}\n</tool_call>",
            "r",
            "c",
        ),
        (
            "hunyuan_a13b",
            "hunyuan_a13b",
            "<think>\nr\n</think>\n<answer>\n<tool_calls>[{\"name\": \"f\"}]</tool_calls>\n</answer>",
            "r",
            "",
        ),
        (
            "mistral",
            "mistral",
            "[THINK]r [TOOL_CALLS]g{} r[/THINK]c[TOOL_CALLS]f{}",
            "r [TOOL_CALLS]g{} r",
            "c",
        ),
        (
            "granite",
            "granite",
            "Here is my thought process: r Here is my response: c<|tool_call|>[{\"name\": \"f\"}]",
            "r",
            "c",
        ),
        (
            "kimi_k2",
            "kimi_k2",
            "<think>r<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
            "r",
            "",
        ),
        (
            "apertus2509",
            "apertus",
            "<|inner_prefix|>r<|tools_prefix|>[{\"f\": {}}]<|tools_suffix|>c",
            "r",
            "c",
        ),
        (
            "plamo3",
            "plamo3",
            "<|plamo:begin_think:plamo|>r<|plamo:end_think:plamo|>c<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>f<|plamo:end_tool_name:plamo|>{}<|plamo:end_tool_request:plamo|>",
            "r",
            "c",
        ),
        (
            "interns1",
            "interns1",
            "<think>r</think>c<|action_start|><|plugin|>{\"name\": \"f\"}<|action_end|>",
            "r",
            "c",
        ),
        (
            "deepseek_v3",
            "deepseek_v31",
            "<think>r</think>c<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
            "r",
            "c",
        ),
    ] {
        let answer = with(tool, &tools()).reasoning(reasoning).read(text);
        assert_eq!(
            (answer.reasoning.trim(), answer.content.trim(), answer.calls.len()),
            (reasoned, content, 1),
            "{tool} {text:?}"
        );
        assert_eq!(answer.calls[0].arguments, "{}");
    }
}

#[test]
fn arguments_stream_as_they_come() {
    use overt_parse::{Event, Events, Piece};
    for (format, head, tail) in [
        ("hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"b", "}"),
        ("mistral", "[TOOL_CALLS]f[ARGS]{\"a\": \"b", ""),
        ("llama3", "{\"name\": \"f\", \"parameters\": {\"a\": \"b", "}"),
        ("apertus", "<|tools_prefix|>[{\"f\": {\"a\": \"b", "}]"),
    ] {
        let mut parser = with(format, &tools()).parser();
        let mut events = Events::new();
        let mut push = |text: &str| {
            events.clear();
            parser.push(Piece { text, special: false }, &mut events);
            events.iter().last().map(|event| format!("{event:?}"))
        };
        let args = |text| Some(format!("{:?}", Event::ToolArgs { index: 0, text }));
        assert_eq!(push(head), args("{\"a\": \"b"), "{format}");
        assert_eq!(push("c"), args("c"), "{format}");
        assert_eq!(push("\\"), args("\\"), "{format}");
        let last = push(&format!("\"\"}}{tail}"));
        assert_eq!(last, Some(format!("{:?}", Event::ToolEnd { index: 0 })), "{format}");
    }
}

#[test]
fn an_answer_may_stand_between_markers() {
    for (text, content, calls) in [
        ("<think>\nr\n</think>\n<answer>\na\n\nb\n</answer>", "a\n\nb", 0),
        ("<think>r</think><answer>a\n</answer>\n", "a", 0),
        ("<think>r</think>\n<answer>\na\n", "a\n", 0),
        (
            "<think>r</think>\n<answer>\n<tool_calls>[{\"name\": \"f\"}]</tool_calls>\n</answer>\n",
            "",
            1,
        ),
        ("<think>r</think>plain\n", "plain\n", 0),
    ] {
        let answer = with("hunyuan_a13b", &tools()).reasoning("hunyuan_a13b").read(text);
        assert_eq!((answer.content.as_str(), answer.calls.len()), (content, calls), "{text:?}");
        // Without tools too.
        let plain = crate::common::How { tool: None, ..with("hunyuan_a13b", &tools()) };
        let plain = plain.reasoning("hunyuan_a13b").read(text);
        if calls == 0 {
            assert_eq!(plain.content, content, "{text:?}");
        }
    }
}
