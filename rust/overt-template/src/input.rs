//! How large and how deep an input is.

use serde_json::Value as Json;

use crate::error::TemplateError;
use crate::python::MAX_DEPTH;
use crate::render::RenderInput;

/// Bytes of an input's messages, tools, documents and variables, about as JSON.
///
/// # Errors
/// [`TemplateError::Input`] where a value is nested too deep.
pub(crate) fn size(messages: &[Json], input: &RenderInput) -> Result<u64, TemplateError> {
    let mut bytes = 0u64;
    let parts = [
        ("messages", messages.iter().collect::<Vec<_>>()),
        ("tools", input.tools.iter().collect()),
        ("documents", input.documents.iter().collect()),
        ("chat_template_kwargs", input.kwargs.values().collect()),
    ];
    for (name, values) in parts {
        for value in values {
            bytes = bytes.saturating_add(size_of_value(value, name)?);
        }
    }
    Ok(bytes)
}

fn size_of_value(value: &Json, name: &str) -> Result<u64, TemplateError> {
    let mut bytes = 0u64;
    let mut open: Vec<(&Json, usize)> = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return Err(TemplateError::Input(format!("{name} is nested deeper than {MAX_DEPTH}")));
        }
        bytes += match value {
            Json::String(text) => text.len() as u64 + 2,
            Json::Array(items) => {
                open.extend(items.iter().map(|item| (item, depth + 1)));
                items.len() as u64 + 2
            }
            Json::Object(pairs) => {
                open.extend(pairs.values().map(|value| (value, depth + 1)));
                pairs.keys().map(|key| key.len() as u64 + 4).sum::<u64>() + 2
            }
            _ => 4,
        };
    }
    Ok(bytes)
}
