//! Objects that the engine lacks: iterators, views, ranges, bound methods and the like.

use std::cmp;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{DynObject, Enumerator, Kwargs, Object, ObjectRepr, Value};
use minijinja::{Error, State};

use super::{Dict, Kind, int, keys, list, too_large, tuple};
use crate::error::invalid;
use crate::methods;

/// What a view of a mapping shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Items,
    Keys,
    Values,
}

pub(crate) enum Own {
    /// Read once. An error waits behind the items that came before it.
    Generator {
        name: &'static str,
        rest: Mutex<(VecDeque<Value>, Option<Error>)>,
    },
    View(View, Value),
    Range {
        start: i128,
        stop: i128,
        step: i128,
    },
    /// A method of a value, not yet called.
    Bound(Value, String),
    Cycler(Vec<Value>, AtomicUsize),
    Joiner(Value, AtomicBool),
    /// Of `groupby`: the key and the list.
    Group([Value; 2]),
    /// A macro that takes more arguments than it names.
    Variadic {
        inner: Value,
        names: Vec<String>,
        positional: bool,
        named: bool,
        caller: bool,
    },
    /// An argument that was given and is undefined.
    Given,
    /// An argument that was not given.
    Missing,
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.type_name())
    }
}

impl Own {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Generator { name, .. } => name,
            Self::View(View::Items, _) => "dict_items",
            Self::View(View::Keys, _) => "dict_keys",
            Self::View(View::Values, _) => "dict_values",
            Self::Range { .. } => "range",
            Self::Bound(..) => "method",
            Self::Cycler(..) => "jinja2.utils.Cycler",
            Self::Joiner(..) => "jinja2.utils.Joiner",
            Self::Group(_) => "tuple",
            Self::Variadic { .. } => "macro",
            Self::Given | Self::Missing => "undefined value",
        }
    }

    /// `len()`.
    pub(crate) fn length(&self) -> Option<usize> {
        match self {
            Self::View(_, dict) => match Kind::of(dict) {
                Kind::Dict(dict) => Some(dict.len()),
                _ => None,
            },
            Self::Range { start, stop, step } => Some(span(*start, *stop, *step)),
            _ => None,
        }
    }

    /// Items in order, where it can be iterated over.
    pub(crate) fn items(&self) -> Option<Result<Vec<Value>, Error>> {
        match self {
            Self::Generator { rest, .. } => {
                let mut rest = rest.lock().unwrap_or_else(PoisonError::into_inner);
                let items = rest.0.drain(..).collect();
                Some(match rest.1.take() {
                    Some(error) => Err(error),
                    None => Ok(items),
                })
            }
            Self::View(view, value) => {
                let Kind::Dict(dict) = Kind::of(value) else { return None };
                Some(Ok(match view {
                    View::Keys => keys(value, dict).cloned().collect(),
                    View::Values => dict.values().cloned().collect(),
                    View::Items => keys(value, dict)
                        .zip(dict.values())
                        .map(|(key, value)| tuple(vec![key.clone(), value.clone()]))
                        .collect(),
                }))
            }
            Self::Range { start, stop, step } => {
                let length = span(*start, *stop, *step);
                Some(Ok((0..length).map(|index| number(*start, *step, index)).collect()))
            }
            _ => None,
        }
    }

    /// The first item not read yet.
    pub(crate) fn pull(&self) -> Result<Option<Value>, Error> {
        let Self::Generator { rest, .. } = self else { return Ok(None) };
        let mut rest = rest.lock().unwrap_or_else(PoisonError::into_inner);
        match rest.0.pop_front() {
            Some(item) => Ok(Some(item)),
            None => rest.1.take().map_or(Ok(None), Err),
        }
    }

    /// Item of a range.
    pub(crate) fn at(&self, index: usize) -> Option<Value> {
        let Self::Range { start, stop, step } = self else { return None };
        (index < span(*start, *stop, *step)).then(|| number(*start, *step, index))
    }

    /// Arguments of a macro; those that it does not name are packed for `varargs` and `kwargs`.
    fn repacked(&self, args: &[Value]) -> Result<Vec<Value>, Error> {
        let Self::Variadic { names, positional, named, caller, .. } = self else {
            return Ok(args.to_vec());
        };
        let (given, kwargs) = split(args)?;
        let (first, more) = given.split_at(given.len().min(names.len()));
        if !more.is_empty() && !positional {
            return Err(invalid(format!("a macro takes at most {} arguments", names.len())));
        }
        let mut known: Vec<(String, Value)> = Vec::new();
        let mut unknown = Dict::new();
        for name in kwargs.args() {
            let value: Value = kwargs.get(name)?;
            let index = names.iter().position(|other| other == name);
            if index.is_some_and(|index| index >= first.len()) || (name == "caller" && *caller) {
                known.push((name.to_owned(), value));
            } else if *named {
                unknown.insert(Value::from(name), unmarked(value));
            } else {
                return Err(invalid(format!("a macro has no parameter {name}")));
            }
        }
        known.push(("varargs".to_owned(), tuple(more.iter().cloned().map(unmarked).collect())));
        known.push(("kwargs".to_owned(), Value::from_object(unknown)));
        let mut args = first.to_vec();
        args.push(Value::from(Kwargs::from_iter(known)));
        Ok(args)
    }

    /// Values inside.
    pub(crate) fn parts(&self) -> Vec<Value> {
        match self {
            Self::Generator { rest, .. } => {
                let rest = rest.lock().unwrap_or_else(PoisonError::into_inner);
                rest.0.iter().cloned().collect()
            }
            Self::View(_, value) | Self::Bound(value, _) | Self::Joiner(value, _) => {
                vec![value.clone()]
            }
            Self::Cycler(items, _) => items.clone(),
            Self::Group(pair) => pair.to_vec(),
            Self::Variadic { inner, .. } => vec![inner.clone()],
            Self::Range { .. } | Self::Given | Self::Missing => Vec::new(),
        }
    }
}

