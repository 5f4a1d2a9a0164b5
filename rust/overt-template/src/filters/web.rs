//! HTML and addresses.

use minijinja::value::Value;
use minijinja::{Error, State};

use super::Call;
use crate::budget;
use crate::error::invalid;
use crate::python::{self, Kind, escaped, items, refused, to_text};
use crate::syntax::is_space;

pub(super) fn safe(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    Ok(Value::from_safe_string(to_text(state, value)?.into_owned()))
}

pub(super) fn escape(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    if value.is_safe() { Ok(value.clone()) } else { forced(state, value) }
}

pub(super) fn forceescape(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    forced(state, value)
}

fn forced(state: &State, value: &Value) -> Result<Value, Error> {
    let out = escaped(&to_text(state, value)?);
    budget::make(state, out.len())?;
    Ok(Value::from_safe_string(out))
}

/// Text without tags and comments, its white space joined, its entities read.
pub(super) fn striptags(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    let text = to_text(state, value)?;
    budget::make(state, text.len())?;
    let mut kept = String::new();
    let mut rest: &str = &text;
    while let Some(start) = rest.find('<') {
        let tag = &rest[start..];
        let end = match tag.starts_with("<!--") {
            true => tag.get(4..).and_then(|inside| inside.find("-->")).map(|end| end + 7),
            false => tag.find('>').map(|end| end + 1),
        };
        let Some(end) = end else { break };
        kept.push_str(&rest[..start]);
        rest = &tag[end..];
    }
    kept.push_str(rest);
    let words: Vec<&str> = kept.split(is_space).filter(|word| !word.is_empty()).collect();
    Ok(Value::from(unescaped(&words.join(" "))))
}

/// The entities that escaping writes, and those by number.
fn unescaped(text: &str) -> String {
    const NAMES: [(&str, &str); 6] =
        [("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'"), ("nbsp", "\u{a0}")];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        // No entity is longer.
        let end = rest.bytes().take(11).position(|byte| byte == b';');
        let entity = end.and_then(|end| {
            let name = &rest[1..end];
            let number = match name.strip_prefix("#x").or_else(|| name.strip_prefix("#X")) {
                Some(code) => u32::from_str_radix(code, 16).ok(),
                None => name.strip_prefix('#').and_then(|code| code.parse().ok()),
            };
            let read = match number.and_then(char::from_u32) {
                Some(c) => Some(c.to_string()),
                None => {
                    NAMES.iter().find(|(other, _)| *other == name).map(|(_, c)| (*c).to_owned())
                }
            };
            read.map(|read| (read, end + 1))
        });
        let (read, length) = entity.unwrap_or_else(|| ("&".to_owned(), 1));
        out.push_str(&read);
        rest = &rest[length..];
    }
    out + rest
}

fn quoted(text: &str, query: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => {
                out.push(byte as char)
            }
            b'/' if !query => out.push('/'),
            b' ' if query => out.push('+'),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Percent-encodes a text, or the pairs of a query.
pub(super) fn urlencode(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    let pairs = match Kind::of(value) {
        Kind::Dict(dict) => dict.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        Kind::List(_) | Kind::Tuple(_) | Kind::Own(_) | Kind::Undefined | Kind::Foreign => {
            let mut pairs = Vec::new();
            for item in items(state, value)? {
                match items(state, &item)?.as_slice() {
                    [key, value] => pairs.push((key.clone(), value.clone())),
                    _ => return Err(invalid("urlencode: an item is no pair")),
                }
            }
            pairs
        }
        _ => {
            let text = to_text(state, value)?;
            budget::make(state, text.len() * 3)?;
            return Ok(Value::from(quoted(&text, false)));
        }
    };
    let mut out = Vec::new();
    for (key, value) in pairs {
        let (key, value) = (to_text(state, &key)?, to_text(state, &value)?);
        budget::make(state, (key.len() + value.len()) * 3)?;
        out.push(format!("{}={}", quoted(&key, true), quoted(&value, true)));
    }
    Ok(Value::from(out.join("&")))
}

/// `x|xmlattr(autospace=True)`.
pub(super) fn xmlattr(call: Call) -> Result<Value, Error> {
    let (state, value, [autospace]) = call.given(["autospace"])?;
    let Kind::Dict(dict) = Kind::of(value) else { return Err(refused("xmlattr", value)) };
    let mut parts = Vec::new();
    for (key, value) in dict {
        if value.is_none() || value.is_undefined() {
            continue;
        }
        let name = python::expect_text("xmlattr: a name", key)?;
        if name.contains(|c: char| is_space(c) || matches!(c, '/' | '>' | '=')) {
            return Err(invalid(format!("xmlattr: {name:?} is no name of an attribute")));
        }
        let name = if key.is_safe() { name.to_owned() } else { escaped(name) };
        let text = to_text(state, value)?;
        let text = if value.is_safe() { text.into_owned() } else { escaped(&text) };
        budget::make(state, name.len() + text.len())?;
        parts.push(format!("{name}=\"{text}\""));
    }
    let joined = parts.join(" ");
    let space = autospace.is_none_or(|flag| flag.is_true()) && !joined.is_empty();
    Ok(Value::from(if space { format!(" {joined}") } else { joined }))
}

/// Not in a prompt: it writes HTML links.
pub(super) fn urlize(_: Call) -> Result<Value, Error> {
    Err(invalid("urlize: not supported, it writes HTML links"))
}
