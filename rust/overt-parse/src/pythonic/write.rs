//! Writes calls as Python's.

use serde_json::Value;

use super::Shape;
use crate::core::typed;
use crate::format::Written;

pub(super) fn write(shape: &Shape, calls: &[Written<'_>], out: &mut String) {
    if !shape.bare {
        out.push_str(shape.open.first().copied().unwrap_or_default());
    }
    if shape.list {
        out.push('[');
    }
    for (at, call) in calls.iter().enumerate() {
        if at > 0 {
            out.push_str(shape.between);
        }
        out.push_str(call.name);
        out.push('(');
        for (at, (key, value)) in call.arguments.as_object().into_iter().flatten().enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            out.push_str(key);
            out.push('=');
            literal(value, shape.quote, out);
        }
        out.push(')');
    }
    if shape.list {
        out.push(']');
    }
    if !shape.bare {
        out.push_str(shape.close.first().copied().unwrap_or_default());
    }
}

/// Writes `value` as a Python literal.
fn literal(value: &Value, quote: char, out: &mut String) {
    let mut joined =
        |open: char, count: usize, close: char, one: &mut dyn FnMut(usize, &mut String)| {
            out.push(open);
            for at in 0..count {
                if at > 0 {
                    out.push_str(", ");
                }
                one(at, out);
            }
            out.push(close);
        };
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => string(text, quote, out),
        Value::Array(values) => {
            joined('[', values.len(), ']', &mut |at, out| literal(&values[at], quote, out))
        }
        Value::Object(members) => {
            let members: Vec<(&String, &Value)> = members.iter().collect();
            joined('{', members.len(), '}', &mut |at, out| {
                string(members[at].0, quote, out);
                out.push_str(": ");
                literal(members[at].1, quote, out);
            });
        }
    }
}

/// Writes `text` as a string, in double quotes where escapes are needed: JSON's are Python's there.
pub(super) fn string(text: &str, quote: char, out: &mut String) {
    let plain = |c: char| !(c == quote || c == '\\' || c < ' ');
    if quote == '"' || !text.chars().all(plain) {
        return typed::quote(text, out);
    }
    out.push(quote);
    out.push_str(text);
    out.push(quote);
}
