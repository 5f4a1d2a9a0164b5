//! Cases from public bug reports, in the cutting that they give and in every other. Those of formats that are still to
//! come are left out.

use std::path::PathBuf;
use std::sync::Arc;

use crate::common::{Answer, How};
use overt_parse::{Choice, Options, Tools, reasoning_format, tool_format};
use serde_json::Value;

fn cases() -> Option<Vec<Value>> {
    let file: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "../../../shared/corpus/cases.jsonl"].iter().collect();
    let text = std::fs::read_to_string(file).ok()?;
    Some(text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect())
}

/// How a case is read; none where a format of its is still to come, or where it is about more than one answer.
fn how(case: &Value) -> Option<How> {
    let input = &case["input"];
    let name = |key: &str| {
        let name = input["server"][key].as_str()?;
        // Some say in brackets what the format is called elsewhere.
        Some(name.split(' ').next().unwrap_or(name).to_owned())
    };
    let (tool, reasoning) = (name("tool_parser"), name("reasoning_parser"));
    let known = tool.as_deref().is_none_or(|name| tool_format(name).is_some())
        && reasoning.as_deref().is_none_or(|name| reasoning_format(name).is_some());
    if !known || input["model_output"].is_null() {
        return None;
    }
    let tools = input["request"]["tools"].as_array().map_or_else(Tools::default, |t| Tools::of(t));
    let choice = match &input["request"]["tool_choice"] {
        Value::String(choice) if choice == "none" => Choice::None,
        Value::String(choice) if choice == "required" => Choice::Required,
        Value::Object(named) => {
            Choice::Named(named["function"]["name"].as_str().expect("a name").to_owned())
        }
        _ => Choice::Auto,
    };
    let note = case["expected"]["server_note"].as_str().unwrap_or_default();
    let options = Options {
        tools: Arc::new(tools),
        choice,
        prompt_tail: input["rendered_prompt_ends_with"].as_str().unwrap_or_default().to_owned(),
        no_thinking: note.contains("first token"),
        ..Options::default()
    };
    let specials = input["model_output"]["special_token_pieces"].as_array();
    let specials = specials.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    Some(How { tool, reasoning, options, specials: specials.collect(), ..How::default() })
}

/// What of an answer is not as the case expects it.
fn fault(case: &Value, answer: &Answer) -> Option<String> {
    let expected = &case["expected"];
    let text = |key: &str| expected[key].as_str().unwrap_or_default();
    let differs = |key: &str, said: &str| {
        let loose = !expected[format!("{key}_compare")].is_null();
        let same = if loose { text(key).trim() == said.trim() } else { text(key) == said };
        (!same).then(|| format!("{key} {said:?}, not {:?}", text(key)))
    };
    if expected["tier"] == "desired" || !expected["content_check"].is_null() {
        return None;
    }
    let calls: Vec<(String, Value)> =
        expected["tool_calls"].as_array().map_or(Vec::new(), |list| {
            let name = |call: &Value| call["name"].as_str().unwrap_or_default().to_owned();
            list.iter().map(|call| (name(call), call["arguments"].clone())).collect()
        });
    let cut =
        expected["arguments_is_prefix"] == true || case["input"]["model_output"]["end"] == "length";
    let wrong = !cut && expected["by_choice"].is_null() && answer.calls() != calls;
    let wrong = wrong.then(|| format!("calls {:?}, not {calls:?}", answer.calls()));
    wrong.or(differs("content", &answer.content)).or(differs("reasoning", &answer.reasoning))
}

#[test]
fn public_cases_hold_in_every_cutting() {
    let Some(cases) = cases() else {
        return; // The cases are not at hand.
    };
    let mut faults = Vec::new();
    let mut held = 0;
    for case in &cases {
        let area = case["area"].as_str().unwrap_or_default();
        if area != "1-tool-parsing" && area != "2-reasoning-parsing" {
            continue;
        }
        let Some(how) = how(case) else { continue };
        let pieces = case["input"]["model_output"]["pieces"].as_array().expect("pieces");
        let pieces: Vec<&str> = pieces.iter().filter_map(Value::as_str).collect();
        let whole = how.read(&pieces.concat());
        let given: Vec<(String, bool)> = pieces
            .iter()
            .map(|piece| ((*piece).to_owned(), how.specials.iter().any(|special| special == piece)))
            .collect();
        assert_eq!(how.read_pieces(&given), whole, "{}", case["id"]);
        if let Some(fault) = fault(case, &whole) {
            faults.push(format!("{}: {fault}", case["id"]));
        }
        held += 1;
    }
    assert!(faults.is_empty(), "of {held}:\n{}", faults.join("\n"));
    assert!(held >= 12, "only {held} cases were read");
}