/// An iterator that is read once.
pub(crate) fn generator(name: &'static str, items: Vec<Value>, error: Option<Error>) -> Value {
    Value::from_object(Own::Generator { name, rest: Mutex::new((items.into(), error)) })
}

impl Object for Own {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        match **self {
            Self::Range { .. } | Self::Group(_) => ObjectRepr::Seq,
            _ => ObjectRepr::Plain,
        }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match &**self {
            Self::Range { .. } => self.at(key.as_usize()?),
            Self::Group(pair) => match Kind::of(key) {
                Kind::Str("grouper") => Some(pair[0].clone()),
                Kind::Str("list") => Some(pair[1].clone()),
                _ => pair.get(key.as_usize()?).cloned(),
            },
            Self::Cycler(items, at) if key.as_str() == Some("current") => {
                items.get(at.load(Ordering::Relaxed)).cloned()
            }
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match &**self {
            Self::Range { start, stop, step } => Enumerator::Seq(span(*start, *stop, *step)),
            Self::Group(_) => Enumerator::Seq(2),
            _ => Enumerator::NonEnumerable,
        }
    }

    /// What the engine compares keys by: each is equal to itself alone, and ranges of the same numbers are equal.
    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<cmp::Ordering> {
        let other = other.downcast_ref::<Self>()?;
        if same_range(self, other) == Some(true) {
            return Some(cmp::Ordering::Equal);
        }
        Some(std::ptr::from_ref(&**self).cmp(&std::ptr::from_ref(other)))
    }

