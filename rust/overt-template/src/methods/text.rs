//! Methods of texts.

use std::collections::HashSet;

use minijinja::value::Value;
use minijinja::{Error, State};

use super::split::{lines, split_blank};
use super::translate::{expanded, translated, translation};
use super::{Args, case, collections::clamped};
use crate::budget;
use crate::error::invalid;
use crate::format::braces;
use crate::python::{
    Kind, escaped, expect_int, expect_text, int, items, list, refused, text, tuple,
};
use crate::syntax::is_space;

pub(super) fn call(
    state: &State,
    value: &Value,
    content: &str,
    args: &Args,
) -> Result<Option<Value>, Error> {
    let safe = value.is_safe();
    if args.name.starts_with("is") {
        let [] = args.take([], 0)?;
        budget::read(state, content.len())?;
        return Ok(Some(Value::from(case::is(content, args.name))));
    }
    let simple: Option<fn(&str) -> String> = match args.name {
        "capitalize" => Some(case::capitalized),
        "casefold" => Some(case::folded),
        "lower" => Some(str::to_lowercase),
        "upper" => Some(str::to_uppercase),
        "swapcase" => Some(case::swapped),
        "title" => Some(case::title),
        _ => None,
    };
    if let Some(change) = simple {
        let [] = args.take([], 0)?;
        budget::make(state, content.len())?;
        return Ok(Some(case::value(change(content), safe)));
    }
    Ok(Some(match args.name {
        "strip" | "lstrip" | "rstrip" => {
            let [chars] = args.take([""], 0)?;
            stripped(state, value, content, args.name, chars)?
        }
        "startswith" | "endswith" => affixed(state, content, args)?,
        "find" | "rfind" | "index" | "rindex" | "count" => found(state, content, args)?,
        "replace" => replaced(state, content, args, safe)?,
        "split" | "rsplit" => split(state, content, args, safe)?,
        "splitlines" => {
            let [keep] = args.take(["keepends"], 0)?;
            let keep = keep.is_some_and(|keep| keep.is_true());
            budget::make(state, content.len())?;
            parts(state, lines(content, keep), safe)?
        }
        "partition" | "rpartition" => {
            let [separator] = args.take([""], 1)?;
            let separator = separator.unwrap_or_default();
            let separator = separator_text(args.name, &separator)?;
            budget::make(state, content.len())?;
            let cut = match args.name {
                "partition" => content
                    .split_once(separator)
                    .map_or([content, "", ""], |(a, b)| [a, separator, b]),
                _ => content
                    .rsplit_once(separator)
                    .map_or(["", "", content], |(a, b)| [a, separator, b]),
            };
            tuple(cut.into_iter().map(|part| text(part, safe)).collect())
        }
        "removeprefix" | "removesuffix" => {
            let [part] = args.take([""], 1)?;
            let part = part.unwrap_or_default();
            let part = expect_text(args.name, &part)?;
            budget::make(state, content.len())?;
            let rest = match args.name {
                "removeprefix" => content.strip_prefix(part),
                _ => content.strip_suffix(part),
            };
            text(rest.unwrap_or(content), safe)
        }
        "ljust" | "rjust" | "center" | "zfill" => padded(state, content, args, safe)?,
        "join" => {
            let [parts] = args.take([""], 1)?;
            joined(state, content, &parts.unwrap_or_default(), safe)?
        }
        "expandtabs" => {
            let [size] = args.take(["tabsize"], 0)?;
            let size = size.map_or(Ok(8), |size| expect_int(args.name, &size))?;
            text(expanded(state, content, size)?, safe)
        }
        "format" => braces::format(state, content, args.positional, &args.kwargs, safe)?,
        "format_map" => {
            let [map] = args.take([""], 1)?;
            let map = map.unwrap_or_default();
            let Kind::Dict(dict) = Kind::of(&map) else { return Err(refused("format_map", &map)) };
            let named = |name: &str| dict.get(&Value::from(name)).cloned();
            let values = braces::Values { positional: &[], named: &named };
            text(braces::format_with(state, content, &values, safe)?, safe)
        }
        "maketrans" => translation(state, args)?,
        "translate" => {
            let [table] = args.take([""], 1)?;
            text(translated(state, content, &table.unwrap_or_default())?, safe)
        }
        "encode" => return Err(invalid("encode: a chat template has no bytes")),
        _ => return Ok(None),
    }))
}

