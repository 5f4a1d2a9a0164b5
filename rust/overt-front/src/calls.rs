//! The tools of a chat, however it spells them: as templates, parsers and constraints take them.

use overt_grammar::Constraint;
use overt_parse::{Choice, Tools};
use serde_json::{Map, Value, json};

use crate::error::RequestError;

/// What a chat says of its tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Wanted {
    /// Functions, custom tools among them as functions of one text.
    pub(crate) tools: Vec<Value>,
    /// Names of the custom tools.
    pub(crate) custom: Vec<String>,
    pub(crate) choice: ToolChoice,
    /// The choice as the request has it.
    pub(crate) asked: Value,
    /// The field that the choice stands in.
    pub(crate) field: &'static str,
}

/// Which calls an answer may or must have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ToolChoice {
    None,
    #[default]
    Auto,
    Required,
    Named(String),
    Allowed {
        names: Vec<String>,
        required: bool,
    },
}

impl ToolChoice {
    /// At least one call must come.
    pub(crate) fn forces(&self) -> bool {
        matches!(self, Self::Required | Self::Named(_) | Self::Allowed { required: true, .. })
    }

    /// Whether this tool may be called.
    pub(crate) fn allows(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::Auto | Self::Required => true,
            Self::Named(named) => named == name,
            Self::Allowed { names, .. } => names.iter().any(|allowed| allowed == name),
        }
    }
}

impl Wanted {
    /// Reads `tools` and `tool_choice`, or the older `functions` and `function_call`.
    pub(crate) fn read(
        tools: Option<Value>,
        choice: Option<&Value>,
        functions: Option<Value>,
        function_call: Option<&Value>,
    ) -> Result<Self, RequestError> {
        let tools = present(tools);
        let functions = present(functions);
        let mut wanted = match (tools, functions) {
            (Some(_), Some(_)) => {
                return Err(RequestError::invalid(
                    "functions",
                    "`functions` is the older spelling of `tools`: send one of them.",
                ));
            }
            (Some(tools), None) => Self::of_tools(&tools)?,
            (None, Some(functions)) => Self::of_functions(functions)?,
            (None, None) => return Ok(Self::default()),
        };
        (wanted.choice, wanted.field) = match (choice, function_call) {
            (None | Some(Value::Null), Some(call)) => (older_choice(call), "function_call"),
            (choice, _) => (choice.map_or(ToolChoice::Auto, tool_choice), "tool_choice"),
        };
        let asked = if wanted.field == "tool_choice" { choice } else { function_call };
        wanted.asked = asked.cloned().unwrap_or_default();
        Ok(wanted)
    }

    fn of_tools(tools: &Value) -> Result<Self, RequestError> {
        let Some(tools) = tools.as_array() else {
            return Err(RequestError::invalid("tools", "`tools` must be a list of objects."));
        };
        let mut wanted = Self::default();
        for (index, tool) in tools.iter().enumerate() {
            let path = format!("tools[{index}]");
            match tool.get("type").and_then(Value::as_str) {
                Some("custom") => {
                    let (name, function) = custom(&path, tool)?;
                    wanted.custom.push(name);
                    wanted.tools.push(function);
                }
                Some("function") | None if tool.get("type").is_none_or(Value::is_string) => {
                    name_of(&format!("{path}.function"), tool.get("function"))?;
                    wanted.tools.push(tool.clone());
                }
                _ => {
                    return Err(RequestError::invalid(
                        format!("{path}.type"),
                        "Tools of type \"function\" and \"custom\" are supported.",
                    ));
                }
            }
        }
        Ok(wanted)
    }

    fn of_functions(functions: Value) -> Result<Self, RequestError> {
        let Value::Array(functions) = functions else {
            return Err(RequestError::invalid(
                "functions",
                "`functions` must be a list of objects.",
            ));
        };
        let mut wanted = Self::default();
        for (index, function) in functions.into_iter().enumerate() {
            name_of(&format!("functions[{index}]"), Some(&function))?;
            wanted.tools.push(json!({"type": "function", "function": function}));
        }
        Ok(wanted)
    }

    /// The tools for the template; none where it is to see none.
    pub(crate) fn shown(&self) -> Option<Value> {
        let shown = !self.tools.is_empty() && self.choice != ToolChoice::None;
        shown.then(|| Value::Array(self.tools.clone()))
    }

    /// The tools that may be called.
    pub(crate) fn callable(&self) -> Tools {
        let mut tools = Tools::of(&self.tools);
        tools.list.retain(|tool| self.choice.allows(&tool.name));
        tools
    }

    /// Where the parameters of this tool stand in the request.
    pub(crate) fn path_of(&self, name: &str) -> String {
        let at = self.tools.iter().position(|tool| tool["function"]["name"] == name).unwrap_or(0);
        match (self.field, self.custom.iter().any(|custom| custom == name)) {
            ("function_call", _) => format!("functions[{at}].parameters"),
            (_, true) => format!("tools[{at}].custom.format"),
            (_, false) => format!("tools[{at}].function.parameters"),
        }
    }

