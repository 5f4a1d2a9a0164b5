//! Calls as the model spells them.

use serde_json::Value;

use crate::elements::Shape;
use crate::format::Written;

pub(super) fn calls(shape: &Shape, calls: &[Written<'_>], out: &mut String) {
    let word = |words: &'static [&'static str]| words.first().copied().unwrap_or_default();
    out.push_str(word(shape.open));
    out.push('\n');
    for call in calls {
        out.push_str(&format!("{}\"{}\">", word(shape.invoke), call.name));
        for (key, value) in call.arguments.as_object().into_iter().flatten() {
            element(shape, key, value, out);
        }
        out.push_str(word(shape.invoke_end));
        out.push('\n');
    }
    out.push_str(word(shape.close));
}

fn element(shape: &Shape, name: &str, value: &Value, out: &mut String) {
    out.push_str(&format!("{}<{name}>", shape.mark));
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| element(shape, key, value, out));
        }
        Value::Array(items) => items.iter().for_each(|item| element(shape, shape.item, item, out)),
        Value::String(text) => out.push_str(text),
        other => out.push_str(&other.to_string()),
    }
    out.push_str(&format!("{}</{name}>", shape.mark));
}
