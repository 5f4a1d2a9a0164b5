//! Reads and checks a declaration.

use serde_json::{Map, Value};

use super::content::{self, Content};
use super::delimiter::Delimiter;
use super::source::{CallSource, Source};
use crate::json::Keys;
use crate::leak;

/// A grammar that a checkpoint declares.
#[derive(Debug)]
pub(super) struct Declaration {
    pub(super) fields: Vec<Field>,
    /// The field that holds what no other does.
    pub(super) implicit: Option<usize>,
    /// Behind its last match the answer begins.
    pub(super) anchor: regex::Regex,
    /// Fixed texts at which calls begin.
    pub(super) openers: &'static [&'static str],
}

/// One region of output.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) open: Option<Delimiter>,
    pub(super) close: Option<Delimiter>,
    pub(super) role: Role,
    pub(super) content: Content,
    /// Keys of calls that can be read as they come.
    pub(super) keys: Option<Keys>,
    /// What stands between two of them.
    pub(super) join: String,
}

/// What a region is.
#[derive(Debug)]
pub(super) enum Role {
    Text,
    Reasoning,
    Calls(CallSource),
}

/// What each part of an answer may be called.
const TEXT: &[&str] = &["content"];
const REASONING: &[&str] = &["reasoning_content", "reasoning", "thinking"];
const CALLS: &[&str] = &["tool_calls"];

/// Reads a `response_template`.
pub(super) fn declaration(template: &Value) -> Result<Declaration, String> {
    let Value::Object(spec) = template else {
        return Err("a response_template must be an object".to_owned());
    };
    if spec.contains_key("properties") && !spec.contains_key("fields") {
        return Err(
            "this is a response_schema, the older form, which transformers no longer reads \
                    either: the checkpoint needs a response_template"
                .to_owned(),
        );
    }
    allowed(
        spec,
        &["version", "defaults", "fields", "start_anchor", "start_anchor_pattern"],
        "a response_template",
    )?;
    match spec.get("version") {
        None => {}
        Some(version) if version == 1 => {}
        Some(version) => {
            return Err(format!("response_template version {version} is not known: 1 is"));
        }
    }
    let Some(Value::Object(raw)) =
        spec.get("fields").filter(|fields| *fields != &Value::Object(Map::new()))
    else {
        return Err("a response_template needs fields: an object that is not empty".to_owned());
    };
    let mut fields = Vec::new();
    for (name, value) in raw {
        fields.push(field(name, value).map_err(|error| format!("field {name:?}: {error}"))?);
    }
    let mut open = fields.iter().enumerate().filter(|(_, field)| field.open.is_none());
    let implicit = open.next().map(|(index, _)| index);
    if open.next().is_some() {
        return Err("only one field may do without open or open_pattern".to_owned());
    }
    if let Some(Role::Calls(_)) = implicit.map(|index| &fields[index].role) {
        return Err("field \"tool_calls\": it needs open or open_pattern".to_owned());
    }
    let openers = openers(&fields);
    Ok(Declaration { fields, implicit, anchor: anchor(spec)?, openers })
}

fn allowed(object: &Map<String, Value>, keys: &[&str], what: &str) -> Result<(), String> {
    match object.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(format!("{what} has no {key:?}: it may have {keys:?}")),
        None => Ok(()),
    }
}

/// The one or several texts under `key`.
fn texts(object: &Map<String, Value>, key: &str) -> Result<Option<Vec<String>>, String> {
    let list = match object.get(key) {
        None => return Ok(None),
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(items)) => {
            items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(_) => Vec::new(),
    };
    let whole =
        object.get(key).and_then(Value::as_array).is_none_or(|items| items.len() == list.len());
    if list.is_empty() || !whole || list.iter().any(String::is_empty) {
        return Err(format!("{key} must be a text, or a list of texts, none of them empty"));
    }
    Ok(Some(list))
}

fn delimiter(object: &Map<String, Value>, key: &str) -> Result<Option<Delimiter>, String> {
    let pattern_key = format!("{key}_pattern");
    match (texts(object, key)?, object.get(&pattern_key)) {
        (Some(_), Some(_)) => Err(format!("{key} and {pattern_key} cannot both be given")),
        (Some(list), None) => Delimiter::literals(list).map(Some),
        (None, Some(Value::String(pattern))) => {
            Delimiter::pattern(pattern).map(Some).map_err(|error| format!("{pattern_key}: {error}"))
        }
        (None, Some(_)) => Err(format!("{pattern_key} must be a text")),
        (None, None) => Ok(None),
    }
}

