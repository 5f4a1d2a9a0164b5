//! jinja2's tests, by name.

use std::cmp::Ordering;

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, State};

use crate::arguments::take;
use crate::budget;
use crate::error::invalid;
use crate::filters;
use crate::methods::is_case;
use crate::python::objects::Own;
use crate::python::{Kind, compare, math, to_text};

/// A test: its value, the arguments by position, and those by name.
pub(crate) type Test = fn(&mut State, &Value, &[Value], Kwargs) -> Result<bool, Error>;

/// A test of the value alone.
macro_rules! plain {
    ($test:expr) => {
        |_, value, args, kwargs| {
            let [] = take(args, &kwargs, [], 0)?;
            let test: fn(&Value) -> bool = $test;
            Ok(test(value))
        }
    };
}

/// A comparison with one argument.
macro_rules! compared {
    ($test:expr) => {
        |state, value, args, kwargs| {
            let other = one(args, &kwargs)?;
            let test: fn(&State, &Value, &Value) -> Result<bool, Error> = $test;
            test(state, value, &other)
        }
    };
}

/// Every test that jinja2 has; its signs among them can only be named in strings.
pub(crate) const TESTS: [(&str, Test); 39] = [
    ("odd", |state, value, args, kwargs| rest(state, value, args, &kwargs, 1)),
    ("even", |state, value, args, kwargs| rest(state, value, args, &kwargs, 0)),
    (
        "divisibleby",
        compared!(|state, value, other| {
            compare::equal(state, &math::modulo(state, value, other)?, &Value::from(0))
        }),
    ),
    ("defined", plain!(|value| !value.is_undefined())),
    ("undefined", plain!(Value::is_undefined)),
    ("filter", plain!(|value| value.as_str().is_some_and(|name| filters::find(name).is_some()))),
    ("test", plain!(|value| value.as_str().is_some_and(|name| find(name).is_some()))),
    ("none", plain!(Value::is_none)),
    ("boolean", plain!(|value| matches!(Kind::of(value), Kind::Bool(_)))),
    ("false", plain!(|value| matches!(Kind::of(value), Kind::Bool(false)))),
    ("true", plain!(|value| matches!(Kind::of(value), Kind::Bool(true)))),
    ("integer", plain!(|value| matches!(Kind::of(value), Kind::Int(_)))),
    ("float", plain!(|value| matches!(Kind::of(value), Kind::Float(_)))),
    ("lower", |state, value, args, kwargs| case(state, value, args, &kwargs, "islower")),
    ("upper", |state, value, args, kwargs| case(state, value, args, &kwargs, "isupper")),
    ("string", plain!(|value| value.as_str().is_some())),
    ("mapping", plain!(|value| matches!(Kind::of(value), Kind::Dict(_)))),
    (
        "number",
        plain!(|value| matches!(Kind::of(value), Kind::Bool(_) | Kind::Int(_) | Kind::Float(_))),
    ),
    ("sequence", plain!(is_sequence)),
    ("iterable", plain!(is_iterable)),
    ("callable", plain!(is_callable)),
    ("sameas", |state, value, args, kwargs| {
        let other = one(args, &kwargs)?;
        budget::read(state, value.as_str().map_or(0, str::len))?;
        Ok(!value.is_undefined() && compare::identical(value, &other))
    }),
    ("escaped", plain!(Value::is_safe)),
    ("in", compared!(|state, value, other| compare::contains(state, other, value))),
    ("==", compared!(equal)),
    ("eq", compared!(equal)),
    ("equalto", compared!(equal)),
    ("!=", compared!(unequal)),
    ("ne", compared!(unequal)),
    (">", compared!(greater)),
    ("gt", compared!(greater)),
    ("greaterthan", compared!(greater)),
    (">=", compared!(at_least)),
    ("ge", compared!(at_least)),
    ("<", compared!(less)),
    ("lt", compared!(less)),
    ("lessthan", compared!(less)),
    ("<=", compared!(at_most)),
    ("le", compared!(at_most)),
];

/// The test of a name.
pub(crate) fn find(name: &str) -> Option<Test> {
    TESTS.iter().find(|(other, _)| *other == name).map(|(_, test)| *test)
}

fn one(args: &[Value], kwargs: &Kwargs) -> Result<Value, Error> {
    // jinja2's own parameter has one name or another.
    let name = ["other", "seq", "num", "b"].into_iter().find(|name| kwargs.has(name));
    match (args, name) {
        ([other], None) => Ok(other.clone()),
        ([], Some(name)) => Ok(kwargs.get::<Value>(name).unwrap_or_default()),
        _ => Err(invalid("the test takes one argument")),
    }
}

fn rest(
    state: &State,
    value: &Value,
    args: &[Value],
    kwargs: &Kwargs,
    wanted: i64,
) -> Result<bool, Error> {
    let [] = take(args, kwargs, [], 0)?;
    let rest = math::modulo(state, value, &Value::from(2))?;
    compare::equal(state, &rest, &Value::from(wanted))
}

fn case(
    state: &State,
    value: &Value,
    args: &[Value],
    kwargs: &Kwargs,
    what: &str,
) -> Result<bool, Error> {
    let [] = take(args, kwargs, [], 0)?;
    let text = to_text(state, value)?;
    budget::read(state, text.len())?;
    Ok(is_case(&text, what))
}

/// `a == b`.
pub(crate) fn equal(state: &State, a: &Value, b: &Value) -> Result<bool, Error> {
    compare::equal(state, a, b)
}

/// `a != b`.
pub(crate) fn unequal(state: &State, a: &Value, b: &Value) -> Result<bool, Error> {
    compare::equal(state, a, b).map(|equal| !equal)
}

/// `a > b`.
pub(crate) fn greater(state: &State, a: &Value, b: &Value) -> Result<bool, Error> {
    Ok(compare::ordered(state, a, b)? == Some(Ordering::Greater))
}

/// `a >= b`.
pub(crate) fn at_least(state: &State, a: &Value, b: &Value) -> Result<bool, Error> {
    Ok(compare::ordered(state, a, b)?.is_some_and(Ordering::is_ge))
}

/// `a < b`.
pub(crate) fn less(state: &State, a: &Value, b: &Value) -> Result<bool, Error> {
    Ok(compare::ordered(state, a, b)? == Some(Ordering::Less))
}

/// `a <= b`.
pub(crate) fn at_most(state: &State, a: &Value, b: &Value) -> Result<bool, Error> {
    Ok(compare::ordered(state, a, b)?.is_some_and(Ordering::is_le))
}

/// What has a length and items by key: texts and mappings too, and an undefined value.
fn is_sequence(value: &Value) -> bool {
    matches!(
        Kind::of(value),
        Kind::Undefined
            | Kind::Str(_)
            | Kind::List(_)
            | Kind::Tuple(_)
            | Kind::Dict(_)
            | Kind::Foreign
            | Kind::Own(Own::Range { .. })
    )
}

/// What a loop can go through; None is not, an undefined value is.
fn is_iterable(value: &Value) -> bool {
    match Kind::of(value) {
        Kind::Own(own) => {
            matches!(own, Own::Generator { .. } | Own::View(..) | Own::Range { .. })
        }
        Kind::Loop => true,
        _ => is_sequence(value),
    }
}

fn is_callable(value: &Value) -> bool {
    match Kind::of(value) {
        Kind::Undefined | Kind::Loop | Kind::Macro | Kind::Function => true,
        Kind::Own(own) => matches!(own, Own::Bound(..) | Own::Joiner(..) | Own::Variadic { .. }),
        _ => false,
    }
}
