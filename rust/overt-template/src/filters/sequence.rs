//! Lists and mappings.

use std::hash::{BuildHasher, RandomState};

use minijinja::value::Value;
use minijinja::{Error, State};

use super::attributes::{Path, key, paths, positive, sort as sorted};
use super::{Call, required};
use crate::budget;
use crate::error::invalid;
use crate::python::objects::{Own, generator, group};
use crate::python::{self, Dict, Kind, access, compare, items as items_of, refused, sealed, tuple};

pub(super) fn length(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    budget::read(state, value.as_str().map_or(0, str::len))?;
    python::length(value).map(Value::from).ok_or_else(|| refused("length", value))
}

pub(super) fn list(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    Ok(python::list(items_of(state, value)?))
}

pub(super) fn first(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    Ok(match Kind::of(value) {
        Kind::Undefined => Value::UNDEFINED,
        Kind::Str(text) => text.chars().next().map_or(Value::UNDEFINED, Value::from),
        Kind::List(items) | Kind::Tuple(items) => items.first().cloned().unwrap_or_default(),
        Kind::Dict(dict) => python::keys(value, dict).next().cloned().unwrap_or_default(),
        Kind::Own(own @ Own::Generator { .. }) => own.pull()?.unwrap_or_default(),
        _ => items_of(state, value)?.into_iter().next().unwrap_or_default(),
    })
}

pub(super) fn last(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    Ok(match Kind::of(value) {
        Kind::Undefined => Value::UNDEFINED,
        Kind::Str(text) => match text.chars().next_back() {
            Some(c) => python::text(c, value.is_safe()),
            None => Value::UNDEFINED,
        },
        Kind::List(items) | Kind::Tuple(items) => items.last().cloned().unwrap_or_default(),
        Kind::Dict(dict) => {
            state.consume_fuel(dict.len() as u64 / 4)?;
            python::keys(value, dict).last().cloned().unwrap_or_default()
        }
        Kind::Own(Own::Generator { .. }) => return Err(refused("last", value)),
        _ => items_of(state, value)?.pop().unwrap_or_default(),
    })
}

/// `x|reverse`: a text, or an iterator.
pub(super) fn reverse(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    if let Some(text) = value.as_str() {
        budget::make(state, text.len())?;
        return Ok(python::text(text.chars().rev().collect::<String>(), value.is_safe()));
    }
    let name = match Kind::of(value) {
        Kind::List(_) => "list_reverseiterator",
        Kind::Dict(_) => "dict_reversekeyiterator",
        Kind::Own(Own::Range { .. }) => "range_iterator",
        Kind::Own(Own::Generator { .. }) => {
            let mut items = items_of(state, value)?;
            items.reverse();
            return Ok(python::list(items));
        }
        _ => "reversed",
    };
    let mut items = items_of(state, value)?;
    items.reverse();
    Ok(generator(name, items, None))
}

/// `x|items`: nothing of an undefined value.
pub(super) fn items(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.given([])?;
    Ok(match Kind::of(value) {
        Kind::Undefined => generator("do_items", Vec::new(), None),
        Kind::Dict(dict) => {
            budget::make(state, dict.len() * 128)?;
            generator("do_items", pairs(value, dict), None)
        }
        _ => generator("do_items", Vec::new(), Some(refused("items", value))),
    })
}

fn pairs(value: &Value, dict: &Dict) -> Vec<Value> {
    let pairs = python::keys(value, dict).zip(dict.values());
    pairs.map(|(key, value)| tuple(vec![key.clone(), value.clone()])).collect()
}

/// `x|dictsort(case_sensitive=False, by='key', reverse=False)`.
pub(super) fn dictsort(call: Call) -> Result<Value, Error> {
    let (state, value, [case_sensitive, by, reverse]) =
        call.given(["case_sensitive", "by", "reverse"])?;
    let by_value = match by.as_ref().map_or(Some("key"), |by| by.as_str()) {
        Some("key") => false,
        Some("value") => true,
        _ => return Err(invalid("dictsort: by must be key or value")),
    };
    let Kind::Dict(dict) = Kind::of(value) else { return Err(refused("dictsort", value)) };
    let case_sensitive = case_sensitive.is_some_and(|flag| flag.is_true());
    budget::make(state, dict.len() * 192)?;
    let pairs = python::keys(value, dict).zip(dict.values());
    let keyed = pairs.map(|(name, value)| {
        let by = if by_value { value } else { name };
        let pair = tuple(vec![name.clone(), value.clone()]);
        Ok((vec![key(state, by.clone(), case_sensitive)?], pair))
    });
    let keyed = keyed.collect::<Result<Vec<_>, Error>>()?;
    let sorted = sorted(state, keyed, reverse.is_some_and(|flag| flag.is_true()), false)?;
    sealed(state, python::list(sorted.into_iter().map(|(_, pair)| pair).collect()))
}

/// `x|sort(reverse=False, case_sensitive=False, attribute=None)`.
pub(super) fn sort(call: Call) -> Result<Value, Error> {
    let (state, value, [reverse, case_sensitive, attribute]) =
        call.given(["reverse", "case_sensitive", "attribute"])?;
    let case_sensitive = case_sensitive.is_some_and(|flag| flag.is_true());
    let paths = paths(&attribute.unwrap_or_else(|| Value::from(())));
    let mut keyed = Vec::new();
    for item in items_of(state, value)? {
        let keys =
            paths.iter().map(|path| key(state, path.read(state, &item, None)?, case_sensitive));
        keyed.push((keys.collect::<Result<Vec<_>, Error>>()?, item));
    }
    let sorted = sorted(state, keyed, reverse.is_some_and(|flag| flag.is_true()), true)?;
    Ok(python::list(sorted.into_iter().map(|(_, item)| item).collect()))
}

