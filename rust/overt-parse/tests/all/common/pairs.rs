//! Tools of every type, for formats of pairs.

use super::{How, with};
use serde_json::{Value, json};

pub fn tools() -> Value {
    let tool = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    json!([
        tool("now", json!({"type": "object", "properties": {}})),
        tool(
            "mcp__gmail-cleanup__list.filters",
            json!({"type": "object", "properties": {"max": {"type": "integer"}}})
        ),
        tool(
            "edit",
            json!({
                "type": "object",
                "$defs": {"id": {"type": "string"}},
                "properties": {
                    "path": {"type": "string"},
                    "id": {"$ref": "#/$defs/id"},
                    "line": {"type": "integer"},
                    "ratio": {"type": "number"},
                    "force": {"type": "boolean"},
                    "tags": {"type": "array"},
                    "options": {"type": "object"},
                    "note": {"type": ["string", "null"]},
                    "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                    "mode": {"enum": ["1", "true", "none"]},
                },
            })
        ),
    ])
}

pub fn how(format: &str) -> How {
    with(format, &tools())
}

pub fn check(how: &How, text: &str, content: &str, calls: &Value) {
    let answer = how.read(text);
    assert_eq!(answer.content, content, "{text}");
    let said: Vec<Value> =
        answer.calls().into_iter().map(|(name, arguments)| json!([name, arguments])).collect();
    assert_eq!(Value::Array(said), *calls, "{text}");
}
