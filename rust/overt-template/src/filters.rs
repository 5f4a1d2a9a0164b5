//! Filters, tests and functions that behave as jinja2's under transformers.

use jiff::civil::DateTime;
use jiff::fmt::strtime::{BrokenDownTime, Config};
use jiff::{Timestamp, ZonedDateTime, tz::TimeZone};
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use crate::error::{Raised, invalid};
use crate::repr;

/// Context variable that pins the clock: no template can spell it.
pub(crate) const PINNED_CLOCK: &str = " clock";

/// Arguments given by position or by name, in the order of `names`; None counts as absent.
pub(crate) fn arguments<const N: usize>(
    positional: &[Value],
    kwargs: &Kwargs,
    names: [&str; N],
) -> Result<[Option<Value>; N], Error> {
    if positional.len() > N {
        return Err(invalid(format!("too many arguments: at most {}", names.join(", "))));
    }
    let mut values = [const { None }; N];
    for (index, name) in names.iter().enumerate() {
        let given = match positional.get(index) {
            Some(value) => Some(value.clone()),
            None => kwargs.get::<Option<Value>>(name)?,
        };
        values[index] = given.filter(|value| !value.is_none());
    }
    kwargs.assert_all_used()?;
    Ok(values)
}

/// Iterates as Python does: over the characters of a string, and not at all over None or a number.
pub(crate) fn iterate(value: Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::String => Ok(value
            .as_str()
            .unwrap_or_default()
            .chars()
            .map(|c| Value::from(c.to_string()))
            .collect()),
        ValueKind::None | ValueKind::Bool | ValueKind::Number => {
            Err(invalid(format!("a {} cannot be iterated over", value.kind())))
        }
        _ => Ok(value),
    }
}

/// `x is iterable`: true of an undefined value, false of None.
pub(crate) fn is_iterable(value: &Value) -> bool {
    matches!(
        value.kind(),
        ValueKind::Undefined
            | ValueKind::String
            | ValueKind::Seq
            | ValueKind::Map
            | ValueKind::Iterable
    )
}

/// `x is sequence`: what has a length and items by key, so strings and mappings too.
pub(crate) fn is_sequence(value: &Value) -> bool {
    match value.kind() {
        ValueKind::Undefined | ValueKind::String | ValueKind::Seq | ValueKind::Map => true,
        ValueKind::Iterable => value.len().is_some(),
        _ => false,
    }
}

/// `x|string`.
pub(crate) fn string(value: Value) -> Value {
    if value.kind() == ValueKind::String {
        return value;
    }
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = repr::write_str(&value, &mut out);
    Value::from(out)
}

/// `x|indent(width=4, first=False, blank=False)`; `width` may be the indentation itself.
pub(crate) fn indent(
    state: &State,
    text: &Value,
    args: &[Value],
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let Some(text) = text.as_str() else {
        return Err(invalid(format!("indent: a {} is no text", text.kind())));
    };
    let [width, first, blank] = arguments(args, &kwargs, ["width", "first", "blank"])?;
    let first = first.is_some_and(|value| value.is_true());
    let blank = blank.is_some_and(|value| value.is_true());
    let indentation = match width {
        None => " ".repeat(4),
        Some(width) => match width.as_str() {
            Some(text) => text.to_owned(),
            None => {
                let width = usize::try_from(i64::try_from(width)?.max(0)).unwrap_or(0);
                state.consume_fuel(width as u64 / 64)?;
                " ".repeat(width)
            }
        },
    };
    let lines = split_lines(text);
    state.consume_fuel((indentation.len() as u64).saturating_mul(lines.len() as u64) / 64)?;
    let mut out = String::with_capacity(text.len() + indentation.len() * lines.len());
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if (index == 0 && first) || (index > 0 && (blank || !line.is_empty())) {
            out.push_str(&indentation);
        }
        out.push_str(line);
    }
    Ok(Value::from(out))
}

/// Lines as Python's `(text + "\n").splitlines()` gives them: at least one.
fn split_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_end = matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        );
        if !is_end {
            continue;
        }
        lines.push(&text[start..at]);
        start = at + c.len_utf8();
        if c == '\r' && chars.next_if(|next| next.1 == '\n').is_some() {
            start += 1;
        }
    }
    lines.push(&text[start..]);
    lines
}

/// `raise_exception(message)`: the template refuses its input.
pub(crate) fn raise_exception(message: Value) -> Result<Value, Error> {
    let message = message.to_string();
    Err(Error::new(ErrorKind::InvalidOperation, message.clone()).with_source(Raised(message)))
}

/// Seconds since 1970 as the local wall clock shows them.
pub(crate) fn local_seconds() -> i64 {
    let now = ZonedDateTime::now();
    now.timestamp().as_second() + i64::from(now.offset().seconds())
}

/// `strftime_now(format)`: local time, formatted as Python formats a time without zone.
pub(crate) fn strftime_now(state: &State, format: &str) -> Result<String, Error> {
    let now = match state.lookup(PINNED_CLOCK).and_then(|seconds| seconds.as_i64()) {
        Some(seconds) => Timestamp::from_second(seconds)
            .map_err(|error| invalid(format!("strftime_now: {error}")))?
            .to_zoned_datetime(TimeZone::UTC)
            .datetime(),
        None => ZonedDateTime::now().datetime(),
    };
    strftime(now, format)
}

fn strftime(now: DateTime, format: &str) -> Result<String, Error> {
    // A time without zone has an empty zone in Python; the engine would leave the letters standing.
    let mut zoneless = String::with_capacity(format.len());
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        match (c, c == '%') {
            (_, true) => match chars.next() {
                Some('z' | 'Z') => {}
                Some(next) => zoneless.extend(['%', next]),
                None => zoneless.push('%'),
            },
            _ => zoneless.push(c),
        }
    }
    BrokenDownTime::from(now)
        .to_string_with_config(&Config::new().lenient(true), &zoneless)
        .map_err(|error| invalid(format!("strftime_now({format:?}): {error}")))
}

#[cfg(test)]
mod tests {
    use super::{split_lines, strftime};
    use jiff::civil::date;

    #[test]
    fn lines_are_pythons() {
        assert_eq!(split_lines(""), [""]);
        assert_eq!(split_lines("a\r\nb\rc\n"), ["a", "b", "c", ""]);
        assert_eq!(split_lines("a\u{2028}b\u{b}"), ["a", "b", ""]);
    }

    #[test]
    fn times_are_pythons() {
        let now = date(2025, 3, 9).at(8, 5, 7, 0);
        for (format, expected) in [
            ("%d %b %Y", "09 Mar 2025"),
            ("%Y-%m-%d %H:%M:%S", "2025-03-09 08:05:07"),
            ("%A, %-d %B", "Sunday, 9 March"),
            ("100%% %z|%Z|%", "100% ||%"),
            ("%I:%M %p", "08:05 AM"),
        ] {
            assert_eq!(strftime(now, format).unwrap(), expected);
        }
    }
}
