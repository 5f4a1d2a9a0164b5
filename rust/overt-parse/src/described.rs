//! Formats that are described in a file: the same rows as those that are built in, read when the server starts.
//!
//! ```json
//! {"name": "mine", "reasoning_names": ["mine"],
//!  "thinking": {"open": ["<think>"], "close": ["</think>"]},
//!  "calls": {"channels": {"bodies": [{"marker": "<call>", "body": "calls"}], "ends": ["</call>"], …}}}
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::core::calls::Ids;
use crate::core::thinking::Thinking;
use crate::format::{Answer, Dialect, Format};
use crate::leak::{self, Text};
use crate::{
    Event, Events, Options, Parser, Piece, Tool, Tools, Written, braces, channels, declared,
    elements, json, pairs, pythonic, registry, tags,
};

/// A row as its file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    #[serde(deserialize_with = "leak::text")]
    name: Text,
    #[serde(default, deserialize_with = "leak::list")]
    tool_names: &'static [&'static str],
    #[serde(default, deserialize_with = "leak::list")]
    reasoning_names: &'static [&'static str],
    #[serde(default)]
    thinking: Option<Thinking>,
    #[serde(default)]
    calls: Option<Calls>,
    #[serde(default)]
    answer: Option<Answer>,
    #[serde(default)]
    ids: Ids,
    #[serde(default, deserialize_with = "leak::list")]
    tokens: &'static [&'static str],
    #[serde(default)]
    signs: Vec<Vec<String>>,
}

/// How calls are written: an engine with a family's words.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Calls {
    /// One JSON object a call, or a list of them.
    Json(Box<json::Shape>),
    /// A tag a call, and in it one a parameter.
    Tags(Box<tags::Shape>),
    /// A key and a value a parameter.
    Pairs(Box<pairs::Shape>),
    /// Python's calls.
    Pythonic(Box<pythonic::Shape>),
    /// A name and an object without quotes.
    Braces(Box<braces::Shape>),
    /// Elements in elements.
    Elements(Box<elements::Shape>),
    /// Framed formats.
    Channels(Box<channels::Shape>),
    /// A `response_template`.
    Declared(Value),
}

/// Reads the description of a format: a JSON object with `name`, `tool_names`, `reasoning_names`, `thinking`, `calls`
/// (an engine's name and its words), `answer`, `ids`, `tokens` and `signs`, all but `name` optional. Without names of its own a
/// format that has calls is a tool-call parser of its `name`, and one that thinks a reasoning parser.
///
/// The format lives as long as the process: descriptions are read at start, a handful of them.
///
/// # Errors
///
/// Says what is wrong and where: no JSON, an unknown or missing field, an empty marker, a name that a built-in format
/// has, or neither calls nor thinking.
pub fn described(json: &str) -> Result<&'static Format, String> {
    let row: Row = serde_json::from_str(json).map_err(|error| format!("the format: {error}"))?;
    let named = |what: String| format!("format {:?}: {what}", row.name);
    let fault = |what: String| Err(named(what));
    if row.name.is_empty() {
        return Err("a format needs a name".to_owned());
    }
    if row.calls.is_none() && row.thinking.is_none() {
        return fault("it needs calls, thinking or both".to_owned());
    }
    let lists = row.thinking.map_or(Vec::new(), |thinking| {
        vec![("thinking.open", thinking.open), ("thinking.close", thinking.close)]
    });
    for (field, list) in lists.iter().chain(&[("tokens", row.tokens)]) {
        if list.iter().any(|text| text.is_empty()) {
            return fault(format!("{field} holds an empty text"));
        }
    }
    if row.thinking.is_some_and(|thinking| thinking.close.is_empty()) {
        return fault("thinking.close needs at least one marker".to_owned());
    }
    let own: &'static [&'static str] = Box::leak(Box::new([row.name]));
    let names = |given: &'static [&'static str], has: bool| {
        if given.is_empty() && has { own } else { given }
    };
    let tool_names = names(row.tool_names, row.calls.is_some());
    let reasoning_names = names(row.reasoning_names, row.thinking.is_some());
    if let Some(name) = tool_names.iter().find(|name| registry::tool_format(name).is_some()) {
        return fault(format!("a built-in tool-call parser is named {name:?} already"));
    }
    if let Some(name) =
        reasoning_names.iter().find(|name| registry::reasoning_format(name).is_some())
    {
        return fault(format!("a built-in reasoning parser is named {name:?} already"));
    }
    let (calls, framed): (Option<&'static dyn Dialect>, bool) = match row.calls {
        None => (None, false),
        Some(Calls::Json(shape)) => (Some(Box::leak(shape)), false),
        Some(Calls::Tags(shape)) => (Some(Box::leak(shape)), false),
        Some(Calls::Pairs(shape)) => (Some(Box::leak(shape)), false),
        Some(Calls::Pythonic(shape)) => (Some(Box::leak(shape)), false),
        Some(Calls::Braces(shape)) => (Some(Box::leak(shape)), false),
        Some(Calls::Elements(shape)) => (Some(Box::leak(shape)), false),
        Some(Calls::Channels(shape)) => {
            shape.check().map_err(|error| named(format!("calls.channels: {error}")))?;
            (Some(Box::leak(shape)), true)
        }
        Some(Calls::Declared(template)) => {
            let format =
                declared(&template).map_err(|error| named(format!("calls.declared: {error}")))?;
            (format.calls, true)
        }
    };
    let groups = row.signs.into_iter().map(|group| -> &'static [&'static str] {
        Box::leak(group.into_iter().map(leak::keep).collect())
    });
    let format: &'static Format = Box::leak(Box::new(Format {
        name: row.name,
        tool_names,
        reasoning_names,
        thinking: row.thinking,
        calls,
        framed,
        answer: row.answer,
        ids: row.ids,
        tokens: row.tokens,
        signs: Box::leak(groups.collect()),
    }));
    if calls.is_some() && !reads_back(format) {
        return fault("calls: a call that is written with these words is not read back".to_owned());
    }
    Ok(format)
}

/// Whether a call that the format writes is the call that it reads.
fn reads_back(format: &'static Format) -> bool {
    let arguments = json!({"city": "Oslo", "days": 2});
    let parameters = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"],
    });
    let tool = Tool { name: "get_weather".to_owned(), parameters, strict: false };
    let read = catch_unwind(AssertUnwindSafe(|| {
        let call = Written { name: &tool.name, arguments: &arguments, tool: Some(&tool) };
        let tools = Arc::new(Tools { list: vec![tool.clone()] });
        let mut parser = Parser::new(Some(format), None, Options { tools, ..Options::default() });
        let (mut events, mut read) = (Events::new(), String::new());
        parser.push(Piece { text: &format.write(&[call]), special: false }, &mut events);
        parser.finish(&mut events);
        for event in events.iter() {
            if let Event::ToolArgs { text, .. } = event {
                read.push_str(text);
            }
        }
        serde_json::from_str::<Value>(&read).is_ok_and(|read| read == arguments)
    }));
    read.unwrap_or(false)
}
