//! Texts.

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, State};

use super::{Call, required};
use crate::budget;
use crate::error::invalid;
use crate::format::percent;
use crate::methods;
use crate::python::{self, Dict, Kind, expect_int, expect_text, items, refused, to_text, tuple};

/// A value as text, still marked where it is.
fn soft(state: &State, value: &Value) -> Result<Value, Error> {
    if value.as_str().is_some() {
        return Ok(value.clone());
    }
    Ok(Value::from(to_text(state, value)?.into_owned()))
}

/// Applies a method of texts.
fn method(state: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    let text = soft(state, value)?;
    let none = Kwargs::from_iter(std::iter::empty::<(&str, Value)>());
    methods::call(state, &text, name, args, none)
}

pub(super) fn lower(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    method(state, value, "lower", &[])
}

pub(super) fn upper(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    method(state, value, "upper", &[])
}

pub(super) fn capitalize(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    method(state, value, "capitalize", &[])
}

pub(super) fn center(call: Call) -> Result<Value, Error> {
    let (state, value, [width]) = call.given(["width"])?;
    method(state, value, "center", &[width.unwrap_or_else(|| Value::from(80))])
}

/// `x|trim(chars=None)`.
pub(super) fn trim(call: Call) -> Result<Value, Error> {
    let (state, value, [chars]) = call.arguments(["chars"])?;
    match value.as_str() {
        Some(text) => methods::strip(state, value, text, chars),
        None => method(state, value, "strip", chars.as_slice()),
    }
}

/// `x|string`.
pub(super) fn string(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    soft(state, value)
}

/// `x|default(default_value='', boolean=False)`.
pub(super) fn default(call: Call) -> Result<Value, Error> {
    let (_, value, [default, boolean]) = call.given(["default_value", "boolean"])?;
    let boolean = boolean.is_some_and(|flag| flag.is_true());
    if value.is_undefined() || (boolean && !value.is_true()) {
        return Ok(default.unwrap_or_else(|| Value::from("")));
    }
    Ok(value.clone())
}

/// Each word begins upper, all else lower.
pub(super) fn title(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    let text = to_text(state, value)?;
    budget::make(state, text.len())?;
    let mut out = String::with_capacity(text.len());
    let separates =
        |c: char| c == '-' || matches!(c, '(' | '{' | '[' | '<') || crate::syntax::is_space(c);
    let mut word = String::new();
    let flush = |word: &mut String, out: &mut String| {
        let mut chars = word.chars();
        if let Some(first) = chars.next() {
            out.extend(first.to_uppercase());
            out.push_str(&chars.as_str().to_lowercase());
        }
        word.clear();
    };
    for c in text.chars() {
        if separates(c) {
            flush(&mut word, &mut out);
            out.push(c);
        } else {
            word.push(c);
        }
    }
    flush(&mut word, &mut out);
    Ok(Value::from(out))
}

/// `x|replace(old, new, count=None)`.
pub(super) fn replace(call: Call) -> Result<Value, Error> {
    let (state, value, [old, new, count]) = call.given(["old", "new", "count"])?;
    let (old, new) = (required(old, "replace", "old")?, required(new, "replace", "new")?);
    let count = match count.filter(|count| !count.is_none()) {
        Some(count) => expect_int("replace: the count", &count)?,
        None => -1,
    };
    let (text, old, new) = (to_text(state, value)?, to_text(state, &old)?, to_text(state, &new)?);
    Ok(Value::from(methods::replace(state, &text, &old, &new, count)?))
}

/// `x|join(d='', attribute=None)`.
pub(super) fn join(call: Call) -> Result<Value, Error> {
    let (state, value, [separator, attribute]) = call.given(["d", "attribute"])?;
    let separator = separator.unwrap_or_else(|| Value::from(""));
    let separator = to_text(state, &separator)?;
    let path = super::attributes::Path::of(&attribute.unwrap_or_else(|| Value::from(())));
    let mut out = String::new();
    for (index, item) in items(state, value)?.iter().enumerate() {
        let item = path.read(state, item, None)?;
        let part = to_text(state, &item)?;
        let separator = if index > 0 { &*separator } else { "" };
        budget::make(state, separator.len() + part.len())?;
        out.push_str(separator);
        out.push_str(&part);
    }
    Ok(Value::from(out))
}

