//! The text parts of a request's body: messages, tools, prompts. Read from the client's own bytes.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::calls::{Wanted, rewrite_messages};
use crate::error::RequestError;

/// The part of a chat body that the template sees.
#[derive(Debug)]
pub(crate) struct ChatBody {
    pub(crate) messages: Value,
    /// The tools that the template sees.
    pub(crate) tools: Option<Value>,
    pub(crate) wanted: Wanted,
    pub(crate) documents: Option<Value>,
    pub(crate) chat_template_kwargs: Option<Map<String, Value>>,
}

/// A chat body's members, each to be read by itself, so that a fault names its field.
#[derive(Deserialize)]
struct RawChat<'a> {
    #[serde(borrow)]
    messages: &'a RawValue,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_choice: Option<&'a RawValue>,
    #[serde(borrow, default)]
    functions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function_call: Option<&'a RawValue>,
    #[serde(borrow, default)]
    documents: Option<&'a RawValue>,
    #[serde(borrow, default)]
    chat_template_kwargs: Option<&'a RawValue>,
}

impl ChatBody {
    /// The place of the first message without content that no calls excuse: what a template most often fails at.
    pub(crate) fn without_content(messages: &Value) -> Option<usize> {
        let messages = messages.as_array()?;
        messages.iter().position(|message| {
            message.get("content").is_none_or(Value::is_null)
                && message.get("tool_calls").is_none_or(Value::is_null)
        })
    }

    /// Makes a last message of the assistant one of the user.
    pub(crate) fn last_assistant_to_user(&mut self) {
        let last = self.messages.as_array_mut().and_then(|messages| messages.last_mut());
        if let Some(Value::Object(message)) = last
            && message.get("role").and_then(Value::as_str) == Some("assistant")
        {
            message.insert("role".into(), Value::String("user".into()));
        }
    }
}

/// One prompt of a completions body.
#[derive(Debug, PartialEq)]
pub(crate) enum Prompt {
    Text(String),
    Ids(Vec<u32>),
}

#[derive(Deserialize)]
struct RawCompletion<'a> {
    #[serde(borrow)]
    prompt: &'a RawValue,
}

/// Reads a chat body and checks what the template relies on.
pub(crate) fn chat(body: &[u8]) -> Result<ChatBody, RequestError> {
    let raw: RawChat<'_> = parse(body)?;
    let choice: Option<Value> = optional("tool_choice", raw.tool_choice)?;
    let call: Option<Value> = optional("function_call", raw.function_call)?;
    let wanted = Wanted::read(
        optional("tools", raw.tools)?,
        choice.as_ref(),
        optional("functions", raw.functions)?,
        call.as_ref(),
    )?;
    let mut body = ChatBody {
        messages: member("messages", raw.messages)?,
        tools: wanted.shown(),
        wanted,
        documents: optional("documents", raw.documents)?,
        chat_template_kwargs: optional("chat_template_kwargs", raw.chat_template_kwargs)?,
    };
    rewrite_messages(&mut body.messages);
    let Value::Array(messages) = &body.messages else {
        return Err(RequestError::invalid("messages", "`messages` must be a list of objects."));
    };
    if messages.is_empty() {
        return Err(RequestError::invalid(
            "messages",
            "`messages` must hold at least one message.",
        ));
    }
    for (index, message) in messages.iter().enumerate() {
        check_message(index, message)?;
    }
    Ok(body)
}

fn check_message(index: usize, message: &Value) -> Result<(), RequestError> {
    let path = format!("messages[{index}]");
    let Value::Object(message) = message else {
        return Err(RequestError::invalid(path, "A message must be an object with a `role`."));
    };
    match message.get("role") {
        Some(Value::String(role)) if !role.is_empty() => {}
        _ => {
            return Err(RequestError::invalid(
                format!("{path}.role"),
                "Every message needs a `role`: a string such as \"system\", \"user\", \"assistant\" or \"tool\".",
            ));
        }
    }
    if let Some(content) = message.get("content") {
        check_content(&format!("{path}.content"), content)?;
    }
    if let Some(calls) = message.get("tool_calls") {
        check_calls(&format!("{path}.tool_calls"), calls)?;
    }
    Ok(())
}

