//! What the server changes in messages and tools before a template sees them.
//!
//! [`Wants::probe`] renders small conversations on a template, once, to find out what it takes;
//! [`normalise`] then gives every conversation that shape. A template that takes both of two forms gets
//! what was sent. Each normalisation has a room: how it is found out, and how it is done.

mod arguments;
mod content;
mod developer;
mod ids;
mod kinds;
mod names;
mod pairs;
mod probe;
#[cfg(test)]
mod properties;
mod tools;
mod wants;

use serde_json::{Map, Value as Json};

pub use kinds::{Change, Normalisation, Unfit};
pub use wants::Wants;

/// Changes messages and tools in place to what the template wants, and tells each change.
///
/// What is no conversation at all (messages that are no list, a message that is no object) is left for the
/// render to refuse. A conversation that was normalised is not changed again.
///
/// # Errors
/// [`Unfit`] where the template needs a form that a value cannot be brought into. Messages before it may have
/// been changed by then.
pub fn normalise(
    messages: &mut Json,
    tools: &mut Option<Json>,
    wants: &Wants,
) -> Result<Vec<Change>, Unfit> {
    let mut changes = Vec::new();
    tools::apply(tools.as_mut(), wants.tools, &mut changes);
    let Json::Array(messages) = messages else { return Ok(changes) };
    for (index, message) in messages.iter_mut().enumerate() {
        let Json::Object(message) = message else { continue };
        developer::apply(index, message, wants, &mut changes);
        drop_empty_calls(index, message, &mut changes);
        arguments::apply(index, message, wants.arguments, &mut changes)?;
        content::apply(index, message, wants, &mut changes)?;
    }
    ids::apply(messages, wants, &mut changes);
    names::apply(messages, wants, &mut changes);
    Ok(changes)
}

/// Templates that ask whether there are calls by the key alone take an empty list for calls.
fn drop_empty_calls(index: usize, message: &mut Map<String, Json>, changes: &mut Vec<Change>) {
    let empty = match message.get("tool_calls") {
        Some(Json::Array(calls)) => calls.is_empty(),
        Some(Json::Null) => true,
        _ => false,
    };
    if empty {
        message.shift_remove("tool_calls");
        changes.push(Change {
            normalisation: Normalisation::EmptyToolCallsDropped,
            path: format!("messages[{index}].tool_calls"),
        });
    }
}
