//! Families that write a name before the JSON of the arguments.

use crate::common::families::{check, read};

#[test]
fn mistral_in_its_four_spellings() {
    check(&[
        ("mistral", "[TOOL_CALLS", "[TOOL_CALLS", &[]),
        (
            "mistral",
            "a[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": TWO}, {\"arguments\": {}, \"name\": \"u\", \"id\": \"abcdefghi\"}] b",
            "a b",
            &[("f", "TWO"), ("u", "{}")],
        ),
        (
            "mistral",
            "[TOOL_CALLS]f{\"a\": \"[TOOL_CALLS]g[ARGS]{\"}[TOOL_CALLS]list-all.v2{}",
            "",
            &[("f", "{\"a\": \"[TOOL_CALLS]g[ARGS]{\"}"), ("list-all.v2", "{}")],
        ),
        (
            "mistral",
            "t [TOOL_CALLS]f[ARGS]TWO[TOOL_CALLS]u[ARGS]{}then",
            "t then",
            &[("f", "TWO"), ("u", "{}")],
        ),
        ("mistral", "[TOOL_CALLS]{\"name\": \"f\"}", "", &[("f", "{}")]),
        (
            "mistral",
            "[TOOL_CALLS] marks calls {as said}",
            "[TOOL_CALLS] marks calls {as said}",
            &[],
        ),
        ("mistral", "[TOOL_CALLS]f[ARGS]{\"a\": 1", "", &[("f", "{\"a\": 1")]),
        ("mistral", "[TOOL_CALLS]f[AR", "[TOOL_CALLS]f[AR", &[]),
    ]);
    let answer = read(
        "mistral",
        "[TOOL_CALLS]f[CALL_ID]abcDEF123[ARGS]{}[TOOL_CALLS]g[CALL_ID]abcDEF123[ARGS]{}",
    );
    assert_eq!(answer.calls.len(), 2);
    assert_eq!(answer.calls[0].id, "abcDEF123");
    assert_ne!(answer.calls[1].id, "abcDEF123");
    assert_eq!(answer.calls[1].id.len(), 9);
}

#[test]
fn deepseek() {
    check(&[
        (
            "deepseek_v3",
            "a<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\nTWO\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>u\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>b",
            "ab",
            &[("f", "TWO"), ("u", "{}")],
        ),
        (
            "deepseekv3",
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>function_x\n{\"s\": \"```<｜tool▁call▁end｜>\"}<｜tool▁call▁end｜>",
            "",
            &[("function_x", "{\"s\": \"```<｜tool▁call▁end｜>\"}")],
        ),
        (
            "deepseek_v3",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁calls▁end｜>\n```\ncode\n```",
            "\n```\ncode\n```",
            &[("f", "{}")],
        ),
        (
            "deepseek_v3",
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": 1}\n```\nthen\n```\nx\n```<｜tool▁call▁end｜>",
            "\nthen\n```\nx\n```",
            &[("f", "{\"a\": 1}")],
        ),
        (
            "deepseek_v3",
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f<｜tool▁call▁end｜>",
            "",
            &[("f", "{}")],
        ),
        (
            "deepseek_v3",
            "<｜tool▁calls▁begin｜> is how a call begins",
            "<｜tool▁calls▁begin｜> is how a call begins",
            &[],
        ),
        (
            "deepseek_v31",
            "a <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>TWO<｜tool▁call▁end｜><｜tool▁call▁begin｜>get_function<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "a ",
            &[("f", "TWO"), ("get_function", "{}")],
        ),
        (
            "deepseekv31",
            "<｜tool▁call▁begin｜>f<｜tool▁sep｜>null<｜tool▁call▁end｜><｜tool▁call▁end｜> x",
            " x",
            &[("f", "{}")],
        ),
        (
            "deepseek_v31",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\"<｜tool▁call▁end｜>",
            "",
            &[("f", "{\"a\"")],
        ),
        (
            "deepseek_v31",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁se",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁se",
            &[],
        ),
    ]);
}

#[test]
fn kimi_and_plamo() {
    check(&[
        (
            "kimi_k2",
            "a<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>TWO<|tool_call_end|><|tool_call_begin|>functions.u:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>b",
            "ab",
            &[("f", "TWO"), ("u", "{}")],
        ),
        (
            "kimi_k2",
            "<|tool_call_begin|>functions.list-all.v2:12<|tool_call_argument_begin|>{\"a\": \"<|tool_call_end|>\"}<|tool_call_end|><|tool_call_end|>",
            "",
            &[("list-all.v2", "{\"a\": \"<|tool_call_end|>\"}")],
        ),
        (
            "kimi_k2",
            "<|tool_calls_section_begin|>functions.f:0 {\"a\": 1}<|tool_calls_section_end|>",
            "",
            &[("f", "{\"a\": 1}")],
        ),
        (
            "kimi_k2",
            "<|tool_call_section_begin|>\n<|tool_call_begin|>\nfunctions.f:0\n<|tool_call_argument_begin|>\n<|tool_call_end|>\n<|tool_call_section_end|>\n",
            "",
            &[("f", "{}")],
        ),
        (
            "kimi_k2",
            "<|tool_calls_section_begin|><|tool_calls_section_end|>",
            "<|tool_calls_section_begin|><|tool_calls_section_end|>",
            &[],
        ),
        (
            "plamo3",
            "a<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>f<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>TWO<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>u<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:msg|>{}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>b",
            "ab",
            &[("f", "TWO"), ("u", "{}")],
        ),
        (
            "plamo3",
            "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>g<|plamo:end_tool_name:plamo|>{\"a\": \":plamo|>\"}<|plamo:end_tool_request:plamo|>",
            "",
            &[("g", "{\"a\": \":plamo|>\"}")],
        ),
    ]);
    let ids = |text: &str| -> Vec<String> {
        read("kimi_k2", text).calls.into_iter().map(|call| call.id).collect()
    };
    let call = |id: &str| {
        format!("<|tool_call_begin|>{id}<|tool_call_argument_begin|>{{}}<|tool_call_end|>")
    };
    assert_eq!(ids(&call("functions.f:7")), ["functions.f:7"]);
    assert_eq!(ids(&call("functionsf7")), ["functions.f:0"]);
    assert_eq!(
        ids(&(call("functions.f:1") + &call("functions.f:1") + &call("f:1"))),
        ["functions.f:1", "functions.f:2", "functions.f:3"]
    );
}