fn separator_text<'a>(name: &str, value: &'a Value) -> Result<&'a str, Error> {
    match expect_text(name, value)? {
        "" => Err(invalid(format!("{name}: the separator must not be empty"))),
        separator => Ok(separator),
    }
}

fn stripped(
    state: &State,
    value: &Value,
    content: &str,
    name: &str,
    chars: Option<Value>,
) -> Result<Value, Error> {
    let chars = chars.filter(|chars| !chars.is_none());
    let set = chars.as_ref().map(|chars| expect_text(name, chars)).transpose()?;
    budget::read(state, content.len() + set.map_or(0, str::len))?;
    let set: Option<HashSet<char>> = set.map(|set| set.chars().collect());
    let is = |c: char| set.as_ref().map_or_else(|| is_space(c), |set| set.contains(&c));
    let rest = match name {
        "lstrip" => content.trim_start_matches(is),
        "rstrip" => content.trim_end_matches(is),
        _ => content.trim_matches(is),
    };
    if rest.len() == content.len() {
        return Ok(value.clone());
    }
    budget::spend(rest.len())?;
    Ok(text(rest, value.is_safe()))
}

/// `text.strip()` of any kind of white space.
pub(crate) fn strip(
    state: &State,
    value: &Value,
    content: &str,
    chars: Option<Value>,
) -> Result<Value, Error> {
    stripped(state, value, content, "strip", chars)
}

/// Bytes between two bounds in characters, and the characters before them; None where none remain.
fn window<'c>(
    state: &State,
    content: &'c str,
    start: Option<Value>,
    stop: Option<Value>,
) -> Result<Option<(usize, &'c str)>, Error> {
    if start.is_none() && stop.is_none() {
        return Ok(Some((0, content)));
    }
    budget::read(state, content.len())?;
    let range = clamped(content.chars().count(), start, stop)?;
    if range.start > range.end {
        return Ok(None);
    }
    let byte =
        |index: usize| content.char_indices().map(|(at, _)| at).nth(index).unwrap_or(content.len());
    Ok(Some((range.start, &content[byte(range.start)..byte(range.end)])))
}

fn affixed(state: &State, content: &str, args: &Args) -> Result<Value, Error> {
    let [affix, start, stop] = args.take(["", "", ""], 1)?;
    let affix = affix.unwrap_or_default();
    let single = std::slice::from_ref(&affix);
    let affixes = match Kind::of(&affix) {
        Kind::Tuple(affixes) => affixes,
        _ => single,
    };
    let inside = window(state, content, start, stop)?;
    for affix in affixes {
        let affix = expect_text(args.name, affix)?;
        budget::read(state, affix.len().min(content.len()))?;
        let has = inside.is_some_and(|(_, inside)| match args.name {
            "startswith" => inside.starts_with(affix),
            _ => inside.ends_with(affix),
        });
        if has {
            return Ok(Value::from(true));
        }
    }
    Ok(Value::from(false))
}

fn found(state: &State, content: &str, args: &Args) -> Result<Value, Error> {
    let [part, start, stop] = args.take(["", "", ""], 1)?;
    let part = part.unwrap_or_default();
    let part = expect_text(args.name, &part)?;
    budget::read(state, content.len() + part.len())?;
    let inside = window(state, content, start, stop)?;
    if args.name == "count" {
        return Ok(Value::from(inside.map_or(0, |(_, inside)| inside.matches(part).count())));
    }
    let at = inside.and_then(|(before, inside)| {
        let at = if args.name.starts_with('r') { inside.rfind(part) } else { inside.find(part) };
        at.map(|at| before + inside[..at].chars().count())
    });
    match at {
        Some(at) => Ok(Value::from(at)),
        None if args.name.ends_with("find") => Ok(int(-1)),
        None => Err(invalid(format!("{}: the text does not contain {part:?}", args.name))),
    }
}

fn replaced(state: &State, content: &str, args: &Args, safe: bool) -> Result<Value, Error> {
    let [old, new, count] = args.take(["", "", ""], 2)?;
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let count = count.map_or(Ok(-1), |count| expect_int(args.name, &count))?;
    let old = expect_text(args.name, &old)?;
    let new_text = expect_text(args.name, &new)?;
    let new = if safe && !new.is_safe() { escaped(new_text) } else { new_text.to_owned() };
    Ok(text(replace(state, content, old, &new, count)?, safe))
}

