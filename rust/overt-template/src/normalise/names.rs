//! Names of functions in tool messages: OpenAI's messages carry the call's id alone.

use serde_json::Value as Json;

use super::kinds::{Change, Normalisation};
use super::pairs::{answers, calls, is_tool};
use super::probe::{Base, FUNCTION, RESULT, remove};
use super::wants::{Speaker, Wants};

pub(super) fn probe(base: &Base<'_>) -> bool {
    let (Some(at), Some(named)) = (base.at(Speaker::Tool), base.rendered()) else { return false };
    let nameless = base.with_message(at, |message| remove(message, "name"));
    nameless.is_none_or(|text| {
        [FUNCTION, RESULT]
            .iter()
            .any(|word| text.matches(word).count() < named.matches(word).count())
    })
}

/// Gives tool messages the name of the function that they answer for.
pub(super) fn apply(messages: &mut [Json], wants: &Wants, changes: &mut Vec<Change>) {
    let nameless = |message: &Json| message.get("name").is_none_or(Json::is_null);
    if !wants.tool_names || !messages.iter().any(|message| is_tool(message) && nameless(message)) {
        return;
    }
    for answer in answers(messages) {
        let call = calls(&messages[answer.caller]).get(answer.call);
        let name =
            call.and_then(|call| call.get("function")).and_then(|function| function.get("name"));
        let Some(name) = name.filter(|name| name.is_string()).cloned() else { continue };
        if !nameless(&messages[answer.tool]) {
            continue;
        }
        if let Json::Object(tool) = &mut messages[answer.tool] {
            tool.insert("name".to_owned(), name);
            let path = format!("messages[{}].name", answer.tool);
            changes.push(Change { normalisation: Normalisation::ToolNameFilled, path });
        }
    }
}
