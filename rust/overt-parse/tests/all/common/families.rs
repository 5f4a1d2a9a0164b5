//! Literal texts of families, read in every cutting, markers as text and as special tokens.

use serde_json::{Value, json};

use super::{Answer, with};

/// Arguments that are hard to read, `TWO` in the rows.
pub const TWO: &str = r#"{"n": -12.50e3, "s": "a } ] , \" \\ \ud83d\ude00 é"}"#;

/// Tools without a schema.
pub fn tools() -> Value {
    let tool =
        |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {}}});
    json!(["f", "g", "list-all.v2", "function_x"].map(tool))
}

/// Reads `text` as `format`, its markers once as text and once as special tokens: both must say the same.
pub fn read(format: &str, text: &str) -> Answer {
    let answer = with(format, &tools()).read(text);
    let specials = [
        "[TOOL_CALLS]",
        "[ARGS]",
        "[CALL_ID]",
        "<tool_call>",
        "</tool_call>",
        "<longcat_tool_call>",
        "</longcat_tool_call>",
        "<|tool_call|>",
        "<|python_tag|>",
        "<|action_start|>",
        "<|plugin|>",
        "<|action_end|>",
        "<tool_calls>",
        "</tool_calls>",
        "<|tools_prefix|>",
        "<|tools_suffix|>",
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁call▁end｜>",
        "<｜tool▁sep｜>",
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_section_begin|>",
        "<|tool_call_section_end|>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
        "<|function_call|>",
        "<|role_sep|>",
        "<|message_sep|>",
        "<|plamo:begin_",
        "<|plamo:end_",
        ":plamo|>",
        "<|plamo:constrain|>",
        "<|plamo:msg|>",
    ];
    let special = with(format, &tools()).specials(&specials).read(text);
    assert_eq!(special.calls, answer.calls, "{format} {text:?}");
    if !answer.calls.is_empty() {
        assert_eq!(special.content, answer.content, "{format} {text:?}");
    }
    answer
}

/// A format, its text, the answer's text and its calls with the exact text of their arguments.
pub type Row<'a> = (&'a str, &'a str, &'a str, &'a [(&'a str, &'a str)]);

/// Holds each row to what it says.
pub fn check(rows: &[Row<'_>]) {
    for (format, text, content, calls) in rows {
        let text = text.replace("TWO", TWO);
        let answer = read(format, &text);
        let said: Vec<(&str, &str)> =
            answer.calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
        let calls: Vec<(&str, String)> =
            calls.iter().map(|(name, arguments)| (*name, arguments.replace("TWO", TWO))).collect();
        let calls: Vec<(&str, &str)> =
            calls.iter().map(|(name, arguments)| (*name, arguments.as_str())).collect();
        assert_eq!((answer.content.as_str(), said), (*content, calls), "{format} {text:?}");
    }
}
