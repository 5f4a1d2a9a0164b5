//! The developer's role, where a template has no place for it.

use serde_json::{Map, Value as Json, json};

use super::content;
use super::content::Form;
use super::kinds::{Change, Normalisation};
use super::probe::{Base, SYSTEM};
use super::wants::{Speaker, Wants};

/// A role that no template knows, as long as the developer's.
const NOBODY: &str = "ovrnobody";

/// Tells a template that knows the role from one that prints or drops any role alike.
pub(super) fn probe(base: &Base<'_>, form: Form, wants: &mut Wants) {
    let first = usize::from(base.at(Speaker::System).is_some());
    let led_by = |role: &str| {
        let mut messages = vec![json!({"role": role, "content": form.of(SYSTEM)})];
        messages.extend_from_slice(&base.messages[first..]);
        base.instead(messages)
    };
    let developer = led_by("developer");
    let known = developer.rendered().filter(|text| text.contains(SYSTEM)).is_some_and(|text| {
        let nobody = led_by(NOBODY).rendered().map(|text| text.to_lowercase());
        nobody.is_none_or(|nobody| nobody.replace(NOBODY, "developer") != text.to_lowercase())
    });
    wants.developer_to_system = !known;
    if known {
        wants.content[Speaker::Developer as usize] =
            content::probe(&[&developer], Speaker::Developer);
    }
}

/// Makes a message of the developer the system's.
pub(super) fn apply(
    index: usize,
    message: &mut Map<String, Json>,
    wants: &Wants,
    changes: &mut Vec<Change>,
) {
    if !wants.developer_to_system {
        return;
    }
    let Some(Json::String(role)) = message.get_mut("role") else { return };
    if role == "developer" {
        "system".clone_into(role);
        changes.push(Change {
            normalisation: Normalisation::DeveloperToSystem,
            path: format!("messages[{index}].role"),
        });
    }
}