/// A string, or parts of text.
fn check_content(path: &str, content: &Value) -> Result<(), RequestError> {
    let parts = match content {
        Value::Null | Value::String(_) => return Ok(()),
        Value::Array(parts) => parts,
        _ => {
            return Err(RequestError::invalid(
                path,
                "`content` must be a string, null or a list of parts.",
            ));
        }
    };
    for (index, part) in parts.iter().enumerate() {
        let kind = part.get("type").and_then(Value::as_str);
        let text = part.get("text").and_then(Value::as_str);
        match (kind, text) {
            (Some("text"), Some(_)) => {}
            (Some("text") | None, _) => {
                return Err(RequestError::invalid(
                    format!("{path}[{index}]"),
                    "A content part must be an object like {\"type\": \"text\", \"text\": \"…\"}.",
                ));
            }
            (Some(kind), _) => {
                return Err(RequestError::invalid(
                    format!("{path}[{index}].type"),
                    format!(
                        "Content parts of type \"{}\" are not supported by this model; use \"text\".",
                        shorten(kind)
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Calls with a named function. Whether their arguments are an object is for the template to say.
fn check_calls(path: &str, calls: &Value) -> Result<(), RequestError> {
    let calls = match calls {
        Value::Null => return Ok(()),
        Value::Array(calls) => calls,
        _ => return Err(RequestError::invalid(path, "`tool_calls` must be a list of objects.")),
    };
    for (index, call) in calls.iter().enumerate() {
        let path = format!("{path}[{index}].function");
        let Some(function) = call.get("function").and_then(Value::as_object) else {
            return Err(RequestError::invalid(
                path,
                "A tool call needs a `function` with `name` and `arguments`.",
            ));
        };
        if function.get("name").is_none_or(|name| name.as_str().is_none_or(str::is_empty)) {
            return Err(RequestError::invalid(
                format!("{path}.name"),
                "A tool call needs the `name` of its function: a non-empty string.",
            ));
        }
        if !matches!(
            function.get("arguments"),
            None | Some(Value::Null | Value::String(_) | Value::Object(_))
        ) {
            return Err(RequestError::invalid(
                format!("{path}.arguments"),
                "`arguments` must be the text of a JSON object, or an object.",
            ));
        }
    }
    Ok(())
}

/// Reads the prompts of a completions body; ids are checked against the vocabulary.
pub(crate) fn prompts(body: &[u8], vocab_size: u32) -> Result<Vec<Prompt>, RequestError> {
    let raw: RawCompletion<'_> = parse(body)?;
    match member("prompt", raw.prompt)? {
        Value::String(text) => Ok(vec![Prompt::Text(text)]),
        Value::Array(items) if items.is_empty() => {
            Err(RequestError::invalid("prompt", "`prompt` must not be an empty list."))
        }
        Value::Array(items) if items.iter().all(Value::is_number) => {
            Ok(vec![Prompt::Ids(ids("prompt", &items, vocab_size)?)])
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| match item {
                Value::String(text) if items[0].is_string() => Ok(Prompt::Text(text.clone())),
                Value::Array(items_of_one) if items[0].is_array() => {
                    let items = items_of_one;
                    Ok(Prompt::Ids(ids(&format!("prompt[{index}]"), items, vocab_size)?))
                }
                _ => Err(RequestError::invalid(
                    format!("prompt[{index}]"),
                    "A prompt in a list must be a string or a list of token ids, and all of one kind.",
                )),
            })
            .collect(),
        _ => Err(RequestError::invalid(
            "prompt",
            "`prompt` must be a string, a list of strings, a list of token ids or a list of such lists.",
        )),
    }
}

fn ids(path: &str, items: &[Value], vocab_size: u32) -> Result<Vec<u32>, RequestError> {
    if items.is_empty() {
        return Err(RequestError::invalid(
            path,
            format!("`{path}` must hold at least one token id."),
        ));
    }
    items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let id = item.as_u64().filter(|id| *id < u64::from(vocab_size));
            id.and_then(|id| u32::try_from(id).ok()).ok_or_else(|| {
                RequestError::invalid(
                    format!("{path}[{index}]"),
                    format!(
                        "{} is no token id of this model: ids are integers from 0 to {}.",
                        shorten(&item.to_string()),
                        vocab_size.saturating_sub(1)
                    ),
                )
            })
        })
        .collect()
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, RequestError> {
    serde_json::from_slice(body).map_err(|error| {
        RequestError::bad(format!(
            "The body is not the JSON this route reads (line {}, column {}).",
            error.line(),
            error.column()
        ))
    })
}

/// One member of the body.
fn member<T: DeserializeOwned>(name: &str, raw: &RawValue) -> Result<T, RequestError> {
    if let Some(wide) = overt_template::wide_integer(raw.get()) {
        let place = if wide.path.is_empty() { String::new() } else { format!(" at {}", wide.path) };
        return Err(RequestError::invalid(
            name,
            format!(
                "`{name}` has the integer {}{}, which 64 bits do not hold. Send it as a string, or as a float with a \
                 decimal point.",
                shorten(&wide.literal),
                shorten(&place)
            ),
        ));
    }
    serde_json::from_str(raw.get()).map_err(|_| {
        RequestError::invalid(
            name,
            format!(
                "`{name}` holds something that cannot be read: a number beyond 64-bit floats, half of a surrogate \
                 pair, or a value of the wrong type."
            ),
        )
    })
}

fn optional<T: DeserializeOwned>(
    name: &str,
    raw: Option<&RawValue>,
) -> Result<Option<T>, RequestError> {
    raw.map_or(Ok(None), |raw| member(name, raw))
}

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(result: Result<impl std::fmt::Debug, RequestError>) -> String {
        result.unwrap_err().body.param.unwrap_or_default()
    }

    #[test]
    fn faults_are_named_by_their_path() {
        let cases = [
            (r#"{"messages": 3}"#, "messages"),
            (r#"{"messages": []}"#, "messages"),
            (r#"{"messages": ["x"]}"#, "messages[0]"),
            (r#"{"messages": [{"content": "x"}]}"#, "messages[0].role"),
            (r#"{"messages": [{"role": "user", "content": 1}]}"#, "messages[0].content"),
            (
                r#"{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}"#,
                "messages[0].content[0].type",
            ),
            (r#"{"messages": [{"role": "user", "content": ["x"]}]}"#, "messages[0].content[0]"),
            (
                r#"{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": 3}}]}]}"#,
                "messages[0].tool_calls[0].function.arguments",
            ),
            (
                r#"{"messages": [{"role": "user"}], "tools": [{"type": "function"}]}"#,
                "tools[0].function.name",
            ),
        ];
        for (body, expected) in cases {
            assert_eq!(param(chat(body.as_bytes())), expected, "{body}");
        }
    }

    #[test]
    fn tools_count_unless_they_are_none_or_unwanted() {
        let tool = r#"[{"type": "function", "function": {"name": "f"}}]"#;
        for (rest, kept) in [
            (format!(r#""tools": {tool}"#), true),
            (format!(r#""tools": {tool}, "tool_choice": "none""#), false),
            (r#""tools": []"#.to_owned(), false),
            (r#""tools": null"#.to_owned(), false),
        ] {
            let body = format!(r#"{{"messages": [{{"role": "user", "content": "a"}}], {rest}}}"#);
            assert_eq!(chat(body.as_bytes()).unwrap().tools.is_some(), kept, "{body}");
        }
    }

    #[test]
    fn prompts_of_every_kind() {
        let read = |body: &str| prompts(body.as_bytes(), 10);
        assert_eq!(read(r#"{"prompt": "a"}"#).unwrap(), [Prompt::Text("a".into())]);
        assert_eq!(
            read(r#"{"prompt": ["a", "b"]}"#).unwrap(),
            [Prompt::Text("a".into()), Prompt::Text("b".into())]
        );
        assert_eq!(read(r#"{"prompt": [1, 2]}"#).unwrap(), [Prompt::Ids(vec![1, 2])]);
        assert_eq!(
            read(r#"{"prompt": [[1], [2, 9]]}"#).unwrap(),
            [Prompt::Ids(vec![1]), Prompt::Ids(vec![2, 9])]
        );
        assert_eq!(param(read(r#"{"prompt": [1, 10]}"#)), "prompt[1]");
        assert_eq!(param(read(r#"{"prompt": [[1], [-1]]}"#)), "prompt[1][0]");
        assert_eq!(param(read(r#"{"prompt": [1.5]}"#)), "prompt[0]");
        assert_eq!(param(read(r#"{"prompt": ["a", 1]}"#)), "prompt[1]");
        assert_eq!(param(read(r#"{"prompt": []}"#)), "prompt");
        assert_eq!(param(read(r#"{"prompt": {}}"#)), "prompt");
    }

    #[test]
    fn integers_that_would_become_floats_are_refused() {
        let messages = r#""messages": [{"role": "user", "content": "a"}]"#;
        for (body, field) in [
            (
                r#"{"messages": [{"role": "user", "content": "a", "k": 18446744073709551616}]}"#
                    .to_owned(),
                "messages",
            ),
            (
                format!(
                    r#"{{{messages}, "tools": [{{"type": "function", "function": {{"name": "f", "parameters": {{"maximum": -9223372036854775809}}}}}}]}}"#
                ),
                "tools",
            ),
            (
                format!(r#"{{{messages}, "documents": [{{"n": 18446744073709551616}}]}}"#),
                "documents",
            ),
            (
                format!(
                    r#"{{{messages}, "chat_template_kwargs": {{"n": 100000000000000000000}}}}"#
                ),
                "chat_template_kwargs",
            ),
        ] {
            let error = chat(body.as_bytes()).unwrap_err().body;
            assert_eq!((error.status, error.param.as_deref()), (400, Some(field)), "{body}");
            assert!(error.message.contains("64 bits"), "{}", error.message);
        }
        let fits =
            format!(r#"{{{messages}, "chat_template_kwargs": {{"n": 18446744073709551615}}}}"#);
        let kwargs = chat(fits.as_bytes()).unwrap().chat_template_kwargs.unwrap();
        assert_eq!(kwargs["n"].as_u64(), Some(u64::MAX));
    }

    #[test]
    fn lone_surrogates_and_broken_json_are_bad_requests() {
        for body in [&br#"{"prompt": "\ud800"}"#[..], b"{", b"\xff", b"[]"] {
            assert_eq!(prompts(body, 10).unwrap_err().body.status, 400);
        }
    }
}