fn field(name: &str, value: &Value) -> Result<Field, String> {
    let Value::Object(spec) = value else { return Err("it must be an object".to_owned()) };
    allowed(
        spec,
        &[
            "open",
            "open_pattern",
            "close",
            "close_pattern",
            "content",
            "content_args",
            "repeats",
            "join",
            "optional",
            "transform",
            "transform_each",
        ],
        "a field",
    )?;
    let (open, close) = (delimiter(spec, "open")?, delimiter(spec, "close")?);
    let kind = spec.get("content").map_or(Some("text"), Value::as_str);
    let kind = kind.ok_or("content must be a text")?;
    let content = content::load(kind, spec.get("content_args").unwrap_or(&Value::Null))?;
    let join = match spec.get("join") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(join)) => join.clone(),
        Some(_) => return Err("join must be a text".to_owned()),
    };
    let each = spec.get("transform_each").and_then(Value::as_bool).unwrap_or(false);
    let role = if TEXT.contains(&name) {
        Role::Text
    } else if REASONING.contains(&name) {
        Role::Reasoning
    } else if CALLS.contains(&name) {
        let source = match spec.get("transform") {
            None | Some(Value::Null) => CallSource::whole(),
            Some(transform) => CallSource::of(transform, each)?,
        };
        let names = [&open, &close].into_iter().flatten().flat_map(Delimiter::names);
        known(&source, &names.collect::<Vec<_>>())?;
        Role::Calls(source)
    } else {
        let all = [TEXT, REASONING, CALLS].concat();
        return Err(format!("an answer has no such part: {all:?} are known"));
    };
    let keys = keys(&role, &content);
    Ok(Field { open, close, role, content, keys, join })
}

/// The keys of calls whose name and arguments stand side by side in plain JSON.
fn keys(role: &Role, content: &Content) -> Option<Keys> {
    let (Role::Calls(source), Content::Json(json)) = (role, content) else { return None };
    let (name, arguments) = source.keys().filter(|_| json.is_plain() && source.id.is_none())?;
    let list = |key: &str| &*Box::leak(Box::new([leak::keep(key.to_owned())]));
    Some(Keys { name: list(name), arguments: list(arguments), ..Keys::USUAL })
}

/// Refuses places that nothing fills.
fn known(source: &CallSource, names: &[&str]) -> Result<(), String> {
    fn check(source: &Source, names: &[&str], each: bool) -> Result<(), String> {
        match source {
            Source::Place { root, .. }
                if each || root == "content" || names.contains(&root.as_str()) =>
            {
                Ok(())
            }
            Source::Place { root, .. } => Err(format!(
                "transform names {{{root}}}, but only content and the groups {names:?} are there"
            )),
            Source::Object(fields) => {
                fields.iter().try_for_each(|(_, source)| check(source, names, each))
            }
            Source::Literal(_) => Ok(()),
        }
    }
    let sources = [Some(&source.name), Some(&source.arguments), source.id.as_ref()];
    sources.into_iter().flatten().try_for_each(|one| check(one, names, source.each))
}

fn anchor(spec: &Map<String, Value>) -> Result<regex::Regex, String> {
    let pattern = match (texts(spec, "start_anchor")?, spec.get("start_anchor_pattern")) {
        (Some(_), Some(_)) => {
            return Err("start_anchor and start_anchor_pattern cannot both be given".to_owned());
        }
        (Some(mut list), None) => {
            list.sort_by_key(|text| usize::MAX - text.len());
            list.iter().map(|text| regex::escape(text)).collect::<Vec<_>>().join("|")
        }
        (None, Some(Value::String(pattern))) => pattern.clone(),
        _ => {
            return Err("a response_template needs start_anchor or start_anchor_pattern".to_owned());
        }
    };
    regex::Regex::new(&format!("(?s:{pattern})"))
        .map_err(|error| format!("start_anchor_pattern {pattern:?} cannot be used: {error}"))
}

/// What the fields of calls open with, as far as it is fixed.
fn openers(fields: &[Field]) -> &'static [&'static str] {
    let calls = fields.iter().filter(|field| matches!(field.role, Role::Calls(_)));
    let mut found: Vec<&'static str> = Vec::new();
    for open in calls.filter_map(|field| field.open.as_ref()) {
        let prefix = || vec![super::write::prefix(&open.hir)];
        let texts = if open.literals.is_empty() { prefix() } else { open.literals.clone() };
        found.extend(texts.into_iter().filter(|text| !text.is_empty()).map(leak::keep));
    }
    Box::leak(found.into_boxed_slice())
}