/// Replaces the first `count` occurrences; all where it is negative.
pub(crate) fn replace(
    state: &State,
    content: &str,
    old: &str,
    new: &str,
    count: i128,
) -> Result<String, Error> {
    budget::read(state, content.len())?;
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let places = if new.len() > old.len() { content.matches(old).take(most).count() } else { 0 };
    let grown = places.saturating_mul(new.len() - old.len().min(new.len()));
    let length = content.len().saturating_add(grown);
    budget::make(state, length)?;
    Ok(content.replacen(old, new, most))
}

fn parts<'a>(
    state: &State,
    parts: impl IntoIterator<Item = &'a str>,
    safe: bool,
) -> Result<Value, Error> {
    let parts: Vec<Value> = parts.into_iter().map(|part| text(part, safe)).collect();
    budget::make(state, parts.len() * size_of::<Value>())?;
    Ok(list(parts))
}

fn split(state: &State, content: &str, args: &Args, safe: bool) -> Result<Value, Error> {
    let [separator, limit] = args.take(["sep", "maxsplit"], 0)?;
    let limit = limit.map_or(Ok(-1), |limit| expect_int(args.name, &limit))?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let from_right = args.name == "rsplit";
    budget::make(state, content.len())?;
    let Some(separator) = separator.filter(|separator| !separator.is_none()) else {
        return parts(state, split_blank(content, limit, from_right), safe);
    };
    let separator = separator_text(args.name, &separator)?;
    if from_right {
        let mut cut: Vec<&str> = content.rsplitn(limit.saturating_add(1), separator).collect();
        cut.reverse();
        return parts(state, cut, safe);
    }
    parts(state, content.splitn(limit.saturating_add(1), separator), safe)
}

fn padded(state: &State, content: &str, args: &Args, safe: bool) -> Result<Value, Error> {
    let (width, fill) = if args.name == "zfill" {
        let [width] = args.take([""], 1)?;
        (width, None)
    } else {
        let [width, fill] = args.take(["", ""], 1)?;
        (width, fill)
    };
    let width = expect_int(args.name, &width.unwrap_or_default())?;
    let fill = match &fill {
        Some(fill) => expect_text(args.name, fill)?,
        None => " ",
    };
    if fill.chars().count() != 1 {
        return Err(invalid(format!("{}: the filling must be one character", args.name)));
    }
    Ok(text(pad(state, content, args.name, width, fill)?, safe))
}

/// Pads to a width.
pub(crate) fn pad(
    state: &State,
    content: &str,
    how: &str,
    width: i128,
    fill: &str,
) -> Result<String, Error> {
    budget::read(state, content.len())?;
    let length = content.chars().count();
    let width = usize::try_from(width.max(0)).unwrap_or(usize::MAX);
    let missing = width.saturating_sub(length);
    let bytes = missing.saturating_mul(fill.len()).saturating_add(content.len());
    budget::make(state, bytes)?;
    Ok(match how {
        "ljust" => content.to_owned() + &fill.repeat(missing),
        "rjust" => fill.repeat(missing) + content,
        "center" => {
            let left = missing / 2 + (missing & width & 1);
            format!("{}{content}{}", fill.repeat(left), fill.repeat(missing - left))
        }
        _ => {
            let (sign, digits) = content.split_at(usize::from(content.starts_with(['+', '-'])));
            format!("{sign}{}{digits}", "0".repeat(missing))
        }
    })
}

fn joined(state: &State, separator: &str, values: &Value, safe: bool) -> Result<Value, Error> {
    let mut out = String::new();
    for (index, value) in items(state, values)?.iter().enumerate() {
        let part = match (value.as_str(), safe) {
            (Some(part), true) if !value.is_safe() => escaped(part),
            (Some(part), _) => part.to_owned(),
            (None, true) => escaped(&crate::repr::text(state, value)?),
            (None, false) => return Err(refused("join: an item", value)),
        };
        let separator = if index > 0 { separator } else { "" };
        budget::make(state, separator.len() + part.len())?;
        out.push_str(separator);
        out.push_str(&part);
    }
    Ok(text(out, safe))
}