/// `x|format(…)`: the `%` of texts.
pub(super) fn format(call: Call) -> Result<Value, Error> {
    let Call { state, value, args, kwargs } = call;
    let text = soft(state, value)?;
    let mut named = Dict::new();
    for name in kwargs.args() {
        named.insert(Value::from(name), kwargs.get::<Value>(name).unwrap_or_default());
    }
    if !named.is_empty() && !args.is_empty() {
        return Err(invalid("format: values are given by position or by name, not both"));
    }
    let values = if named.is_empty() { tuple(args.to_vec()) } else { Value::from_object(named) };
    percent::format(state, text.as_str().unwrap_or_default(), &values, text.is_safe())
}

/// `x|indent(width=4, first=False, blank=False)`; `width` may be the indentation itself.
pub(super) fn indent(call: Call) -> Result<Value, Error> {
    let (state, value, [width, first, blank]) = call.given(["width", "first", "blank"])?;
    let text = expect_text("indent", value)?;
    budget::read(state, text.len())?;
    let first = first.is_some_and(|value| value.is_true());
    let blank = blank.is_some_and(|value| value.is_true());
    let width = width.unwrap_or_else(|| Value::from(4));
    let indentation = match width.as_str() {
        Some(text) => text.to_owned(),
        None => {
            let width = expect_int("indent: the width", &width)?.max(0);
            let width = usize::try_from(width).unwrap_or(usize::MAX);
            budget::make(state, width)?;
            " ".repeat(width)
        }
    };
    let lines = split_lines(text);
    let length = indentation.len().saturating_mul(lines.len()).saturating_add(text.len());
    budget::make(state, length)?;
    let mut out = String::with_capacity(length);
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if (index == 0 && first) || (index > 0 && (blank || !line.is_empty())) {
            out.push_str(&indentation);
        }
        out.push_str(line);
    }
    Ok(python::text(out, value.is_safe()))
}

/// Lines as Python's `(text + "\n").splitlines()` gives them: at least one.
fn split_lines(text: &str) -> Vec<&str> {
    let mut lines = methods::lines(text, false);
    // What follows the last end of a line is a line too, even when it is empty.
    let ended = methods::lines(text, true).last().is_none_or(|last| {
        methods::lines(last, false).first().is_none_or(|bare| bare.len() < last.len())
    });
    if ended {
        lines.push("");
    }
    lines
}

/// Runs of letters, digits and underscores.
pub(super) fn wordcount(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    let text = to_text(state, value)?;
    budget::read(state, text.len())?;
    let words =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    Ok(Value::from(words.count()))
}

/// `x|truncate(length=255, killwords=False, end='...', leeway=5)`.
pub(super) fn truncate(call: Call) -> Result<Value, Error> {
    let (state, value, [length, killwords, end, leeway]) =
        call.given(["length", "killwords", "end", "leeway"])?;
    let length = length.map_or(Ok(255), |length| expect_int("truncate: the length", &length))?;
    let killwords = killwords.is_some_and(|flag| flag.is_true());
    let end = end.unwrap_or_else(|| Value::from("..."));
    let end = expect_text("truncate: the end", &end)?;
    let leeway = match leeway.filter(|leeway| !leeway.is_none()) {
        Some(leeway) => expect_int("truncate: the leeway", &leeway)?,
        None => 5,
    };
    let end_length = end.chars().count() as i128;
    if length < end_length || leeway < 0 {
        return Err(invalid(
            "truncate: the length must hold the end, and the leeway not be negative",
        ));
    }
    budget::read(state, value.as_str().map_or(0, str::len))?;
    let Some(has) = python::length(value) else { return Err(refused("truncate", value)) };
    if has as i128 <= length.saturating_add(leeway) {
        return Ok(value.clone());
    }
    let Kind::Str(text) = Kind::of(value) else { return Err(refused("truncate", value)) };
    budget::make(state, text.len())?;
    let kept = usize::try_from(length - end_length).unwrap_or(0);
    let cut: String = text.chars().take(kept).collect();
    let cut = if killwords {
        cut.as_str()
    } else {
        cut.rsplit_once(' ').map_or(cut.as_str(), |(left, _)| left)
    };
    let safe = value.is_safe();
    let end = if safe { python::escaped(end) } else { end.to_owned() };
    Ok(python::text(cut.to_owned() + &end, safe))
}
