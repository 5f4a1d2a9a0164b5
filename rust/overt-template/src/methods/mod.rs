//! Methods and properties of Python's types, as far as a template may reach them.

mod case;
mod collections;
mod split;
mod text;
mod translate;

pub(crate) use case::{is as is_case, parse_float, parse_int};
pub(crate) use split::lines;
pub(crate) use text::{replace, strip};

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, State};

use crate::arguments;
use crate::error::invalid;
use crate::provenance::marks;
use crate::python::objects::{Own, View, cycle};
use crate::python::{Kind, int, items, refused};

/// Methods of texts.
pub(crate) const TEXT: [&str; 47] = [
    "capitalize",
    "casefold",
    "center",
    "count",
    "encode",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "maketrans",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "translate",
    "upper",
    "zfill",
];
const LIST: [&str; 3] = ["copy", "count", "index"];
const TUPLE: [&str; 2] = ["count", "index"];
const DICT: [&str; 6] = ["copy", "fromkeys", "get", "items", "keys", "values"];
const NUMBER: [&str; 4] = ["bit_length", "bit_count", "conjugate", "is_integer"];
/// Methods that change their object: there, but not for templates.
const CHANGE_LIST: [&str; 8] =
    ["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];
const CHANGE_DICT: [&str; 5] = ["clear", "pop", "popitem", "setdefault", "update"];
const PROPERTIES: [&str; 12] = [
    "real",
    "imag",
    "numerator",
    "denominator",
    "start",
    "stop",
    "step",
    "current",
    "name",
    "next",
    "reset",
    "mapping",
];

/// Names that are more than items: some type has a method or a property of that name.
pub(crate) fn is_attribute(name: &str) -> bool {
    name.starts_with("__")
        || TEXT.contains(&name)
        || DICT.contains(&name)
        || LIST.contains(&name)
        || NUMBER.contains(&name)
        || CHANGE_LIST.contains(&name)
        || CHANGE_DICT.contains(&name)
        || (PROPERTIES.contains(&name) && name != "name")
}

/// Whether a type has a method.
pub(crate) fn has(kind: &Kind, name: &str) -> bool {
    match kind {
        Kind::Str(_) => TEXT.contains(&name),
        Kind::List(_) | Kind::Foreign => LIST.contains(&name),
        Kind::Tuple(_) => TUPLE.contains(&name),
        Kind::Dict(_) => DICT.contains(&name),
        Kind::Bool(_) | Kind::Int(_) => NUMBER[..3].contains(&name),
        Kind::Float(_) => NUMBER[2..].contains(&name),
        Kind::Own(Own::Cycler(..)) => matches!(name, "next" | "reset"),
        Kind::Own(Own::Range { .. }) => TUPLE.contains(&name),
        Kind::Function => name == "fromkeys",
        _ => false,
    }
}

/// Whether a type has a method that changes its object.
pub(crate) fn changes(kind: &Kind, name: &str) -> bool {
    match kind {
        Kind::List(_) | Kind::Foreign => CHANGE_LIST.contains(&name),
        Kind::Dict(_) => CHANGE_DICT.contains(&name),
        _ => false,
    }
}

/// A property of a type.
pub(crate) fn property(kind: &Kind, name: &str) -> Option<Value> {
    match (kind, name) {
        (Kind::Bool(flag), "real" | "numerator") => Some(int(i128::from(*flag))),
        (Kind::Int(number), "real" | "numerator") => Some(int(*number)),
        (Kind::Int(_) | Kind::Bool(_), "imag") => Some(int(0)),
        (Kind::Int(_) | Kind::Bool(_), "denominator") => Some(int(1)),
        (Kind::Float(number), "real") => Some(Value::from(*number)),
        (Kind::Float(_), "imag") => Some(Value::from(0.0)),
        (Kind::Own(Own::Range { start, .. }), "start") => Some(int(*start)),
        (Kind::Own(Own::Range { stop, .. }), "stop") => Some(int(*stop)),
        (Kind::Own(Own::Range { step, .. }), "step") => Some(int(*step)),
        (Kind::Own(own @ Own::Cycler(..)), "current") => {
            let Own::Cycler(items, at) = own else { return None };
            items.get(at.load(std::sync::atomic::Ordering::Relaxed)).cloned()
        }
        (Kind::Own(Own::View(View::Items | View::Keys | View::Values, dict)), "mapping") => {
            Some(dict.clone())
        }
        _ => None,
    }
}

/// Calls a method that [`has`] knows.
pub(crate) fn call(
    state: &mut State,
    value: &Value,
    name: &str,
    args: &[Value],
    kwargs: Kwargs,
) -> Result<Value, Error> {
    if value.as_str().is_none() {
        return call_bare(state, value, name, args, kwargs);
    }
    marks::method(name, state, value, args, kwargs, &|state, value, args, kwargs| {
        call_bare(state, value, name, args, kwargs)
    })
}

fn call_bare(
    state: &mut State,
    value: &Value,
    name: &str,
    args: &[Value],
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let args = Args { name, positional: args, kwargs };
    let result = match Kind::of(value) {
        Kind::Str(content) => text::call(state, value, content, &args)?,
        Kind::List(items) | Kind::Tuple(items) => collections::list(state, value, items, &args)?,
        Kind::Dict(dict) => collections::dict(state, value, dict, &args)?,
        Kind::Bool(flag) => number(i128::from(flag), None, &args)?,
        Kind::Int(integer) => number(integer, None, &args)?,
        Kind::Float(float) => number(0, Some(float), &args)?,
        Kind::Own(Own::Range { .. }) => {
            let items = items(state, value)?;
            collections::list(state, value, &items, &args)?
        }
        Kind::Own(own) => {
            let [] = args.take([], 0)?;
            cycle(own, name)
        }
        Kind::Function => collections::fromkeys(state, &args)?,
        _ => None,
    };
    result.ok_or_else(|| refused(&format!("the method {name}"), value))
}

fn number(integer: i128, float: Option<f64>, args: &Args) -> Result<Option<Value>, Error> {
    let [] = args.take([], 0)?;
    Ok(match (args.name, float) {
        ("bit_length", None) => Some(int(i128::from(128 - integer.unsigned_abs().leading_zeros()))),
        ("bit_count", None) => Some(int(i128::from(integer.unsigned_abs().count_ones()))),
        ("conjugate", None) => Some(int(integer)),
        ("conjugate", Some(float)) => Some(Value::from(float)),
        ("is_integer", Some(float)) => Some(Value::from(float.is_finite() && float.fract() == 0.0)),
        _ => None,
    })
}

/// The arguments of a method call.
struct Args<'a> {
    name: &'a str,
    positional: &'a [Value],
    kwargs: Kwargs,
}

impl Args<'_> {
    /// As [`arguments::take`].
    fn take<const N: usize>(
        &self,
        names: [&str; N],
        required: usize,
    ) -> Result<[Option<Value>; N], Error> {
        arguments::take(self.positional, &self.kwargs, names, required).map_err(|error| {
            invalid(format!("{}: {}", self.name, error.detail().unwrap_or_default()))
        })
    }
}
