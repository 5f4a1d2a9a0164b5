//! Conversations that clients reported to fail on servers, normalised and rendered.

use std::path::Path;

use overt_template::{RenderInput, Template, Wants, normalise};
use serde_json::{Map, Value};

/// 2025-01-24 13:05:09, which the cases are pinned to.
const CLOCK: i64 = 1_737_723_909;

/// The prompt, or why there is none.
fn prompt(input: &Value) -> Result<String, String> {
    let request = &input["request"];
    let template = Template::compile(input["chat_template"].as_str().unwrap())
        .map_err(|error| error.to_string())?;
    let wants = Wants::probe(&template, &Map::new());
    let mut messages = request["messages"].clone();
    let mut tools = request.get("tools").cloned();
    normalise(&mut messages, &mut tools, &wants).map_err(|unfit| unfit.to_string())?;
    let continued = request["continue_final_message"] == true;
    let input = RenderInput {
        messages,
        tools,
        add_generation_prompt: request.get("add_generation_prompt").is_none_or(|add| *add == true)
            && !continued,
        continue_final_message: continued,
        ..RenderInput::default()
    };
    template.render_at(&input, CLOCK).map_err(|error| error.to_string())
}

#[test]
fn reported_conversations_render() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/cases.jsonl");
    let Ok(cases) = std::fs::read_to_string(path) else {
        println!("no corpus of cases beside the checkout: nothing to render");
        return;
    };
    let mut rendered = 0;
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if case["area"] != "4-chat-template" {
            continue;
        }
        let (id, expected) = (&case["id"], &case["expected"]);
        let got = prompt(&case["input"]);
        if let Some(prompt) = expected["rendered_prompt"].as_str() {
            assert_eq!(got.as_deref(), Ok(prompt), "{id}");
        } else {
            assert_eq!(expected["status"], 400, "{id}");
            let message = got.err().unwrap();
            for word in expected["message_contains"].as_array().unwrap() {
                assert!(message.contains(word.as_str().unwrap()), "{id}: {message}");
            }
        }
        rendered += 1;
    }
    assert!(rendered >= 20, "only {rendered} cases of templates found");
}