    /// What a parser is told of the choice.
    pub(crate) fn parsed_choice(&self) -> Choice {
        match &self.choice {
            ToolChoice::None => Choice::None,
            ToolChoice::Auto | ToolChoice::Allowed { required: false, .. } => Choice::Auto,
            ToolChoice::Required | ToolChoice::Allowed { .. } => Choice::Required,
            ToolChoice::Named(name) => Choice::Named(name.clone()),
        }
    }
}

/// A list that is not empty.
fn present(list: Option<Value>) -> Option<Value> {
    list.filter(|list| !list.is_null() && list.as_array().is_none_or(|items| !items.is_empty()))
}

fn name_of(path: &str, function: Option<&Value>) -> Result<String, RequestError> {
    let name = function.and_then(|function| function.get("name")).and_then(Value::as_str);
    name.filter(|name| !name.is_empty()).map(ToOwned::to_owned).ok_or_else(|| {
        RequestError::invalid(
            format!("{path}.name"),
            "Every tool needs a `name` that is a non-empty string.",
        )
    })
}

/// A custom tool's name, and the function of one text that stands for it.
fn custom(path: &str, tool: &Value) -> Result<(String, Value), RequestError> {
    let path = format!("{path}.custom");
    let custom = tool.get("custom");
    let name = name_of(&path, custom)?;
    let mut input = Map::new();
    input.insert("type".into(), "string".into());
    let format = custom.and_then(|custom| custom.get("format")).filter(|format| !format.is_null());
    match format.map(|format| (format, format.get("type").and_then(Value::as_str))) {
        None | Some((_, Some("text"))) => {}
        Some((format, Some("grammar"))) => {
            let grammar = format.get("grammar").unwrap_or(format);
            let syntax = grammar.get("syntax").and_then(Value::as_str);
            let definition = grammar.get("definition").and_then(Value::as_str);
            let (Some("regex"), Some(definition)) = (syntax, definition) else {
                return Err(RequestError::invalid(
                    format!("{path}.format"),
                    "A custom tool's grammar must be {\"syntax\": \"regex\", \"definition\": \"…\"}: the input stands \
                     inside a JSON string here, which only a regular expression can be held to.",
                ));
            };
            // By itself it must be one: what is put around it must not make it one.
            let alone = Constraint::Regex(definition.to_owned());
            let options = overt_grammar::Options::default();
            overt_grammar::source(&alone, &format!("{path}.format"), &options).map_err(
                |error| {
                    let message = format!("`{}`: {}.", error.param, error.message);
                    RequestError::invalid(error.param, message)
                },
            )?;
            input.insert("pattern".into(), format!("^(?:{definition})$").into());
        }
        Some(_) => {
            return Err(RequestError::invalid(
                format!("{path}.format.type"),
                "The format of a custom tool must be of type \"text\" or \"grammar\".",
            ));
        }
    }
    let mut function = Map::new();
    function.insert("name".into(), name.clone().into());
    if let Some(description) =
        custom.and_then(|custom| custom.get("description")).filter(|it| it.is_string())
    {
        function.insert("description".into(), description.clone());
    }
    let held = input.contains_key("pattern");
    function.insert(
        "parameters".into(),
        json!({
            "type": "object",
            "properties": {"input": input},
            "required": ["input"],
            "additionalProperties": false,
        }),
    );
    if held {
        function.insert("strict".into(), true.into());
    }
    Ok((name, json!({"type": "function", "function": function})))
}

/// What has another form counts as auto: the field table has checked it.
fn tool_choice(choice: &Value) -> ToolChoice {
    match choice.as_str() {
        Some("none") => return ToolChoice::None,
        Some("required") => return ToolChoice::Required,
        Some(_) => return ToolChoice::Auto,
        None => {}
    }
    let named = |tool: &Value| {
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or("function");
        tool.get(kind)?.get("name")?.as_str().map(ToOwned::to_owned)
    };
    match choice.get("type").and_then(Value::as_str) {
        Some("allowed_tools") => {
            let allowed = choice.get("allowed_tools").unwrap_or(choice);
            let tools = allowed.get("tools").and_then(Value::as_array);
            ToolChoice::Allowed {
                names: tools.into_iter().flatten().filter_map(named).collect(),
                required: allowed.get("mode").and_then(Value::as_str) == Some("required"),
            }
        }
        _ => named(choice).map_or(ToolChoice::Auto, ToolChoice::Named),
    }
}

fn older_choice(call: &Value) -> ToolChoice {
    match (call.as_str(), call.get("name").and_then(Value::as_str)) {
        (Some("none"), _) => ToolChoice::None,
        (None, Some(name)) => ToolChoice::Named(name.to_owned()),
        _ => ToolChoice::Auto,
    }
}

