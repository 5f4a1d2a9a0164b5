//! The formats that have calls, and tools to call.

use std::sync::Arc;

use overt_parse::{Format, Options, Tool, Tools, Written, formats};
use serde_json::{Value, json};

use super::{Answer, How};

/// The formats that have calls.
pub fn rows() -> Vec<&'static Format> {
    let call = [Written { name: "f", arguments: &json!({}), tool: None }];
    let rows = formats().into_iter();
    rows.filter(|row| !row.tool_names.is_empty() && !row.write(&call).is_empty()).collect()
}

/// Tools of many types.
pub fn tools() -> Tools {
    let tool =
        |name: &str, parameters: Value| Tool { name: name.to_owned(), parameters, strict: false };
    let one = |schema: Value| json!({"type": "object", "properties": {"v": schema}});
    let object = json!({"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "integer"}},
        "text": {"type": "string"},
        "deep": {"type": "array", "items": {"type": "object", "properties": {
            "on": {"type": "boolean"},
            "size": {"type": "number"},
        }}},
    }});
    let weather = json!({"type": "object", "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"type": "string", "enum": ["C", "F"]},
    }, "required": ["city"]});
    Tools {
        list: vec![
            tool("get_weather", weather),
            tool("list_tables", json!({"type": "object", "properties": {}})),
            tool("untyped", Value::Null),
            tool("string", one(json!({"type": "string"}))),
            tool("integer", one(json!({"type": "integer"}))),
            tool("number", one(json!({"type": "number"}))),
            tool("boolean", one(json!({"type": "boolean"}))),
            tool("maybe", one(json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}))),
            tool("array", one(json!({"type": "array", "items": {"type": "string"}}))),
            tool("object", one(object)),
        ],
    }
}

/// Reads that format with these tools.
pub fn how(row: &Format) -> How {
    let options = Options { tools: Arc::new(tools()), ..Options::default() };
    How { tool: Some(row.tool_names[0].to_owned()), options, ..How::default() }
}

/// The calls as the format writes them.
pub fn write(row: &Format, tools: &Tools, calls: &[(&str, Value)]) -> String {
    let calls: Vec<Written<'_>> = calls
        .iter()
        .map(|(name, arguments)| Written { name, arguments, tool: tools.get(name) })
        .collect();
    row.write(&calls)
}

/// Names and arguments, which must be JSON.
pub fn said(answer: &Answer) -> Vec<(&str, Value)> {
    let value = |text: &str| {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("arguments {text:?}: {error}"))
    };
    answer.calls.iter().map(|call| (call.name.as_str(), value(&call.arguments))).collect()
}

/// True of formats that write strings in quotes with escapes: there a string may hold any markup.
pub fn quotes(row: &Format) -> bool {
    let text = write(row, &tools(), &[("string", json!({"v": "a\"b\nc"}))]);
    text.contains(r#"a\"b\nc"#)
}
