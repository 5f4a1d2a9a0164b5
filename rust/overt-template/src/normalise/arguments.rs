//! Arguments of calls: JSON text or a mapping.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Map, Value as Json, json};

use super::kinds::{Change, Normalisation, Unfit};
use super::probe::{ARGUMENTS, Base, KEY, VALUE};
use super::wants::Speaker;
use crate::integers::{WideInteger, wide_integer};
use crate::repr;

/// What a template wants of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Arguments {
    /// It writes none, or the probes could not tell.
    #[default]
    AsSent,
    /// Text and mapping come out the same.
    Either,
    /// A mapping: text fails, is lost, or is written as a JSON string.
    Mapping,
    /// A mapping, which it writes in a format of its own; text that is no JSON object is written as it is.
    MappingOrText,
    /// Text only.
    Text,
}

pub(super) fn probe(base: &Base<'_>) -> Arguments {
    let Some(at) = base.at(Speaker::Caller) else { return Arguments::AsSent };
    let with = |arguments: Json| {
        base.with_message(at, |message| {
            message["tool_calls"][0]["function"]["arguments"] = arguments;
        })
    };
    let text = with(json!(ARGUMENTS)).filter(|text| text.contains(ARGUMENTS));
    let mapping =
        with(json!({KEY: VALUE})).filter(|text| text.contains(KEY) && text.contains(VALUE));
    match (text, mapping) {
        (None, None) => Arguments::AsSent,
        (None, Some(_)) => Arguments::Mapping,
        (Some(_), None) => Arguments::Text,
        (Some(_), Some(mapping)) if squeezed(&mapping).contains(&squeezed(ARGUMENTS)) => {
            Arguments::Either
        }
        // Printed as Python prints a dict: no format that a model was taught.
        (Some(_), Some(mapping)) if mapping.contains(&ARGUMENTS.replace('"', "'")) => {
            Arguments::Text
        }
        (Some(_), Some(_)) => Arguments::MappingOrText,
    }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Gives the arguments of a message's calls the form that the template wants.
pub(super) fn apply(
    index: usize,
    message: &mut Map<String, Json>,
    wanted: Arguments,
    changes: &mut Vec<Change>,
) -> Result<(), Unfit> {
    if wanted == Arguments::AsSent {
        return Ok(());
    }
    let Some(Json::Array(calls)) = message.get_mut("tool_calls") else { return Ok(()) };
    for (at, call) in calls.iter_mut().enumerate() {
        let Some(Json::Object(function)) = call.get_mut("function") else { continue };
        let path = || format!("messages[{index}].tool_calls[{at}].function.arguments");
        if let Some((arguments, normalisation)) = changed(function.get("arguments"), wanted, path)?
        {
            function.insert("arguments".to_owned(), arguments);
            changes.push(Change { normalisation, path: path() });
        }
    }
    Ok(())
}

/// The arguments in the wanted form, where they are not in it already.
fn changed(
    arguments: Option<&Json>,
    wanted: Arguments,
    path: impl Fn() -> String,
) -> Result<Option<(Json, Normalisation)>, Unfit> {
    let needs_mapping = wanted == Arguments::Mapping;
    let changed = match arguments {
        None | Some(Json::Null) => (none(wanted), Normalisation::EmptyArgumentsFilled),
        Some(Json::String(text)) if text.trim().is_empty() => {
            (none(wanted), Normalisation::EmptyArgumentsFilled)
        }
        Some(Json::String(text))
            if matches!(wanted, Arguments::Mapping | Arguments::MappingOrText) =>
        {
            match serde_json::from_str(text) {
                Ok(Json::Object(mapping)) => {
                    if let Some(wide) = wide_integer(text) {
                        return Err(too_wide(path(), &wide));
                    }
                    (Json::Object(mapping), Normalisation::ArgumentsParsed)
                }
                Ok(_) if needs_mapping => return Err(unfit(path(), "is JSON, but no object")),
                Err(error) if needs_mapping => {
                    return Err(unfit(path(), &format!("cannot be read as JSON ({error})")));
                }
                _ => return Ok(None),
            }
        }
        Some(Json::Object(mapping)) if wanted == Arguments::Text => {
            (Json::String(dumps(mapping)), Normalisation::ArgumentsSerialised)
        }
        Some(Json::String(_) | Json::Object(_)) => return Ok(None),
        Some(_) if needs_mapping => return Err(unfit(path(), "is no object")),
        Some(_) => return Ok(None),
    };
    Ok(Some(changed))
}

fn none(wanted: Arguments) -> Json {
    match wanted {
        Arguments::Text => json!("{}"),
        _ => json!({}),
    }
}

fn unfit(path: String, what: &str) -> Unfit {
    let message = format!(
        "`{path}` {what}, and the chat template writes arguments by name: send the text of a JSON object, such as \
         \"{{\\\"city\\\": \\\"Oslo\\\"}}\", or the object itself."
    );
    Unfit { path, message }
}

fn too_wide(path: String, wide: &WideInteger) -> Unfit {
    let message = format!(
        "`{path}` has the integer {} at `{}`, and the chat template writes arguments by name, for which integers \
         must be from -9223372036854775808 to 18446744073709551615: send it as a string.",
        wide.literal, wide.path
    );
    Unfit { path, message }
}

/// `json.dumps(mapping, ensure_ascii=False)`.
fn dumps(mapping: &Map<String, Json>) -> String {
    let mut out = Vec::new();
    // Writing JSON to memory cannot fail, and JSON is UTF-8.
    let _ = mapping.serialize(&mut Serializer::with_formatter(&mut out, Python));
    String::from_utf8(out).unwrap_or_default()
}

/// Spaces and floats as Python writes them.
struct Python;

impl Formatter for Python {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(repr::float(value).as_bytes())
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
