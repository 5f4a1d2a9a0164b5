//! The functions that every chat template finds.

use std::sync::atomic::{AtomicBool, AtomicUsize};

use jiff::civil::DateTime;
use jiff::fmt::strtime::{BrokenDownTime, Config};
use jiff::{Timestamp, ZonedDateTime, tz::TimeZone};
use minijinja::value::{Kwargs, Value};
use minijinja::{Error, ErrorKind, State};

use crate::arguments::take;
use crate::budget;
use crate::error::{Raised, invalid};
use crate::provenance::marks;
use crate::python::namespace::Namespace;
use crate::python::objects::{self, Own};
use crate::python::{
    self, Dict, Kind, compare, expect_int, expect_text, items, refused, sealed, to_text,
};

/// Context variable that pins the clock: no template can spell it.
pub(crate) const PINNED_CLOCK: &str = " clock";

/// Seconds since 1970 as the local wall clock shows them.
pub(crate) fn local_seconds() -> i64 {
    let now = ZonedDateTime::now();
    now.timestamp().as_second() + i64::from(now.offset().seconds())
}

/// `raise_exception(message)`: the template refuses its input.
pub(crate) fn raise_exception(
    state: &mut State,
    args: &[Value],
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let [message] = take(args, &kwargs, ["message"], 0)?;
    let Some(message) = message else {
        return Err(invalid("raise_exception: the message is missing"));
    };
    let message = to_text(state, &message)?.into_owned();
    Err(Error::new(ErrorKind::InvalidOperation, message.clone()).with_source(Raised(message)))
}

/// `range(stop)`, `range(start, stop, step)`.
pub(crate) fn range(_: &mut State, args: &[Value], kwargs: Kwargs) -> Result<Value, Error> {
    let [a, b, c] = take(args, &kwargs, ["", "", ""], 0)?;
    let number = |value: Option<Value>| value.map(|value| expect_int("range", &value)).transpose();
    match (number(a)?, number(b)?, number(c)?) {
        (Some(stop), None, None) => objects::range(0, stop, 1),
        (Some(start), Some(stop), step) => objects::range(start, stop, step.unwrap_or(1)),
        _ => Err(invalid("range: it takes one to three numbers")),
    }
}

fn mapping(state: &State, args: &[Value], kwargs: &Kwargs) -> Result<Vec<(Value, Value)>, Error> {
    let mut pairs = Vec::new();
    match args {
        [] => {}
        [from] => match Kind::of(from) {
            Kind::Dict(dict) => pairs.extend(
                python::keys(from, dict)
                    .zip(dict.values())
                    .map(|(key, value)| (key.clone(), value.clone())),
            ),
            _ => {
                for item in items(state, from)? {
                    match items(state, &item)?.as_slice() {
                        [key, value] => {
                            compare::hashable(state, key, pairs.len())?;
                            pairs.push((key.clone(), value.clone()));
                        }
                        _ => return Err(invalid("dict: an item is no pair")),
                    }
                }
            }
        },
        _ => return Err(invalid("dict: at most one value by position")),
    }
    for name in kwargs.args() {
        pairs.push((Value::from(name), kwargs.get::<Value>(name).unwrap_or_default()));
    }
    Ok(pairs)
}

/// `dict(pairs, name=value)`.
pub(crate) fn dict(state: &mut State, args: &[Value], kwargs: Kwargs) -> Result<Value, Error> {
    let pairs = mapping(state, args, &kwargs)?;
    sealed(state, marks::dict(pairs))
}

/// `namespace(pairs, name=value)`: what `set` can change from inside a loop.
pub(crate) fn namespace(state: &mut State, args: &[Value], kwargs: Kwargs) -> Result<Value, Error> {
    let pairs = mapping(state, args, &kwargs)?;
    let pairs = pairs.into_iter().map(|(key, value)| (marks::bare(&key).into_owned(), value));
    let dict: Dict = pairs.collect();
    if let Some(name) =
        dict.keys().filter_map(|key| key.as_str()).find(|name| name.starts_with('_'))
    {
        return Err(invalid(format!("namespace: the name {name} must not begin with _")));
    }
    let sealed = sealed(state, Value::from_object(dict))?;
    budget::spend(256)?;
    Ok(Namespace::value(sealed.downcast_object_ref::<Dict>().cloned().unwrap_or_default()))
}

/// `cycler(first, second, …)`.
pub(crate) fn cycler(state: &mut State, args: &[Value], _: Kwargs) -> Result<Value, Error> {
    if args.is_empty() {
        return Err(invalid("cycler: at least one item has to be given"));
    }
    sealed(state, Value::from_object(Own::Cycler(args.to_vec(), AtomicUsize::new(0))))
}

/// `joiner(separator=', ')`.
pub(crate) fn joiner(state: &mut State, args: &[Value], kwargs: Kwargs) -> Result<Value, Error> {
    let [separator] = take(args, &kwargs, ["sep"], 0)?;
    let separator = separator.unwrap_or_else(|| Value::from(", "));
    sealed(state, Value::from_object(Own::Joiner(separator, AtomicBool::new(false))))
}

/// Not in a prompt: it writes random words.
pub(crate) fn lipsum(_: &mut State, _: &[Value], _: Kwargs) -> Result<Value, Error> {
    Err(invalid("lipsum: not supported, it writes random words"))
}

/// `strftime_now(format)`: local time, formatted as Python formats a time without zone.
pub(crate) fn strftime_now(
    state: &mut State,
    args: &[Value],
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let [format] = take(args, &kwargs, ["format"], 0)?;
    let Some(format) = format else { return Err(refused("strftime_now", &Value::UNDEFINED)) };
    let format = marks::text(expect_text("strftime_now", &format)?);
    let now = match state.lookup(PINNED_CLOCK).and_then(|seconds| seconds.as_i64()) {
        Some(seconds) => Timestamp::from_second(seconds)
            .map_err(|error| invalid(format!("strftime_now: {error}")))?
            .to_zoned_datetime(TimeZone::UTC)
            .datetime(),
        None => ZonedDateTime::now().datetime(),
    };
    strftime(now, &format).map(Value::from)
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
    use super::strftime;
    use jiff::civil::date;

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
