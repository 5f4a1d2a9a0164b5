//! Which parsers a checkpoint's answers need, told by its chat template and its vocabulary.

#[cfg(test)]
mod tests;

use crate::{Format, formats};

/// What was found for a chat template.
#[derive(Debug, Clone)]
pub struct Detected {
    /// The format of its tool calls, and why it is that.
    pub tool: Option<(&'static Format, String)>,
    /// The format of its reasoning, and why it is that.
    pub reasoning: Option<(&'static Format, String)>,
    /// The template shows the request's tools to the model.
    pub renders_tools: bool,
}

/// Finds the formats of a chat template, by the `signs` of all formats and the tokens that they need.
///
/// Of several formats whose signs stand in the template the one with the longest signs is meant. `has_token` says
/// whether the vocabulary has a text as one token.
#[must_use]
pub fn detect(template: &str, has_token: &dyn Fn(&str) -> bool) -> Detected {
    let fits = |format: &Format| check(format, has_token).is_ok();
    let rows = || formats().into_iter().filter(|format| fits(format));
    let tool = best(template, rows().filter(|format| format.calls.is_some()));
    let own = |format: &&'static Format| format.calls.is_none() && thinks(format, template);
    let other = best(template, rows().filter(own));
    let family = tool.as_ref().map(|(format, _)| *format).filter(|format| thinks(format, template));
    // Signs that are nothing but markers of thinking are those of many families.
    let reasoning =
        match family.filter(|_| other.as_ref().is_none_or(|(format, _)| is_usual(format))) {
            Some(format) => {
                let why = format!("its tool calls are those of {:?}, which thinks", format.name);
                Some((format, why))
            }
            None => other,
        };
    Detected { tool, reasoning, renders_tools: renders_tools(template) }
}

/// Refuses a format whose tokens a vocabulary lacks.
///
/// # Errors
///
/// Names the tokens that are missing.
pub fn check(format: &Format, has_token: &dyn Fn(&str) -> bool) -> Result<(), String> {
    let missing: Vec<&str> =
        format.tokens.iter().copied().filter(|token| !has_token(token)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "parser {:?} needs tokens that this model's vocabulary lacks: {}; choose the parser of the model's family, or \
         auto",
        format.name,
        missing.join(" ")
    ))
}

/// The format with the longest signs in the template; of equals the first.
fn best(
    template: &str,
    rows: impl Iterator<Item = &'static Format>,
) -> Option<(&'static Format, String)> {
    let mut found: Option<(usize, &'static Format, &[&str])> = None;
    for format in rows {
        let Some((length, group)) = claim(template, format.signs) else { continue };
        if found.is_none_or(|(longest, ..)| length > longest) {
            found = Some((length, format, group));
        }
    }
    found.map(|(_, format, group)| {
        let shown: Vec<String> =
            group.iter().filter(|sign| !sign.starts_with('!')).map(|s| format!("{s:?}")).collect();
        (format, format!("the chat template holds {}", shown.join(" and ")))
    })
}

/// The group of signs that the template has, and its length: every text stands in it, and none that follows a `!`.
fn claim<'a>(template: &str, signs: &[&'a [&'a str]]) -> Option<(usize, &'a [&'a str])> {
    let holds = |group: &&&[&str]| {
        group.iter().all(|sign| match sign.strip_prefix('!') {
            Some(absent) => !template.contains(absent),
            None => template.contains(sign),
        })
    };
    let length = |group: &[&str]| -> usize {
        group.iter().filter(|sign| !sign.starts_with('!')).map(|sign| sign.len()).sum()
    };
    signs
        .iter()
        .filter(holds)
        .map(|group| (length(group), *group))
        .max_by_key(|(length, _)| *length)
}

/// True when a format is told by its markers of thinking alone.
fn is_usual(format: &Format) -> bool {
    let markers = format.thinking.map_or(&[][..], |thinking| thinking.open).iter();
    let markers: Vec<&str> = markers
        .chain(format.thinking.map_or(&[][..], |thinking| thinking.close))
        .copied()
        .collect();
    format.signs.iter().all(|group| group.iter().all(|sign| markers.contains(sign)))
}

/// True when the format reads reasoning and the template has to do with it.
fn thinks(format: &Format, template: &str) -> bool {
    let marked = format.thinking.is_some_and(|thinking| {
        thinking.open.iter().chain(thinking.close).any(|marker| template.contains(marker.trim()))
    });
    !format.reasoning_names.is_empty() && (format.framed || marked)
}

/// True when a statement or expression of the template reads the variable `tools`.
fn renders_tools(template: &str) -> bool {
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        rest = &rest[at + 1..];
        let close = match rest.as_bytes().first() {
            Some(b'{') => "}}",
            Some(b'%') => "%}",
            Some(b'#') => {
                rest = rest.find("#}").map_or("", |end| &rest[end + 2..]);
                continue;
            }
            _ => continue,
        };
        let end = rest.find(close).unwrap_or(rest.len());
        if names(&rest[..end], "tools") {
            return true;
        }
        rest = &rest[end..];
    }
    false
}

/// True when `code` has `word` as a name: outside of texts, and not as an attribute.
fn names(code: &str, word: &str) -> bool {
    let mut quote = None;
    let mut before = ' ';
    let mut characters = code.char_indices().peekable();
    while let Some((at, next)) = characters.next() {
        let starts = !(before.is_alphanumeric() || matches!(before, '_' | '.'));
        match quote {
            Some(_) if next == '\\' => {
                characters.next();
            }
            Some(open) if next == open => quote = None,
            Some(_) => {}
            None if matches!(next, '"' | '\'') => quote = Some(next),
            None if starts && code[at..].starts_with(word) => {
                let after = code[at + word.len()..].chars().next();
                if !after.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                    return true;
                }
            }
            None => {}
        }
        before = next;
    }
    false
}
