//! Public reports about the families of tagged calls: each must hold in every cutting.

use std::path::Path;

use crate::common::{How, with};
use overt_parse::{Event, Events, Piece};
use serde_json::Value;

const FAMILIES: &[&str] = &["qwen3_coder", "minimax_m2", "deepseek_v32", "qwen3"];

/// The cases of these families; none where the corpus is not there.
fn cases() -> Option<Vec<Value>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/cases.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: there is no {}", path.display());
        return None;
    };
    let all = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let ours = |case: &Value| {
        let server = &case["input"]["server"];
        let is = |key: &str| server[key].as_str().is_some_and(|name| FAMILIES.contains(&name));
        let no_other = |key: &str| server[key].is_null() || is(key);
        (is("tool_parser") || is("reasoning_parser"))
            && no_other("tool_parser")
            && no_other("reasoning_parser")
            && case["input"]["model_output"]["pieces"].is_array()
    };
    Some(all.filter(ours).collect())
}

fn how(case: &Value) -> How {
    let input = &case["input"];
    let name = |key: &str| input["server"][key].as_str();
    let none = Value::Array(Vec::new());
    let tools = Some(&input["request"]["tools"]).filter(|tools| tools.is_array()).unwrap_or(&none);
    let mut how = with(name("tool_parser").unwrap_or("qwen3_coder"), tools);
    how.tool = name("tool_parser").map(str::to_owned);
    how.reasoning = name("reasoning_parser").map(str::to_owned);
    if let Some(tail) = input["rendered_prompt_ends_with"].as_str() {
        how = how.tail(tail);
    }
    let server_note = case["expected"]["server_note"].as_str().unwrap_or("");
    how.options.no_thinking =
        input["server_note"].as_str().is_some() || server_note.contains("first token");
    let specials: Vec<&str> = input["model_output"]["special_token_pieces"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    how.specials(&specials)
}

#[test]
fn reports_hold_in_every_cutting() {
    let Some(cases) = cases() else { return };
    assert!(cases.len() >= 12, "{}", cases.len());
    for case in &cases {
        let id = &case["id"];
        let how = how(case);
        let pieces: Vec<&str> = case["input"]["model_output"]["pieces"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let whole = how.read(&pieces.concat());
        let given: Vec<(String, bool)> = pieces
            .iter()
            .map(|text| ((*text).to_owned(), how.specials.iter().any(|s| s == text)))
            .collect();
        assert_eq!(how.read_pieces(&given), whole, "{id}");
        let expected = &case["expected"];
        let text = |key: &str| expected[key].as_str().unwrap_or("").trim().to_owned();
        assert_eq!(whole.content.trim(), text("content"), "{id}");
        assert_eq!(whole.reasoning.trim(), text("reasoning"), "{id}");
        let calls: Vec<(String, Value)> = expected["tool_calls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|call| (call["name"].as_str().unwrap().to_owned(), call["arguments"].clone()))
            .collect();
        assert_eq!(whole.calls(), calls, "{id}");
        if let Some(least) = expected["min_argument_fragments_as_given"].as_u64() {
            assert!(fragments(&how, &pieces) >= least, "{id}");
        }
    }
}

/// How many pieces said more arguments.
fn fragments(how: &How, pieces: &[&str]) -> u64 {
    let mut parser = how.parser();
    let mut out = Events::new();
    let mut count = 0;
    for text in pieces {
        out.clear();
        parser.push(Piece { text, special: false }, &mut out);
        count += u64::from(out.iter().any(|event| matches!(event, Event::ToolArgs { .. })));
    }
    count
}
