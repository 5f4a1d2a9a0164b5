//! Families of calls as pairs, as Python's and in braces, held against public cases and templates.

use std::fs;
use std::path::PathBuf;

use crate::common::with;
use overt_parse::{detect, tool_format};
use serde_json::Value;

fn corpus() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if !path.exists() {
        eprintln!("skipped: there is no {}", path.display());
        return None;
    }
    Some(path)
}

#[test]
fn cases_from_public_reports_hold() {
    let Some(corpus) = corpus() else { return };
    let cases = fs::read_to_string(corpus.join("cases.jsonl")).expect("the cases");
    let mut count = 0;
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).expect("a case");
        let input = &case["input"];
        let parser = input["server"]["tool_parser"].as_str().unwrap_or_default();
        if !["glm45", "glm47"].contains(&parser) {
            continue;
        }
        count += 1;
        let texts = |list: &Value| -> Vec<String> {
            list.as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        };
        let specials = texts(&input["model_output"]["special_token_pieces"]);
        let specials: Vec<&str> = specials.iter().map(String::as_str).collect();
        let pieces = texts(&input["model_output"]["pieces"]);
        let how = with(parser, &input["request"]["tools"]).specials(&specials);
        let expected = &case["expected"];
        let calls: Vec<(String, Value)> = expected["tool_calls"]
            .as_array()
            .expect("calls")
            .iter()
            .map(|call| {
                (call["name"].as_str().expect("a name").to_owned(), call["arguments"].clone())
            })
            .collect();
        let given: Vec<(String, bool)> = pieces
            .iter()
            .map(|piece| (piece.clone(), specials.contains(&piece.as_str())))
            .collect();
        for answer in [how.read_pieces(&given), how.read(&pieces.concat())] {
            assert_eq!(
                answer.content,
                expected["content"].as_str().unwrap_or_default(),
                "{}",
                case["id"]
            );
            assert_eq!(answer.calls(), calls, "{}", case["id"]);
        }
    }
    assert_eq!(count, 5);
}

#[test]
fn templates_show_which_family_is_theirs() {
    let Some(corpus) = corpus() else { return };
    let families =
        ["gemma4", "glm45", "glm47", "lfm2", "ling3", "poolside_v1", "pythonic", "spark25"];
    for (template, family) in [
        ("axo-gemma4", "gemma4"),
        ("hfjs-LiquidAI-LFM2.5-VL-450M", "lfm2"),
        ("hfjs-zai-org-GLM-5.1", "glm47"),
        ("ik-GLM-4.6", "glm45"),
        ("ik-GLM-5.2", "glm47"),
        ("lcpp-GLM-4.6", "glm45"),
        ("lcpp-LFM2.5-8B-A1B", "lfm2"),
        ("lcpp-Spark2.5", "spark25"),
        ("lcpp-google-gemma-4-31B-it", "gemma4"),
        ("lcpp-inclusionai-ling-3.0-flash", "ling3"),
        ("lcpp-poolside-Laguna-XS-2.1", "poolside_v1"),
        ("lcpp-poolside-Laguna-XS.2", "poolside_v1"),
        ("trl-glm4moe", "glm45"),
        ("trl-lfm2", "lfm2"),
        ("vllm-gemma4", "gemma4"),
        ("vllm-llama3.2_pythonic", "pythonic"),
        ("vllm-llama4_pythonic", "pythonic"),
        ("vllm-qwen3", ""),
        ("lcpp-MiniMax-M2", ""),
    ] {
        let path = corpus.join("templates").join(format!("{template}.jinja"));
        let text = fs::read_to_string(&path).expect(template);
        let found = detect(&text, &|_| true).tool.map_or("", |(format, _)| format.name);
        let found = if families.contains(&found) { found } else { "" };
        assert_eq!(found, family, "{template}");
    }
}

#[test]
fn formats_write_as_their_templates_do() {
    let arguments = serde_json::json!({"a": "x", "n": 5, "o": {"k": ["v", null]}});
    let call = |name| overt_parse::Written { name, arguments: &arguments, tool: None };
    for (format, wire) in [
        (
            "glm45",
            "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n<arg_key>n</arg_key>\n<arg_value>5</arg_value>\n<arg_key>o</arg_key>\n<arg_value>{\"k\":[\"v\",null]}</arg_value>\n</tool_call>",
        ),
        (
            "glm47",
            "<tool_call>f<arg_key>a</arg_key><arg_value>x</arg_value><arg_key>n</arg_key><arg_value>5</arg_value><arg_key>o</arg_key><arg_value>{\"k\":[\"v\",null]}</arg_value></tool_call>",
        ),
        (
            "ling3",
            "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x</arg_value><arg_key>n</arg_key>\n<arg_value>5</arg_value><arg_key>o</arg_key>\n<arg_value>{\"k\":[\"v\",null]}</arg_value>\n</tool_call>",
        ),
        ("lfm2", "<|tool_call_start|>[f(a='x', n=5, o={'k': ['v', None]})]<|tool_call_end|>"),
        ("pythonic", "[f(a=\"x\", n=5, o={\"k\": [\"v\", None]})]"),
        ("olmo3", "<function_calls>f(a=\"x\", n=5, o={\"k\": [\"v\", None]})</function_calls>"),
        (
            "gemma4",
            "<|tool_call>call:f{a:<|\"|>x<|\"|>,n:5,o:{k:[<|\"|>v<|\"|>,null]}}<tool_call|>",
        ),
        (
            "functiongemma",
            "<start_function_call>call:f{a:<escape>x<escape>,n:5,o:{k:[<escape>v<escape>,null]}}<end_function_call>",
        ),
    ] {
        assert_eq!(tool_format(format).expect(format).write(&[call("f")]), wire);
    }
    let none = serde_json::json!({});
    let empty = |name| overt_parse::Written { name, arguments: &none, tool: None };
    for (format, wire) in [
        (
            "hy_v3",
            "<tool_calls>\n<tool_call>f<tool_sep>\n</tool_call>\n<tool_call>g<tool_sep>\n</tool_call>\n</tool_calls>",
        ),
        (
            "hy_v4",
            "<tool_calls:opensource>\n<tool_call:opensource>f</tool_call:opensource>\n<tool_call:opensource>g</tool_call:opensource>\n</tool_calls:opensource>",
        ),
        (
            "k2_horizon",
            "<ifm|tool_calls>\n<ifm|tool_call>f\n</ifm|tool_call>\n<ifm|tool_call>g\n</ifm|tool_call>\n</ifm|tool_calls>",
        ),
        (
            "iquest_q1",
            "<iquest_tool_call>f</iquest_tool_call><iquest_tool_call>g</iquest_tool_call>",
        ),
        ("olmo3", "<function_calls>f()\ng()</function_calls>"),
        ("pythonic", "[f(), g()]"),
    ] {
        assert_eq!(tool_format(format).expect(format).write(&[empty("f"), empty("g")]), wire);
    }
}
