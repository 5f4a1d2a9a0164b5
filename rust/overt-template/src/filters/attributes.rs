//! What filters read of each item: an attribute by its path, without case.

use std::cmp::Ordering;

use minijinja::value::Value;
use minijinja::{Error, State};

use super::{Call, required};
use crate::budget;
use crate::error::invalid;
use crate::provenance::marks;
use crate::python::sort::sort as sorted;
use crate::python::{Kind, access, compare, expect_int, to_text};

/// A path such as `function.name` or `0.text`.
pub(super) struct Path(Vec<Value>);

impl Path {
    pub(super) fn of(attribute: &Value) -> Self {
        match Kind::of(attribute) {
            Kind::None => Self(Vec::new()),
            Kind::Str(path) => Self::parse(path),
            _ => Self(vec![attribute.clone()]),
        }
    }

    fn parse(path: &str) -> Self {
        let path = marks::text(path);
        let part = |part: &str| match part.parse::<u32>() {
            Ok(index) if part.bytes().all(|byte| byte.is_ascii_digit()) => Value::from(index),
            _ => Value::from(part),
        };
        Self(path.split('.').map(part).collect())
    }

    pub(super) fn read(
        &self,
        state: &State,
        item: &Value,
        default: Option<&Value>,
    ) -> Result<Value, Error> {
        let mut item = item.clone();
        for part in &self.0 {
            item = access::item(state, &item, part)?;
            if let (true, Some(default)) = (item.is_undefined(), default) {
                item = default.clone();
            }
        }
        Ok(item)
    }
}

/// Paths that commas separate, as `sort` takes them.
pub(super) fn paths(attribute: &Value) -> Vec<Path> {
    match Kind::of(attribute) {
        Kind::Str(path) => path.split(',').map(Path::parse).collect(),
        _ => vec![Path::of(attribute)],
    }
}

/// A value as it is compared, without marks: texts in lower case unless the case counts.
pub(super) fn key(state: &State, value: Value, case_sensitive: bool) -> Result<Value, Error> {
    Ok(match value.as_str() {
        Some(text) if !case_sensitive => {
            budget::make(state, text.len())?;
            Value::from(marks::text(text).to_lowercase())
        }
        _ => marks::bare(&value).into_owned(),
    })
}

/// Sorts by keys, stably. Python compares several keys as a list, for equality first; a single one is
/// only asked which comes first.
pub(super) fn sort<T>(
    state: &State,
    items: Vec<(Vec<Value>, T)>,
    reverse: bool,
    as_list: bool,
) -> Result<Vec<(Vec<Value>, T)>, Error> {
    let steps = items.len() as u64 * u64::from(items.len().max(1).ilog2() + 1);
    state.consume_fuel(steps)?;
    let first = if reverse { Ordering::Greater } else { Ordering::Less };
    sorted(items, &mut |(a, _), (b, _)| Ok(order(state, a, b, as_list)? == first))
}

fn order(state: &State, a: &[Value], b: &[Value], as_list: bool) -> Result<Ordering, Error> {
    for (a, b) in a.iter().zip(b) {
        if !as_list || !compare::equal(state, a, b)? {
            return Ok(compare::ordered(state, a, b)?.unwrap_or(Ordering::Equal));
        }
    }
    Ok(Ordering::Equal)
}

/// `x|attr(name)`: never an item.
pub(super) fn attr(call: Call) -> Result<Value, Error> {
    let (state, value, [name]) = call.given(["name"])?;
    let name = required(name, "attr", "name")?;
    let name = to_text(state, &name)?;
    let name = marks::text(&name);
    Ok(access::type_attribute(value, &name)?.unwrap_or_default())
}

/// A number of parts: at least one.
pub(super) fn positive(filter: &str, value: &Value) -> Result<usize, Error> {
    match usize::try_from(expect_int(filter, value)?) {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(invalid(format!("{filter}: the number must be at least 1"))),
    }
}
