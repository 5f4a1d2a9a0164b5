//! Content as a string or as parts, and content that is not there.

use std::cmp::Ordering;

use serde_json::{Map, Value as Json, json};

use super::kinds::{Change, Normalisation, Unfit};
use super::probe::{Base, remove};
use super::wants::{Speaker, Wants};

/// What a template wants of one speaker's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Content {
    pub(super) form: Form,
    pub(super) empty: Empty,
}

/// How content is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Form {
    /// As a string or as parts, whichever was sent.
    #[default]
    AsSent,
    /// As a string.
    Text,
    /// As a list of parts.
    Parts,
    /// As a list with one text part: of several the template reads the first.
    OnePart,
}

impl Form {
    /// A text in this form.
    pub(super) fn of(self, text: &str) -> Json {
        match self {
            Self::AsSent | Self::Text => json!(text),
            Self::Parts | Self::OnePart => json!([{"type": "text", "text": text}]),
        }
    }
}

/// How content without any text is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Empty {
    /// As null, absent or empty, whichever was sent.
    #[default]
    AsSent,
    /// As empty text; it may not be absent.
    Text,
    /// As an empty text part; it may neither be absent nor an empty string.
    Part,
}

/// What became of two texts that were rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Failed,
    Lost,
    /// The list itself was written out.
    Dumped,
    Shown,
}

