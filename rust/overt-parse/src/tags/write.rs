//! Calls as the model spells them.

use serde_json::Value;

use crate::format::Written;
use crate::tags::Shape;

pub(super) fn calls(shape: &Shape, calls: &[Written<'_>], out: &mut String) {
    let line = if shape.lines { "\n" } else { "" };
    let word = |words: &'static [&'static str]| words.first().copied().unwrap_or_default();
    let (open, close) = (word(shape.open), word(shape.close));
    for (index, call) in calls.iter().enumerate() {
        if index > 0 && (shape.each || open.is_empty()) {
            out.push('\n');
        }
        if !open.is_empty() && (shape.each || index == 0) {
            out.push_str(open);
            out.push_str(line);
        }
        out.push_str(shape.before);
        out.push_str(&opening(shape, word(shape.invoke), call.name, None));
        out.push_str(line);
        for (key, value) in call.arguments.as_object().into_iter().flatten() {
            let string = shape.typed.then_some(value.is_string());
            out.push_str(&opening(shape, word(shape.parameter), key, string));
            self::value(shape, value, out);
            out.push_str(word(shape.parameter_end));
            out.push_str(line);
        }
        out.push_str(word(shape.invoke_end));
        out.push_str(shape.after);
        if !open.is_empty() {
            out.push_str(line);
            if shape.each || index + 1 == calls.len() {
                out.push_str(close);
            }
        }
    }
}

/// The opening tag of a call or parameter.
pub(super) fn opening(shape: &Shape, word: &str, name: &str, string: Option<bool>) -> String {
    let quote = if shape.quoted { "\"" } else { "" };
    let string = string.map(|string| format!(" string=\"{string}\"")).unwrap_or_default();
    format!("{word}{quote}{name}{quote}{string}>")
}

/// A value, with the line feeds around it.
pub(super) fn value(shape: &Shape, value: &Value, out: &mut String) {
    let feed = if shape.feeds { "\n" } else { "" };
    out.push_str(feed);
    match value {
        Value::String(text) if shape.cdata && text.contains(['<', '&', '\n']) => {
            out.push_str("<![CDATA[");
            out.push_str(text);
            out.push_str("]]>");
        }
        Value::String(text) => out.push_str(text),
        other => out.push_str(&other.to_string()),
    }
    out.push_str(feed);
}
