//! Structural tags, in both forms, into rule trees.
//!
//! The older form, `structures` and `triggers`, lets text run freely until a trigger occurs, which must begin one of
//! the structures. The newer, `format`, is a tree of its own.

mod format;

use overt_rule::{Grammar, Rule};
use serde_json::Value;

use crate::source::{Options, Refused};

/// Reads a structural tag.
///
/// # Errors
/// [`Refused`] names the place under `field`.
pub(crate) fn read(tag: &Value, field: &str, options: &Options<'_>) -> Result<Grammar, Refused> {
    let mut reader = Reader { options, rules: Vec::new(), depth: 0 };
    let start = match (tag.get("format"), tag.get("structures")) {
        (Some(format), None) => reader.format(format, &format!("{field}.format"), &[])?,
        (None, Some(structures)) => reader.structures(structures, tag.get("triggers"), field)?,
        _ => return Err(Refused::new(field, "give either format, or structures and triggers")),
    };
    Ok(Grammar { start, rules: reader.rules })
}

struct Reader<'a> {
    options: &'a Options<'a>,
    rules: Vec<(String, Rule)>,
    depth: usize,
}

impl Reader<'_> {
    fn structures(
        &mut self,
        structures: &Value,
        triggers: Option<&Value>,
        field: &str,
    ) -> Result<Rule, Refused> {
        let triggers = texts(triggers.unwrap_or(&Value::Null), &format!("{field}.triggers"))?;
        let path = format!("{field}.structures");
        let Some(structures) = structures.as_array().filter(|items| !items.is_empty()) else {
            return Err(Refused::new(path, "must be a list of one structure or more"));
        };
        let mut tags = Vec::with_capacity(structures.len());
        for (at, structure) in structures.iter().enumerate() {
            let here = format!("{path}.{at}");
            let begin = text(structure, "begin", &here)?;
            let end = text(structure, "end", &here)?;
            begins(begin, &triggers, &here)?;
            let schema = structure.get("schema").cloned().unwrap_or(Value::Bool(true));
            let schema = self.json(&schema, &format!("{here}.schema"))?;
            tags.push(Rule::Seq(vec![self.spelled(begin), schema, self.spelled(end)]));
        }
        Ok(triggered(&triggers, tags, 0, None))
    }

    /// A schema, checked here so that an error names its place.
    fn json(&self, schema: &Value, path: &str) -> Result<Rule, Refused> {
        crate::schema::prepared(schema, self.options)
            .map_err(|refused| Refused::new(format!("{path}{}", refused.param), refused.message))?;
        Ok(Rule::Json(schema.clone()))
    }

    /// Literal text, in which the spellings of special tokens stand for these.
    fn spelled(&self, text: &str) -> Rule {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            match self.marker(rest) {
                Some(marker) => {
                    if !plain.is_empty() {
                        parts.push(Rule::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(Rule::marker(marker));
                    rest = &rest[marker.len()..];
                }
                None => {
                    plain.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        if !plain.is_empty() {
            parts.push(Rule::Text(plain));
        }
        if parts.len() == 1 { parts.remove(0) } else { Rule::Seq(parts) }
    }

    /// The special token that a text begins with: from a bracket to one of the next that close.
    fn marker<'t>(&self, text: &'t str) -> Option<&'t str> {
        if !text.starts_with(['<', '[', '◁']) {
            return None;
        }
        let ends = text.char_indices().filter(|(_, char)| matches!(char, '>' | ']' | '▷')).take(3);
        ends.map(|(at, char)| &text[..at + char.len_utf8()])
            .find(|spelling| (self.options.markers)(spelling).is_some())
    }
}

/// Free text in which each trigger begins one of the tags.
fn triggered(triggers: &[String], tags: Vec<Rule>, min: u32, max: Option<u32>) -> Rule {
    let free = || Rule::Until(triggers.to_vec());
    Rule::Seq(vec![Rule::Seq(vec![free(), Rule::Any(tags)]).many(min, max), free()])
}

fn begins(begin: &str, triggers: &[String], path: &str) -> Result<(), Refused> {
    if triggers.iter().any(|trigger| begin.starts_with(trigger.as_str())) {
        return Ok(());
    }
    Err(Refused::new(
        format!("{path}.begin"),
        format!("must begin with one of the triggers: {}", triggers.join(", ")),
    ))
}

fn text<'v>(value: &'v Value, name: &str, path: &str) -> Result<&'v str, Refused> {
    match value.get(name).and_then(Value::as_str) {
        Some(text) => Ok(text),
        None => Err(Refused::new(format!("{path}.{name}"), "must be a text")),
    }
}

fn texts(value: &Value, path: &str) -> Result<Vec<String>, Refused> {
    let texts: Option<Vec<String>> = value.as_array().and_then(|items| {
        items
            .iter()
            .map(|item| item.as_str().filter(|text| !text.is_empty()).map(str::to_owned))
            .collect()
    });
    match texts {
        Some(texts) if !texts.is_empty() => Ok(texts),
        _ => Err(Refused::new(path, "must be a list of one text or more, none of them empty")),
    }
}
