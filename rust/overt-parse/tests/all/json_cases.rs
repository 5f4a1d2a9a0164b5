//! Reported cases of the families that write calls as JSON, where the checkout has them beside it.

use std::path::Path;

use crate::common::{Answer, How, with};
use serde_json::Value;

const FAMILIES: &[&str] = &[
    "hermes",
    "llama3_json",
    "mistral",
    "kimi_k2",
    "xlam",
    "deepseek_v3",
    "internlm",
    "granite",
    "phi4_mini_json",
];

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn check(case: &Value, answer: &Answer) {
    let (id, expected) = (&case["id"], &case["expected"]);
    // Where fields say how to compare the text, white space at its ends does not count.
    let loose = expected.get("content_compare").is_some();
    if expected.get("content_check").is_none() {
        let content = expected["content"].as_str().unwrap_or_default();
        match loose {
            true => assert_eq!(answer.content.trim(), content.trim(), "{id}"),
            false => assert_eq!(answer.content, content, "{id}"),
        }
    }
    if let Some(reasoning) = expected["reasoning"].as_str() {
        assert_eq!(answer.reasoning.trim(), reasoning.trim(), "{id}");
    }
    let calls = expected["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(answer.calls.len(), calls.len(), "{id} {answer:?}");
    for (call, expected) in answer.calls.iter().zip(calls) {
        assert_eq!(Some(call.name.as_str()), expected["name"].as_str(), "{id}");
        if expected["arguments"].is_object() {
            let arguments: Value =
                serde_json::from_str(&call.arguments).expect("arguments are JSON");
            assert_eq!(arguments, expected["arguments"], "{id}");
        }
    }
    for (call, id) in answer.calls.iter().zip(strings(&expected["ids"])) {
        assert_eq!(call.id, id);
    }
    if expected.get("id_regex").is_some() {
        assert!(
            answer.calls.iter().all(|call| call.id.len() == 9
                && call.id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        );
    }
    if let Some(exact) = expected["arguments_concat_exact"].as_str() {
        assert_eq!(answer.calls[0].arguments, exact, "{id}");
    }
}

#[test]
fn reported_cases() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/cases.jsonl");
    let Ok(cases) = std::fs::read_to_string(path) else {
        println!("no corpus of reported cases beside the checkout: nothing to compare with");
        return;
    };
    let mut count = 0;
    for case in cases.lines().map(|line| serde_json::from_str::<Value>(line).expect("a case")) {
        let (input, request) = (&case["input"], &case["input"]["request"]);
        let Some(family) =
            input["server"]["tool_parser"].as_str().filter(|name| FAMILIES.contains(name))
        else {
            continue;
        };
        let parsing =
            matches!(case["area"].as_str(), Some("1-tool-parsing" | "2-reasoning-parsing"));
        let pieces = strings(&input["model_output"]["pieces"]);
        // Choices other than the model's own, and several choices at once, are tried elsewhere.
        let auto = matches!(request["tool_choice"].as_str(), None | Some("auto" | "required"))
            && !request["tool_choice"].is_object();
        if !parsing || pieces.is_empty() || !auto || !request["tools"].is_array() {
            continue;
        }
        count += 1;
        let mut how: How = with(family, &request["tools"]);
        how.reasoning = input["server"]["reasoning_parser"].as_str().map(str::to_owned);
        how = how.tail(input["rendered_prompt_ends_with"].as_str().unwrap_or_default());
        how = how.specials(&strings(&input["model_output"]["special_token_pieces"]));
        let given: Vec<(String, bool)> = pieces
            .iter()
            .map(|piece| ((*piece).to_owned(), how.specials.iter().any(|s| s == piece)))
            .collect();
        let answer = how.read(&pieces.concat());
        assert_eq!(how.read_pieces(&given), answer, "{}", case["id"]);
        check(&case, &answer);
    }
    println!("{count} cases");
    assert!(count >= 30, "{count} cases");
}
