//! Methods of lists, tuples, mappings and ranges.

use minijinja::value::Value;
use minijinja::{Error, State};

use super::Args;
use crate::budget;
use crate::error::invalid;
use crate::provenance::{marked, marks};
use crate::python::objects::{Own, View};
use crate::python::{Dict, Kind, compare, expect_int, items, list as new_list};

pub(super) fn list(
    state: &State,
    value: &Value,
    items: &[Value],
    args: &Args,
) -> Result<Option<Value>, Error> {
    Ok(match args.name {
        "copy" if matches!(Kind::of(value), Kind::List(_)) => {
            let [] = args.take([], 0)?;
            budget::make(state, size_of_val(items))?;
            Some(new_list(items.to_vec()))
        }
        "count" => {
            let [wanted] = args.take([""], 1)?;
            let wanted = wanted.unwrap_or_default();
            let mut count = 0usize;
            for item in items {
                state.consume_fuel(1)?;
                count += usize::from(compare::equal(state, item, &wanted)?);
            }
            Some(Value::from(count))
        }
        "index" => {
            let [wanted, start, stop] = args.take(["", "", ""], 1)?;
            let wanted = wanted.unwrap_or_default();
            let range = clamped(items.len(), start, stop)?;
            for index in range {
                state.consume_fuel(1)?;
                if compare::equal(state, &items[index], &wanted)? {
                    return Ok(Some(Value::from(index)));
                }
            }
            return Err(invalid("index: no such item in the list"));
        }
        _ => None,
    })
}

/// Indices from `start` to `stop`, as slices count.
pub(super) fn clamped(
    length: usize,
    start: Option<Value>,
    stop: Option<Value>,
) -> Result<std::ops::Range<usize>, Error> {
    let bound = |bound: Option<Value>, default: usize| -> Result<usize, Error> {
        let Some(bound) = bound.filter(|bound| !bound.is_none()) else { return Ok(default) };
        let bound = expect_int("a bound", &bound)?;
        let bound = if bound < 0 { bound.saturating_add(length as i128) } else { bound };
        Ok(usize::try_from(bound.max(0)).unwrap_or(usize::MAX))
    };
    let (start, stop) = (bound(start, 0)?, bound(stop, length)?.min(length));
    Ok(start..stop)
}

pub(super) fn dict(
    state: &State,
    value: &Value,
    dict: &Dict,
    args: &Args,
) -> Result<Option<Value>, Error> {
    let view = match args.name {
        "items" => View::Items,
        "keys" => View::Keys,
        "values" => View::Values,
        "copy" => {
            let [] = args.take([], 0)?;
            budget::spend(dict.len() * 64)?;
            state.consume_fuel(dict.len() as u64)?;
            if marked(value).is_some() {
                return Ok(Some(value.clone()));
            }
            return Ok(Some(Value::from_object(dict.clone())));
        }
        "get" => {
            let [key, default] = args.take(["", ""], 1)?;
            let key = key.unwrap_or_default();
            compare::hashable(state, &key, dict.len())?;
            let found = dict.get(&*marks::bare(&key)).cloned();
            return Ok(Some(found.unwrap_or_else(|| default.unwrap_or_else(|| Value::from(())))));
        }
        "fromkeys" => return fromkeys(state, args),
        _ => return Ok(None),
    };
    let [] = args.take([], 0)?;
    Ok(Some(Value::from_object(Own::View(view, value.clone()))))
}

/// `dict.fromkeys(keys, value)`.
pub(super) fn fromkeys(state: &State, args: &Args) -> Result<Option<Value>, Error> {
    let [keys, value] = args.take(["", ""], 1)?;
    let value = value.unwrap_or_else(|| Value::from(()));
    let mut pairs = Vec::new();
    for key in items(state, &keys.unwrap_or_default())? {
        compare::hashable(state, &key, pairs.len())?;
        pairs.push((key, value.clone()));
    }
    Ok(Some(crate::python::sealed(state, marks::dict(pairs))?))
}