/// Rewrites calls of custom tools and of the older `functions` in a conversation's messages as calls of functions.
pub(crate) fn rewrite_messages(messages: &mut Value) {
    let mut last = String::new();
    for (index, message) in messages.as_array_mut().into_iter().flatten().enumerate() {
        let Value::Object(message) = message else { continue };
        if let Some(calls) = message.get_mut("tool_calls").and_then(Value::as_array_mut) {
            calls.iter_mut().for_each(rewrite_call);
        }
        if let Some(call) = message.remove("function_call").filter(Value::is_object) {
            last = format!("call_{index}");
            let call = json!({"id": last, "type": "function", "function": call});
            message.entry("tool_calls").or_insert_with(|| json!([call]));
        }
        if message.get("role").and_then(Value::as_str) == Some("function") {
            message.insert("role".into(), "tool".into());
            if !last.is_empty() {
                message.entry("tool_call_id").or_insert_with(|| last.clone().into());
            }
        }
    }
}

fn rewrite_call(call: &mut Value) {
    let Some(custom) = call.get("custom").filter(|_| call["type"] == "custom") else { return };
    let name = custom.get("name").cloned().unwrap_or_default();
    let input = custom.get("input").cloned().unwrap_or_default();
    let function = json!({"name": name, "arguments": json!({"input": input}).to_string()});
    if let Value::Object(call) = call {
        call.remove("custom");
        call.insert("type".into(), "function".into());
        call.insert("function".into(), function);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ToolChoice, Wanted, rewrite_messages};

    fn read(body: &Value) -> Wanted {
        let member = |name: &str| body.get(name).cloned();
        Wanted::read(
            member("tools"),
            body.get("tool_choice"),
            member("functions"),
            body.get("function_call"),
        )
        .unwrap()
    }

    #[test]
    fn choices_are_read_in_every_spelling() {
        let tools = json!([{"type": "function", "function": {"name": "f"}},
                           {"type": "custom", "custom": {"name": "c"}}]);
        let function = json!({"type": "function", "function": {"name": "f"}});
        let custom = json!({"type": "custom", "custom": {"name": "c"}});
        for (choice, expected) in [
            (json!(null), ToolChoice::Auto),
            (json!("none"), ToolChoice::None),
            (json!("required"), ToolChoice::Required),
            (function.clone(), ToolChoice::Named("f".into())),
            (custom.clone(), ToolChoice::Named("c".into())),
            (
                json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [function, custom]}}),
                ToolChoice::Allowed { names: vec!["f".into(), "c".into()], required: true },
            ),
        ] {
            let wanted = read(&json!({"tools": tools, "tool_choice": choice}));
            assert_eq!(wanted.choice, expected);
            assert_eq!(wanted.shown().is_some(), expected != ToolChoice::None);
        }
        let older = json!({"functions": [{"name": "f"}], "function_call": {"name": "f"}});
        let wanted = read(&older);
        assert_eq!((wanted.choice, wanted.field), (ToolChoice::Named("f".into()), "function_call"));
        assert_eq!(wanted.tools, [json!({"type": "function", "function": {"name": "f"}})]);
    }

    #[test]
    fn custom_tools_are_functions_of_one_text() {
        let grammar =
            json!({"type": "grammar", "grammar": {"syntax": "regex", "definition": "a+"}});
        let tool = json!({"type": "custom", "custom": {"name": "c", "description": "d", "format": grammar}});
        let wanted = read(&json!({"tools": [tool]}));
        assert_eq!(wanted.custom, ["c"]);
        let function = &wanted.tools[0]["function"];
        assert_eq!(function["parameters"]["properties"]["input"]["pattern"], "^(?:a+)$");
        assert_eq!((&function["description"], &function["strict"]), (&json!("d"), &json!(true)));
        let lark =
            json!({"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: \"a\""}});
        let tool = json!([{"type": "custom", "custom": {"name": "c", "format": lark}}]);
        let refused = Wanted::read(Some(tool), None, None, None).unwrap_err();
        assert_eq!(refused.body.param.as_deref(), Some("tools[0].custom.format"));
    }

    #[test]
    fn older_and_custom_calls_of_a_conversation_become_calls_of_functions() {
        let mut messages = json!([
            {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "1"},
            {"role": "assistant", "tool_calls": [{"id": "x", "type": "custom", "custom": {"name": "c", "input": "a\"b"}}]},
        ]);
        rewrite_messages(&mut messages);
        assert_eq!(
            messages,
            json!([
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "call_0", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "name": "f", "content": "1", "tool_call_id": "call_0"},
                {"role": "assistant", "tool_calls": [
                    {"id": "x", "type": "function", "function": {"name": "c", "arguments": "{\"input\":\"a\\\"b\"}"}}]},
            ])
        );
    }
}
