//! What the filters and methods that look into text do to marked text.
//!
//! Each runs on the text without marks; the marks are then laid over its result, which thereby is right
//! whatever the operation. Where a mark cannot be followed, the result is marked as derived.

use std::sync::Arc;

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, State};

use super::taint::{Glyph, Tag, Taint};
use super::value::{plain, scalar, tag_of};
use crate::python::compare::equal;
use crate::python::{Kind, list, text as text_value, to_text, tuple};

/// The result of the operation `name` on a marked text, with marks; `result` is that without marks.
pub(crate) fn carry(
    taint: &Arc<Taint>,
    state: &State,
    name: &str,
    args: &[Value],
    result: Value,
) -> Result<Value, Error> {
    let Some(receiver) = args.first() else { return Ok(result) };
    if equal(state, &plain(taint, receiver), &result)? {
        return Ok(receiver.clone());
    }
    if receiver.as_str().is_none() && result.as_str().is_none() {
        return Ok(derived(taint, args, result));
    }
    // What is no text is printed first, as the operation itself does.
    let source = taint.glyphs(&to_text(state, receiver)?);
    if source.iter().all(|glyph| glyph.tag.is_none()) && name != "replace" {
        return Ok(result);
    }
    let carried = match (name, result.as_str()) {
        ("split" | "rsplit" | "splitlines" | "partition" | "rpartition", _) => {
            pieces(taint, name, &source, args, &result)
        }
        (_, Some(text)) => match name {
            "strip" | "trim" | "lstrip" | "rstrip" | "removeprefix" | "removesuffix" => {
                substring(name, &source, text).map(<[Glyph]>::to_vec)
            }
            "upper" | "lower" | "title" | "capitalize" | "casefold" | "swapcase" => {
                respell(&source, text)
            }
            "replace" => replace(taint, &source, args),
            "indent" => indent(&source, text),
            _ => None,
        }
        .map(|glyphs| text_value(taint.text(&glyphs), result.is_safe())),
        _ => None,
    };
    checked(taint, state, carried, args, result)
}

/// `carried` if it is `result` with marks; else `result` as derived from `args`.
pub(crate) fn checked(
    taint: &Arc<Taint>,
    state: &State,
    carried: Option<Value>,
    args: &[Value],
    result: Value,
) -> Result<Value, Error> {
    Ok(match carried {
        Some(carried) if equal(state, &plain(taint, &carried), &result)? => carried,
        _ => derived(taint, args, result),
    })
}

/// `result` as derived from the first of `args` that has a mark.
fn derived(taint: &Arc<Taint>, args: &[Value], result: Value) -> Value {
    match args.iter().find_map(|value| tag_of(taint, value)) {
        Some(tag) => derived_from(taint, tag.derived(), result),
        None => result,
    }
}

fn derived_from(taint: &Arc<Taint>, tag: Tag, value: Value) -> Value {
    let each = |items: &[Value]| {
        items.iter().map(|item| derived_from(taint, tag, item.clone())).collect::<Vec<_>>()
    };
    match Kind::of(&value) {
        Kind::Str(text) => text_value(taint.mark(text, tag), value.is_safe()),
        Kind::Int(_) | Kind::Float(_) => scalar(value, tag),
        Kind::List(items) => list(each(items)),
        Kind::Tuple(items) => tuple(each(items)),
        _ => value,
    }
}

fn chars(glyphs: &[Glyph]) -> String {
    glyphs.iter().map(|glyph| glyph.char).collect()
}

/// The part of `source` that trimming left.
fn substring<'a>(name: &str, source: &'a [Glyph], result: &str) -> Option<&'a [Glyph]> {
    let length = result.chars().count();
    let start = match name {
        "rstrip" | "removesuffix" => 0,
        "lstrip" | "removeprefix" => source.len().checked_sub(length)?,
        // Nothing that was trimmed begins as the rest does.
        _ => {
            let text = chars(source);
            text[..text.find(result)?].chars().count()
        }
    };
    source.get(start..start + length)
}

