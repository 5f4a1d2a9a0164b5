//! Writes calls as the model does.

use serde_json::Value;

use super::{Calls, Elements, Invokes, Objects, Shape};
use crate::core::typed::quote;
use crate::format::Written;

/// Writes `calls` with all that stands around them.
pub(super) fn write(shape: &Shape, calls: &[Written<'_>], out: &mut String) {
    if calls.is_empty() {
        return;
    }
    let frame = shape.frame;
    out.push_str(frame.open);
    for (index, call) in calls.iter().enumerate() {
        if index > 0 {
            out.push_str(frame.between);
        }
        if !frame.behind.is_empty() {
            for part in [frame.before, call.name, frame.behind] {
                out.push_str(part);
            }
        }
        match shape.calls {
            Calls::Arguments => out.push_str(&call.arguments.to_string()),
            Calls::Objects(words) => object(&words, index, call, out),
            Calls::Invokes(words) => invoke(&words, call, out),
            Calls::Elements(words) => element(shape, &words, index, call, out),
        }
        out.push_str(frame.after);
    }
    out.push_str(frame.close);
}

fn object(words: &Objects, index: usize, call: &Written<'_>, out: &mut String) {
    out.push('{');
    let first = |list: &[&'static str]| list.first().copied().unwrap_or_default();
    if !words.number.is_empty() {
        out.push_str(&format!("\"{}\": \"{index}\", ", words.number));
    }
    out.push_str(&format!("\"{}\": ", first(words.keys.name)));
    quote(call.name, out);
    let arguments = first(words.keys.arguments);
    out.push_str(&format!(", \"{arguments}\": {}}}", call.arguments));
}

/// The parameters of a call; none where its arguments are no object.
fn parameters<'a>(call: &Written<'a>) -> impl Iterator<Item = (&'a String, &'a Value)> {
    call.arguments.as_object().into_iter().flatten()
}

/// A text as it is, anything else as JSON.
fn spell(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn invoke(words: &Invokes, call: &Written<'_>, out: &mut String) {
    let Invokes { open, close, invoke, invoke_end, parameter, parameter_end, name_end } = *words;
    out.push_str(&format!("{open}\n{invoke}{}{name_end}\n", call.name));
    for (key, value) in parameters(call) {
        out.push_str(&format!("{parameter}{key}{name_end}{}{parameter_end}\n", spell(value)));
    }
    out.push_str(&format!("{invoke_end}\n{close}"));
}

fn element(shape: &Shape, words: &Elements, index: usize, call: &Written<'_>, out: &mut String) {
    let [open, sep, close] = brackets(shape);
    let Elements { call: tag, name, parameter, key: key_name, kind, .. } = *words;
    let title = attribute(name, call.name);
    out.push_str(&format!("{open}{tag} {title} index=\"{}\"{sep}", index + 1));
    for (key, value) in parameters(call) {
        let (key, kind) = (attribute(key_name, key), attribute(kind, type_of(value)));
        let value = spell(value);
        out.push_str(&format!("{open}{parameter} {key} {kind}{sep}{value}{close}{parameter}{sep}"));
    }
    out.push_str(&format!("{close}{tag}{sep}"));
}

/// What a frame's header and its end are written with.
pub(super) fn brackets(shape: &Shape) -> [&'static str; 3] {
    let first = |list: &[&'static str]| list.first().copied().unwrap_or_default();
    let sep = shape.bodies.first().map_or("", |opener| opener.marker);
    [first(shape.heads), sep, first(shape.closers)]
}

/// `name="value"`, escaped.
pub(super) fn attribute(name: &str, value: &str) -> String {
    format!("{name}=\"{}\"", escaped(value))
}

/// The text of an attribute.
pub(super) fn escaped(value: &str) -> String {
    value.replace('&', "&amp;").replace('"', "&quot;")
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "boolean",
        Value::Null => "null",
        Value::Object(_) => "object",
        Value::Array(_) => "array",
    }
}
