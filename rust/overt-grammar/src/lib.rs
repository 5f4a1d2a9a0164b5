//! Structured outputs: what a request may constrain, and the token masks that enforce it.
//!
//! This build constrains no output. [`check`] finds a request that asks for it, so that such a request is
//! refused by name and never answered with text that nothing held to its schema.

use serde_json::Value;

/// A request asks for constrained output, which this build does not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{field} asks for constrained output, but this build does not constrain output: leave {field} out{instead}"
)]
pub struct Unsupported {
    /// The field as the request spells it, such as `response_format`.
    pub field: String,
    /// What may be sent in its place, as the end of a sentence; empty when nothing may.
    instead: &'static str,
}

/// Fields that constrain the output whenever they hold anything.
const CONSTRAINTS: [&str; 10] = [
    "structured_outputs",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "structural_tag",
    "json_schema",
    "regex",
    "ebnf",
    "grammar",
];

/// Looks for a constraint in the body of a chat or completion request. Null and empty values are none,
/// nor is `response_format` of type `text`, nor `tool_choice` `auto` or `none`.
///
/// # Errors
/// [`Unsupported`] names the first field that asks for a constraint.
pub fn check(request: &Value) -> Result<(), Unsupported> {
    let refuse = |field: &str, instead| Err(Unsupported { field: field.to_owned(), instead });
    match request.get("response_format") {
        None | Some(Value::Null) => {}
        Some(format) if format.get("type").and_then(Value::as_str) == Some("text") => {}
        Some(_) => return refuse("response_format", ", or send {\"type\": \"text\"}"),
    }
    match request.get("tool_choice") {
        None | Some(Value::Null) => {}
        Some(choice) if matches!(choice.as_str(), Some("auto" | "none")) => {}
        Some(_) => return refuse("tool_choice", ", or send \"auto\" or \"none\""),
    }
    match CONSTRAINTS.iter().find(|field| request.get(**field).is_some_and(holds_something)) {
        Some(field) => refuse(field, ""),
        None => Ok(()),
    }
}

/// False of null, of empty text, lists and objects, and of objects that hold only such values.
fn holds_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => fields.values().any(|field| !field.is_null()),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use serde_json::{Value, json};

    #[test]
    fn constraints_are_refused_by_name() {
        for (request, field) in [
            (json!({"response_format": {"type": "json_object"}}), "response_format"),
            (
                json!({"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}}),
                "response_format",
            ),
            (json!({"response_format": "text"}), "response_format"),
            (json!({"response_format": {}}), "response_format"),
            (json!({"tool_choice": "required"}), "tool_choice"),
            (
                json!({"tool_choice": {"type": "function", "function": {"name": "f"}}}),
                "tool_choice",
            ),
            (json!({"structured_outputs": {"regex": "a+"}}), "structured_outputs"),
            (json!({"guided_choice": ["a", "b"]}), "guided_choice"),
            (json!({"guided_json": {"type": "object"}}), "guided_json"),
            (json!({"regex": "a+"}), "regex"),
            (json!({"ebnf": "root ::= \"a\""}), "ebnf"),
            (json!({"structural_tag": {"structures": []}}), "structural_tag"),
        ] {
            let error = check(&request).unwrap_err();
            assert_eq!(error.field, field, "{request}");
            let message = error.to_string();
            assert!(
                message.starts_with(field) && message.contains("does not constrain output"),
                "{message}"
            );
        }
    }

    #[test]
    fn requests_without_a_constraint_pass() {
        for request in [
            json!({}),
            json!({"response_format": null, "tool_choice": null, "structured_outputs": null}),
            json!({"response_format": {"type": "text"}, "tool_choice": "auto"}),
            json!({"tool_choice": "none", "tools": [], "regex": ""}),
            json!({"structured_outputs": {}, "guided_choice": [], "guided_json": {"a": null}}),
            Value::Null,
            json!([1, "response_format"]),
        ] {
            assert_eq!(check(&request), Ok(()), "{request}");
        }
    }
}