/// The parts that a split gave, in their order.
fn pieces(
    taint: &Arc<Taint>,
    name: &str,
    source: &[Glyph],
    args: &[Value],
    result: &Value,
) -> Option<Value> {
    let named = |value: &Value| {
        let kwargs = Kwargs::try_from(value.clone()).ok()?;
        kwargs.get::<Option<Value>>("sep").ok().flatten()
    };
    let separator = match name {
        "partition" | "rpartition" => Some(0),
        "split" | "rsplit" => {
            let given = args.get(1).map(|value| match value.is_kwargs() {
                true => named(value).unwrap_or_default(),
                false => value.clone(),
            });
            given.and_then(|value| value.as_str().map(|text| text.chars().count()))
        }
        _ => None,
    };
    let mut at = 0;
    let mut parts = Vec::new();
    for part in result.try_iter().ok()? {
        let part: Vec<char> = part.as_str()?.chars().collect();
        let is_here = |at: usize| {
            let there = source.get(at..at + part.len());
            there.is_some_and(|there| there.iter().map(|glyph| glyph.char).eq(part.iter().copied()))
        };
        let start = match separator {
            Some(_) => Some(at).filter(|at| is_here(*at)),
            // Between the parts is white space only, with which no part begins.
            None => (at..=source.len()).find(|at| is_here(*at)),
        }?;
        parts.push(Value::from(taint.text(&source[start..start + part.len()])));
        at = start + part.len() + separator.unwrap_or(0);
    }
    Some(if name.ends_with("partition") { tuple(parts) } else { list(parts) })
}

/// `result` as the characters of `source`, each as it is or in another case.
fn respell(source: &[Glyph], result: &str) -> Option<Vec<Glyph>> {
    if result.chars().count() == source.len() {
        let pairs = result.chars().zip(source);
        return Some(pairs.map(|(char, glyph)| Glyph { char, tag: glyph.tag }).collect());
    }
    let mut rest = result;
    let mut out = Vec::with_capacity(source.len());
    for glyph in source {
        let spelling = other_cases(glyph.char)
            .into_iter()
            .filter(|spelling| rest.starts_with(spelling))
            .max_by_key(String::len)?;
        out.extend(spelling.chars().map(|char| Glyph { char, tag: glyph.tag }));
        rest = &rest[spelling.len()..];
    }
    rest.is_empty().then_some(out)
}

fn other_cases(c: char) -> [String; 3] {
    [c.to_string(), c.to_uppercase().collect(), c.to_lowercase().collect()]
}

/// `source.replace(old, new, count)`.
fn replace(taint: &Arc<Taint>, source: &[Glyph], args: &[Value]) -> Option<Vec<Glyph>> {
    let old = plain(taint, args.get(1)?);
    let old = old.as_str()?;
    let new = taint.glyphs(args.get(2)?.as_str()?);
    let count = match args.get(3).map(Kind::of) {
        Some(Kind::Int(count)) => usize::try_from(count).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    if old.is_empty() {
        return None;
    }
    let text = chars(source);
    let length = old.chars().count();
    let mut out = Vec::with_capacity(source.len());
    let (mut rest, mut behind) = (source, 0);
    for (at, _) in text.match_indices(old).take(count) {
        let (kept, found) = rest.split_at_checked(text[behind..at].chars().count())?;
        out.extend_from_slice(kept);
        out.extend_from_slice(&new);
        rest = found.get(length..)?;
        behind = at + old.len();
    }
    out.extend_from_slice(rest);
    Some(out)
}

/// `source|indent`: before each line of `source`, `result` has some characters more.
fn indent(source: &[Glyph], result: &str) -> Option<Vec<Glyph>> {
    let mut out = Vec::with_capacity(result.len());
    let mut rest = source;
    for (index, line) in result.split('\n').enumerate() {
        if index > 0 {
            let (end, after) = rest.split_first()?;
            let pair = end.char == '\r' && after.first().is_some_and(|glyph| glyph.char == '\n');
            rest = if pair { &after[1..] } else { after };
            out.push(Glyph { char: '\n', tag: end.tag });
        }
        let length = line.chars().count();
        let own = rest.iter().take_while(|glyph| !ends_line(glyph.char)).count();
        let added = length.checked_sub(own)?;
        out.extend(line.chars().take(added).map(|char| Glyph { char, tag: None }));
        out.extend_from_slice(&rest[..own]);
        rest = &rest[own..];
    }
    rest.is_empty().then_some(out)
}

fn ends_line(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}