/// Asks of one speaker in every conversation that has it: some templates treat it differently in one.
pub(super) fn probe(bases: &[&Base<'_>], speaker: Speaker) -> Content {
    let places: Vec<(&Base<'_>, usize)> =
        bases.iter().filter_map(|base| Some((*base, base.at(speaker)?))).collect();
    let form = probe_form(&places);
    let empty = places
        .iter()
        .map(|(base, at)| probe_empty(base, *at, form))
        .find(|empty| *empty != Empty::AsSent);
    Content { form, empty: empty.unwrap_or_default() }
}

fn probe_form(places: &[(&Base<'_>, usize)]) -> Form {
    let part = |text: &str| json!({"type": "text", "text": text, UNREAD: UNREAD});
    let both = format!("{FIRST} {SECOND}");
    let outcomes = |content: Json| -> Vec<Outcome> {
        places.iter().map(|(base, at)| outcome(base, *at, content.clone())).collect()
    };
    let text = outcomes(json!(both));
    let parts = outcomes(json!([part(FIRST), part(SECOND)]));
    match text.cmp(&parts) {
        Ordering::Greater => Form::Text,
        Ordering::Equal => Form::AsSent,
        Ordering::Less if parts.contains(&Outcome::Shown) => Form::Parts,
        Ordering::Less => {
            if outcomes(json!([part(&both)])) > parts {
                Form::OnePart
            } else {
                Form::Parts
            }
        }
    }
}

const FIRST: &str = "ovfirst";
const SECOND: &str = "ovsecond";
/// A key of parts that no template reads: where it shows, the list itself was written out.
const UNREAD: &str = "ovunread";

fn outcome(base: &Base<'_>, at: usize, content: Json) -> Outcome {
    match base.with_message(at, |message| message["content"] = content) {
        None => Outcome::Failed,
        Some(text) if text.contains(UNREAD) => Outcome::Dumped,
        Some(text) if text.contains(FIRST) && text.contains(SECOND) => Outcome::Shown,
        Some(_) => Outcome::Lost,
    }
}

fn probe_empty(base: &Base<'_>, at: usize, form: Form) -> Empty {
    let with = |content: Json| base.with_message(at, |message| message["content"] = content);
    let Some(empty) = with(form.of("")) else {
        // Refused in the template's own words: it wants a text here, not another form of none.
        let refused = base.refused();
        let as_part = !refused && form == Form::AsSent && with(Form::Parts.of("")).is_some();
        return if as_part { Empty::Part } else { Empty::AsSent };
    };
    match base.with_message(at, |message| remove(message, "content")) {
        None => Empty::Text,
        Some(absent) => {
            let writes_none = ["None", "null"]
                .iter()
                .any(|word| absent.matches(word).count() > empty.matches(word).count());
            if writes_none { Empty::Text } else { Empty::AsSent }
        }
    }
}

/// Gives a message's content the form that the template wants.
pub(super) fn apply(
    index: usize,
    message: &mut Map<String, Json>,
    wants: &Wants,
    changes: &mut Vec<Change>,
) -> Result<(), Unfit> {
    let Content { form, empty } = wants.content_of(Speaker::of(message));
    fill(index, message, form, empty, changes);
    let Some(content) = message.get_mut("content") else { return Ok(()) };
    let normalisation = match (form, &mut *content) {
        (Form::Text, Json::Array(parts)) => {
            *content = Json::String(join(index, parts, changes)?);
            Normalisation::TextPartsJoined
        }
        (Form::OnePart, Json::Array(parts))
            if parts.iter().filter(|part| is_text(part)).count() > 1 =>
        {
            join_first(parts);
            Normalisation::TextPartsJoined
        }
        (Form::Parts | Form::OnePart, Json::String(text)) => {
            let text = std::mem::take(text);
            *content = json!([{"type": "text", "text": text}]);
            Normalisation::TextMadePart
        }
        _ => return Ok(()),
    };
    changes.push(Change { normalisation, path: format!("messages[{index}].content") });
    Ok(())
}

/// Gives a message without content an empty one.
fn fill(
    index: usize,
    message: &mut Map<String, Json>,
    form: Form,
    empty: Empty,
    changes: &mut Vec<Change>,
) {
    let absent = message.get("content").is_none_or(Json::is_null);
    let blank = || message.get("content").and_then(Json::as_str) == Some("");
    let filled = match (empty, form) {
        (Empty::Part, Form::AsSent) if absent || blank() => Form::Parts.of(""),
        (Empty::Text | Empty::Part, _) if absent => form.of(""),
        _ => return,
    };
    message.insert("content".to_owned(), filled);
    let path = format!("messages[{index}].content");
    changes.push(Change { normalisation: Normalisation::EmptyContentFilled, path });
}

/// The text of all parts; those that are no text are dropped.
fn join(index: usize, parts: &mut [Json], changes: &mut Vec<Change>) -> Result<String, Unfit> {
    let mut joined: Option<String> = None;
    for (at, part) in parts.iter_mut().enumerate() {
        let path = format!("messages[{index}].content[{at}]");
        let other = part.get("type").and_then(Json::as_str).is_some_and(|kind| kind != "text");
        match (text_of(part), &mut joined) {
            (Some(text), None) => joined = Some(std::mem::take(text)),
            (Some(text), Some(joined)) => {
                joined.push('\n');
                joined.push_str(text);
            }
            (None, _) if other => {
                changes.push(Change { normalisation: Normalisation::PartDropped, path });
            }
            (None, _) => {
                let message = format!(
                    "`{path}` is no content part: send {{\"type\": \"text\", \"text\": \"…\"}} with a string."
                );
                return Err(Unfit { path, message });
            }
        }
    }
    Ok(joined.unwrap_or_default())
}

/// Makes the first text part of all of them; parts of other kinds stay.
fn join_first(parts: &mut Vec<Json>) {
    let mut joined = String::new();
    let mut first = None;
    for (at, part) in parts.iter_mut().enumerate() {
        if let Some(text) = text_of(part) {
            if first.is_some() {
                joined.push('\n');
            }
            joined.push_str(text);
            first.get_or_insert(at);
        }
    }
    let mut at = 0..;
    parts.retain(|part| at.next() == first || !is_text(part));
    if let Some(part) = first.and_then(|at| parts.get_mut(at)) {
        *part = json!({"type": "text", "text": joined});
    }
}

/// The text of a part, or of a string that stands for one.
fn text_of(part: &mut Json) -> Option<&mut String> {
    match part {
        Json::String(text) => Some(text),
        Json::Object(part) => {
            if part.get("type").is_some_and(|kind| kind != "text") {
                return None;
            }
            match part.get_mut("text") {
                Some(Json::String(text)) => Some(text),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_text(part: &Json) -> bool {
    part.is_string()
        || (part.get("type").is_none_or(|kind| kind == "text")
            && part.get("text").is_some_and(Json::is_string))
}
