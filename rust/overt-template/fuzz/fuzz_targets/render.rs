//! Template, messages and variables, a NUL between them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use overt_template::{RenderInput, Template, Wants, normalise};
use serde_json::{Map, Value, json};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.splitn(3, '\0');
    let (source, messages, kwargs) = (parts.next(), parts.next(), parts.next());
    let Ok(template) = Template::compile(source.unwrap_or_default()) else { return };
    let read = |part: Option<&str>| part.and_then(|text| serde_json::from_str(text).ok());
    let mut messages = read(messages).unwrap_or_else(|| {
        json!([
            {"role": "user", "content": "Hi {\"a\": 1} é"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"x\": [1.5, null]}"}}
            ]},
            {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "so"}]},
        ])
    });
    let mut tools = Some(json!([{"type": "function", "function": {"name": "f", "parameters": {}}}]));
    let kwargs = match read(kwargs) {
        Some(Value::Object(kwargs)) => kwargs,
        _ => Map::new(),
    };
    let wants = Wants::probe(&template, &Map::new());
    if normalise(&mut messages, &mut tools, &wants).is_err() {
        return;
    }
    let input = RenderInput {
        messages,
        tools,
        documents: None,
        add_generation_prompt: data.len() % 2 == 0,
        continue_final_message: data.len() % 7 == 1,
        kwargs,
        special_tokens: Map::new(),
    };
    let rendered = template.render_at(&input, 0);
    let traced = template.trace_at(&input, 0);
    if let (Ok(text), Ok(traced)) = (rendered, traced) {
        assert_eq!(text, traced.text, "a trace has the same text");
        let mut at = 0;
        for span in &traced.spans {
            assert!(span.start == at && span.end > at, "spans follow each other");
            at = span.end;
        }
        assert_eq!(at, text.len(), "spans cover the text");
    }
});