    fn is_true(self: &Arc<Self>) -> bool {
        match &**self {
            Self::Given | Self::Missing => false,
            own => own.length() != Some(0),
        }
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        match &**self {
            Self::Bound(value, name) => {
                let (positional, named) = split(args)?;
                methods::call(state, value, name, positional, named)
            }
            Self::Joiner(separator, used) => Ok(if used.swap(true, Ordering::Relaxed) {
                separator.clone()
            } else {
                Value::from("")
            }),
            Self::Variadic { inner, .. } => inner.call(state, &self.repacked(args)?),
            own => Err(invalid(format!("a {} cannot be called", own.type_name()))),
        }
    }
}

/// A value without the mark of an undefined argument.
pub(crate) fn unmarked(value: Value) -> Value {
    match value.downcast_object_ref::<Own>() {
        Some(Own::Given) => Value::UNDEFINED,
        _ => value,
    }
}

/// Positional arguments, and those by name.
pub(crate) fn split(args: &[Value]) -> Result<(&[Value], Kwargs), Error> {
    match args.split_last() {
        Some((last, first)) if last.is_kwargs() => Ok((first, Kwargs::try_from(last.clone())?)),
        _ => Ok((args, Kwargs::from_iter(std::iter::empty::<(&str, Value)>()))),
    }
}

/// `cycler.next()`, `cycler.reset()`.
pub(crate) fn cycle(own: &Own, method: &str) -> Option<Value> {
    let Own::Cycler(items, at) = own else { return None };
    let current = at.load(Ordering::Relaxed);
    match method {
        "next" => {
            at.store((current + 1) % items.len().max(1), Ordering::Relaxed);
            items.get(current).cloned()
        }
        "reset" => {
            at.store(0, Ordering::Relaxed);
            Some(Value::from(()))
        }
        _ => None,
    }
}

/// `range(start, stop, step)`.
pub(crate) fn range(start: i128, stop: i128, step: i128) -> Result<Value, Error> {
    if step == 0 {
        return Err(invalid("range: the step must not be zero"));
    }
    if span(start, stop, step) > 100_000 {
        return Err(invalid("range: more than 100000 items"));
    }
    Ok(Value::from_object(Own::Range { start, stop, step }))
}

/// How many numbers a range holds.
fn span(start: i128, stop: i128, step: i128) -> usize {
    if start == stop || (start < stop) != (step > 0) {
        return 0;
    }
    let length = (start.abs_diff(stop) - 1) / step.unsigned_abs().max(1);
    usize::try_from(length).map_or(usize::MAX, |length| length.saturating_add(1))
}

/// The number at an index that a range has: itself within bounds, though the way there may not be.
fn number(start: i128, step: i128, index: usize) -> Value {
    int(start.wrapping_add(step.wrapping_mul(index as i128)))
}

/// Whether two ranges hold the same numbers; None where one is no range.
pub(crate) fn same_range(a: &Own, b: &Own) -> Option<bool> {
    let (Own::Range { start, step, .. }, Own::Range { start: other, step: by, .. }) = (a, b) else {
        return None;
    };
    let length = a.length();
    Some(match length {
        _ if length != b.length() => false,
        None | Some(0) => true,
        Some(1) => start == other,
        Some(_) => start == other && step == by,
    })
}

/// A slice of a range is a range.
///
/// # Errors
/// Where a bound or the step has more than 127 bits.
pub(crate) fn range_slice(own: &Own, from: i128, to: i128, by: i128) -> Result<Value, Error> {
    let Own::Range { start, step, .. } = own else { return Ok(Value::UNDEFINED) };
    let at = |index: i128| step.checked_mul(index).and_then(|steps| start.checked_add(steps));
    match (at(from), at(to), step.checked_mul(by)) {
        (Some(start), Some(stop), Some(step)) => {
            Ok(Value::from_object(Own::Range { start, stop, step }))
        }
        _ => Err(too_large("a slice of a range")),
    }
}

/// The list that `x|list` and the like make of a single value.
pub(crate) fn group(key: Value, items: Vec<Value>) -> Value {
    Value::from_object(Own::Group([key, list(items)]))
}
