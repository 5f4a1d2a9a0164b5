//! The tools that a request declares.

use serde_json::Value;

/// One tool that may be called.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Name of the function.
    pub name: String,
    /// JSON Schema of its arguments; null where none was declared.
    pub parameters: Value,
    /// Its arguments must hold to the schema (`strict: true`).
    pub strict: bool,
}

/// A request's tools in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tools {
    /// The tools, in the request's order.
    pub list: Vec<Tool>,
}

impl Tools {
    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.list.iter().find(|tool| tool.name == name)
    }

    /// Reads `tools` as chat requests spell them: `[{"type": "function", "function": {...}}]`; the inner object
    /// alone is read too. What has no name is left out.
    #[must_use]
    pub fn of(tools: &[Value]) -> Self {
        let read = |tool: &Value| {
            let function = tool.get("function").unwrap_or(tool);
            Some(Tool {
                name: function.get("name")?.as_str()?.to_owned(),
                parameters: function.get("parameters").cloned().unwrap_or(Value::Null),
                strict: function.get("strict").and_then(Value::as_bool).unwrap_or(false),
            })
        };
        Self { list: tools.iter().filter_map(read).collect() }
    }
}
