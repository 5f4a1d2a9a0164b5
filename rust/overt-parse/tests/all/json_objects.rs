//! Families whose calls are JSON objects behind openers, or alone.

use crate::common::families::check;

#[test]
fn hermes_and_its_like() {
    check(&[
        ("hermes", "No call.", "No call.", &[]),
        (
            "hermes",
            "So.\n<tool_call>\n{\"name\": \"f\", \"arguments\": TWO}\n</tool_call>\n after",
            "So.\n\n after",
            &[("f", "TWO")],
        ),
        (
            "qwen25",
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\"}\n</tool_call>\n",
            "",
            &[("f", "{}"), ("g", "{}")],
        ),
        (
            "hermes",
            r#"<tool_call>{"arguments": {"q": "\u00fc"}, "id": [1, {"x": "}"}], "name": "u\"n"}</tool_call>"#,
            "",
            &[("u\"n", r#"{"q": "\u00fc"}"#)],
        ),
        (
            "hermes",
            r#"<tool_call>{"name": "f", "name": "g", "arguments": null, "arguments": {"a": 12345678901234567890123}}</tool_call>"#,
            "",
            &[("f", r#"{"a": 12345678901234567890123}"#)],
        ),
        (
            "hermes",
            r#"<tool_call>{"name": "f", "arguments": {"x": "</tool_call><tool_call>{\n</think>"}}</tool_call>"#,
            "",
            &[("f", r#"{"x": "</tool_call><tool_call>{\n</think>"}"#)],
        ),
        // A list in one block, several objects in one block.
        (
            "hermes",
            r#"<tool_call>[{"name": "f"}, {"name": "u", "parameters": {"a": 1}}]</tool_call>"#,
            "",
            &[("f", "{}"), ("u", r#"{"a": 1}"#)],
        ),
        (
            "hermes",
            "<tool_call>\n{\"name\": \"f\"}\n{\"name\": \"u\"}\n</tool_call>",
            "",
            &[("f", "{}"), ("u", "{}")],
        ),
        // Openers and closers that are missing or come twice, brackets too many or too few.
        (
            "hermes",
            "<tool_call><tool_call>{\"name\": \"f\"}</tool_call></tool_call> x",
            " x",
            &[("f", "{}")],
        ),
        (
            "hermes",
            "<tool_call>{\"name\": \"f\"}<tool_call>{\"name\": \"g\"}",
            "",
            &[("f", "{}"), ("g", "{}")],
        ),
        (
            "hermes",
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}}\n</tool_call>x",
            "x",
            &[("f", "{\"a\": 1}")],
        ),
        (
            "hermes",
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}</tool_call>x",
            "x",
            &[("f", "{\"a\": 1}")],
        ),
        (
            "hermes",
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1</tool_call> on",
            " on",
            &[("f", "{\"a\": 1")],
        ),
        ("hermes", "<tool_call>{\"name\": \"f\"} so </tool_call>!", " so !", &[("f", "{}")]),
        // What is no call is text.
        ("hermes", "\n<tool_call>no {}</tool_call>", "\n<tool_call>no {}</tool_call>", &[]),
        (
            "hermes",
            "<tool_call>{\"name\": 5}</tool_call>",
            "<tool_call>{\"name\": 5}</tool_call>",
            &[],
        ),
        (
            "hermes",
            "<tool_call>{\"arguments\": {}}</tool_call> t",
            "<tool_call>{\"arguments\": {}}</tool_call> t",
            &[],
        ),
        ("hermes", "a </tool_call> b <tool_", "a </tool_call> b <tool_", &[]),
        ("hermes", "<tool_call>[]", "<tool_call>[]", &[]),
        ("hermes", "<tool_call>[{\"name\": \"f\"}, {\"na", ", {\"na", &[("f", "{}")]),
        (
            "longcat",
            "t<longcat_tool_call>\n{\"name\": \"f\", \"arguments\": TWO}\n</longcat_tool_call>\n<longcat_tool_call>{\"name\": \"u\"}</longcat_tool_call>",
            "t",
            &[("f", "TWO"), ("u", "{}")],
        ),
        (
            "granite4",
            "t\n<tool_call>\n{\"name\": \"f\", \"arguments\": TWO}\n</tool_call>",
            "t\n",
            &[("f", "TWO")],
        ),
        (
            "ernie45",
            "<tool_call>\n{\"name\": \"f\", \"arguments\": TWO}\n</tool_call>\n\n",
            "",
            &[("f", "TWO")],
        ),
    ]);
}

#[test]
fn openers_without_closers() {
    check(&[
        (
            "granite-20b-fc",
            "<function_call> {\"name\": \"f\", \"arguments\": TWO}\n<function_call> {\"name\": \"u\", \"arguments\": {}} t",
            " t",
            &[("f", "TWO"), ("u", "{}")],
        ),
        ("granite-20b-fc", "see <function_call> now", "see <function_call> now", &[]),
        (
            "granite-20b-fc",
            "<function_call>{\"name\": \"f\", \"arguments\": {}} {\"name\": \"Alice\"}",
            " {\"name\": \"Alice\"}",
            &[("f", "{}")],
        ),
        (
            "interns1",
            "a<|action_start|> <|plugin|>\n{\"name\": \"f\", \"parameters\": TWO}<|action_end|>\n<|action_start|><|plugin|>{\"name\": \"u\", \"parameters\": {}}\n<|action_end|>b",
            "ab",
            &[("f", "TWO"), ("u", "{}")],
        ),
        (
            "internlm",
            "<|action_start|><|plugin|>{\"name\": \"f\", \"parameters\": {\"a\": \"<|plugin|>\"",
            "",
            &[("f", "{\"a\": \"<|plugin|>\"")],
        ),
        (
            "gigachat3",
            "t<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"f\", \"arguments\": TWO}",
            "t",
            &[("f", "TWO")],
        ),
        (
            "gigachat3",
            "a function call of\nfunction call<|role_sep|>{\"name\": \"u\", \"arguments\": {}} b",
            "a function call of\n b",
            &[("u", "{}")],
        ),
        ("gigachat3", "<|function_call|>{\"name\": \"g\"}", "", &[("g", "{}")]),
        (
            "llama3",
            "<|python_tag|>{\"name\": \"u\", \"parameters\": TWO}; {\"name\": \"v\", \"parameters\": {}}",
            "",
            &[("u", "TWO"), ("v", "{}")],
        ),
        (
            "llama3_json",
            "Here: {\"name\": \"f\", \"parameters\": {}} Would you?",
            "Here:  Would you?",
            &[("f", "{}")],
        ),
        (
            "llama4_json",
            "{\"type\": \"function\", \"name\": \"f\", \"parameters\": TWO};{\"name\": \"g\", \"arguments\": {\"a\": 1}}\n{\"name\": \"f\", \"parameters\": null}",
            "",
            &[("f", "TWO"), ("g", "{\"a\": 1}"), ("f", "{}")],
        ),
        (
            "llama3_json",
            "{\"parameters\": {\"a\": 1}, \"name\": \"f\"}",
            "",
            &[("f", "{\"a\": 1}")],
        ),
        ("llama3_json", "{\"name\": \"f\"}", "{\"name\": \"f\"}", &[]),
        (
            "llama3_json",
            "{\"name\": \"f\", \"parameters\": \"text\"}",
            "{\"name\": \"f\", \"parameters\": \"text\"}",
            &[],
        ),
        (
            "llama3_json",
            "{\"name\": \"f\", \"description\": \"d\", \"parameters\": {}}",
            "{\"name\": \"f\", \"description\": \"d\", \"parameters\": {}}",
            &[],
        ),
        (
            "llama3_json",
            "{\"name\": \"f\", \"parameters\": {}}; and {this}, {\"name\": \"Alice\"}",
            "; and {this}, {\"name\": \"Alice\"}",
            &[("f", "{}")],
        ),
        ("llama3_json", "<|python_tag|>print({})", "<|python_tag|>print({})", &[]),
        ("llama3_json", "{ \"na", "{ \"na", &[]),
    ]);
}