/// `x|groupby(attribute, default=None, case_sensitive=False)`.
pub(super) fn groupby(call: Call) -> Result<Value, Error> {
    let (state, value, [attribute, default, case_sensitive]) =
        call.given(["attribute", "default", "case_sensitive"])?;
    let path = Path::of(&required(attribute, "groupby", "attribute")?);
    let default = default.filter(|default| !python::is_none(default));
    let case_sensitive = case_sensitive.is_some_and(|flag| flag.is_true());
    let mut keyed = Vec::new();
    for item in items_of(state, value)? {
        let key = key(state, path.read(state, &item, default.as_ref())?, case_sensitive)?;
        keyed.push((vec![key], item));
    }
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for (mut keys, item) in sorted(state, keyed, false, false)? {
        let key = keys.pop().unwrap_or_default();
        match groups.last_mut() {
            Some((last, items)) if compare::equal(state, last, &key)? => items.push(item),
            _ => groups.push((key, vec![item])),
        }
    }
    let mut out = Vec::new();
    for (key, items) in groups {
        let shown = match items.first() {
            Some(first) => path.read(state, first, default.as_ref())?,
            None => key,
        };
        out.push(group(shown, items));
    }
    sealed(state, python::list(out))
}

/// `x|unique(case_sensitive=False, attribute=None)`.
pub(super) fn unique(call: Call) -> Result<Value, Error> {
    let (state, value, [case_sensitive, attribute]) =
        call.given(["case_sensitive", "attribute"])?;
    let case_sensitive = case_sensitive.is_some_and(|flag| flag.is_true());
    let path = Path::of(&attribute.unwrap_or_else(|| Value::from(())));
    let mut seen = Dict::new();
    let mut out = Vec::new();
    let mut each = |state: &State| -> Result<(), Error> {
        for item in items_of(state, value)? {
            state.consume_fuel(2)?;
            let key = key(state, path.read(state, &item, None)?, case_sensitive)?;
            compare::hashable(state, &key, seen.len())?;
            if seen.insert(key, Value::from(true)).is_none() {
                out.push(item);
            }
        }
        Ok(())
    };
    let failed = each(state).err();
    Ok(generator("sync_do_unique", out, failed))
}

/// `x|batch(linecount, fill_with=None)`: lists of so many items.
pub(super) fn batch(call: Call) -> Result<Value, Error> {
    let (state, value, [count, fill]) = call.given(["linecount", "fill_with"])?;
    let count = positive("batch", &required(count, "batch", "linecount")?)?;
    let items = match items_of(state, value) {
        Ok(items) => items,
        Err(error) => return Ok(generator("do_batch", Vec::new(), Some(error))),
    };
    let mut batches: Vec<Vec<Value>> = items.chunks(count).map(<[Value]>::to_vec).collect();
    if let (Some(last), Some(fill)) =
        (batches.last_mut(), fill.filter(|fill| !python::is_none(fill)))
    {
        state.consume_fuel(count as u64)?;
        budget::spend(count.saturating_mul(size_of::<Value>()))?;
        last.resize(count, fill);
    }
    let lists = sealed(state, python::list(batches.into_iter().map(python::list).collect()))?;
    Ok(generator("do_batch", items_of(state, &lists)?, None))
}

/// `x|slice(slices, fill_with=None)`: so many lists.
pub(super) fn slice(call: Call) -> Result<Value, Error> {
    let (state, value, [slices, fill]) = call.given(["slices", "fill_with"])?;
    let slices = positive("slice", &required(slices, "slice", "slices")?)?;
    state.consume_fuel(slices as u64)?;
    budget::spend(slices.saturating_mul(size_of::<Value>()))?;
    let fill = fill.filter(|fill| !python::is_none(fill));
    let items = match items_of(state, value) {
        Ok(items) => items,
        Err(error) => return Ok(generator("sync_do_slice", Vec::new(), Some(error))),
    };
    let (each, longer) = (items.len() / slices, items.len() % slices);
    let mut at = 0;
    let mut lists = Vec::new();
    for index in 0..slices {
        let length = each + usize::from(index < longer);
        let mut part = items[at..at + length].to_vec();
        at += length;
        if index >= longer {
            part.extend(fill.clone());
        }
        lists.push(python::list(part));
    }
    let lists = sealed(state, python::list(lists))?;
    Ok(generator("sync_do_slice", items_of(state, &lists)?, None))
}

/// `x|random`: any item.
pub(super) fn random(call: Call) -> Result<Value, Error> {
    let (state, value, []) = call.arguments([])?;
    let length = python::length(value).ok_or_else(|| refused("random", value))?;
    if length == 0 {
        return Ok(Value::UNDEFINED);
    }
    if matches!(Kind::of(value), Kind::Dict(_)) {
        return Err(refused("random", value));
    }
    budget::read(state, value.as_str().map_or(0, str::len))?;
    let index = RandomState::new().hash_one(length) as usize % length;
    access::item(state, value, &Value::from(index))
}
