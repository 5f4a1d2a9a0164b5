//! What the engine asks of the marks while a marked render runs in this thread.
//!
//! Comparisons, keys and tests see values without marks. Filters that put items together, and all that prints,
//! pass marks on by themselves; those that look into text run without marks, which are then laid over their
//! result ([`operations`](super::operations)).

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, State};

use super::operations::{carry, checked};
use super::taint::{Glyph, Taint};
use super::value::{self, marked, plain, plain_all, plain_kwargs};
use crate::filters::{Call, Filter};
use crate::jinja_tests::Test;
use crate::python::{Dict, Kind, counted};

/// Filters that copy what they are given, or leave the looking to methods and comparisons.
const COPYING: [&str; 34] = [
    "attr",
    "batch",
    "capitalize",
    "center",
    "count",
    "d",
    "default",
    "dictsort",
    "e",
    "escape",
    "first",
    "forceescape",
    "groupby",
    "items",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "random",
    "reject",
    "rejectattr",
    "reverse",
    "safe",
    "select",
    "selectattr",
    "slice",
    "sort",
    "string",
    "sum",
    "upper",
];
/// Filters that copy what they are given, their arguments aside.
const COPYING_VALUE: [&str; 2] = ["tojson", "unique"];
/// Methods and filters that put text together: what they make is right where its text is.
const PLACING: [&str; 5] = ["format", "format_map", "center", "ljust", "rjust"];

/// A filter, or a method by its name.
type Apply<'a> = &'a dyn Fn(&mut State, &Value, &[Value], Kwargs) -> Result<Value, Error>;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Taint>>> = const { RefCell::new(None) };
}

/// Values of this thread may be marked, until it is dropped.
pub(crate) struct Marking(Option<Arc<Taint>>);

impl Marking {
    pub(crate) fn start(taint: Arc<Taint>) -> Self {
        Self(CURRENT.replace(Some(taint)))
    }
}

impl Drop for Marking {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// The marks in use, if any.
pub(crate) fn current() -> Option<Arc<Taint>> {
    CURRENT.with_borrow(Clone::clone)
}

/// A text without its marks.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    CURRENT.with_borrow(|marks| match marks {
        Some(taint) => taint.plain(text),
        None => Cow::Borrowed(text),
    })
}

/// A value without its marks.
pub(crate) fn bare(value: &Value) -> Cow<'_, Value> {
    CURRENT.with_borrow(|marks| match marks {
        Some(taint) => plain(taint, value),
        None => Cow::Borrowed(value),
    })
}

/// A mapping of these pairs, whose keys are found whatever their marks.
pub(crate) fn dict(pairs: Vec<(Value, Value)>) -> Value {
    match current() {
        Some(taint) => value::keyed(&taint, pairs),
        None => Value::from_object(pairs.into_iter().collect::<Dict>()),
    }
}

/// A mapping that the engine made, so that its keys are found.
pub(crate) fn sealed(value: Value) -> Value {
    let (Some(taint), None) = (current(), marked(&value)) else { return value };
    match Kind::of(&value) {
        Kind::Dict(dict) => {
            value::keyed(&taint, dict.iter().map(|(key, value)| (key.clone(), value.clone())))
        }
        _ => value,
    }
}

/// The text that a number, boolean or None is printed as, with its mark.
pub(crate) fn printed(value: &Value, text: String) -> String {
    let is_one =
        matches!(Kind::of(value), Kind::None | Kind::Bool(_) | Kind::Int(_) | Kind::Float(_));
    let tag = marked(value).filter(|_| is_one).and_then(|marked| marked.tag);
    match (current(), tag) {
        (Some(taint), Some(tag)) => {
            let own = |glyph: Glyph| Glyph { tag: glyph.tag.or(Some(tag)), ..glyph };
            taint.text(&taint.glyphs(&text).into_iter().map(own).collect::<Vec<_>>())
        }
        _ => text,
    }
}

/// Applies a test, which sees no marks.
pub(crate) fn test(
    test: Test,
    state: &mut State,
    value: &Value,
    args: &[Value],
    kwargs: Kwargs,
) -> Result<bool, Error> {
    match current() {
        Some(taint) => {
            seen(state, value, args, &kwargs)?;
            test(
                state,
                &plain(&taint, value),
                &plain_all(&taint, args),
                plain_kwargs(&taint, &kwargs),
            )
        }
        None => test(state, value, args, kwargs),
    }
}

/// Applies the filter of a name.
pub(crate) fn filter(
    name: &str,
    filter: Filter,
    state: &mut State,
    value: &Value,
    args: &[Value],
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let apply = |state: &mut State, value: &Value, args: &[Value], kwargs: Kwargs| {
        filter(Call { state, value, args, kwargs })
    };
    match current() {
        Some(_) if COPYING.contains(&name) => apply(state, value, args, kwargs),
        Some(taint) if COPYING_VALUE.contains(&name) => {
            seen(state, &Value::UNDEFINED, args, &kwargs)?;
            apply(state, value, &plain_all(&taint, args), plain_kwargs(&taint, &kwargs))
        }
        Some(taint) => operation(&taint, name, state, value, args, kwargs, &apply),
        None => apply(state, value, args, kwargs),
    }
}

/// Counts what marks are taken off: all that the values hold.
fn seen(state: &State, value: &Value, args: &[Value], kwargs: &Kwargs) -> Result<(), Error> {
    std::iter::once(value).chain(args).try_for_each(|value| counted(state, value))?;
    kwargs.args().try_for_each(|name| match kwargs.peek::<&Value>(name) {
        Ok(value) => counted(state, value),
        Err(_) => Ok(()),
    })
}

/// Calls a method of a text.
pub(crate) fn method(
    name: &str,
    state: &mut State,
    value: &Value,
    args: &[Value],
    kwargs: Kwargs,
    method: Apply,
) -> Result<Value, Error> {
    match current() {
        // It puts the items into the result, whatever is in them.
        Some(_) if name == "join" => method(state, value, args, kwargs),
        Some(taint) => {
            let result = operation(&taint, name, state, value, args, kwargs, method)?;
            // Positions and answers are for decisions.
            Ok(match Kind::of(&result) {
                Kind::Int(_) | Kind::Bool(_) => plain(&taint, &result).into_owned(),
                _ => result,
            })
        }
        None => method(state, value, args, kwargs),
    }
}

/// An operation that looks into text.
fn operation(
    taint: &Arc<Taint>,
    name: &str,
    state: &mut State,
    value: &Value,
    args: &[Value],
    kwargs: Kwargs,
    apply: Apply,
) -> Result<Value, Error> {
    seen(state, value, args, &kwargs)?;
    let named = plain_kwargs(taint, &kwargs);
    let result = apply(state, &plain(taint, value), &plain_all(taint, args), named)?;
    let mut all: Vec<Value> = std::iter::once(value).chain(args).cloned().collect();
    if kwargs.args().next().is_some() {
        all.push(Value::from(kwargs.clone()));
    }
    if PLACING.contains(&name) {
        let carried = apply(state, value, args, kwargs).ok();
        return checked(taint, state, carried, &all, result);
    }
    // A number of words is for decisions, too.
    if name == "wordcount" {
        return Ok(result);
    }
    carry(taint, state, name, &all, result)
}
