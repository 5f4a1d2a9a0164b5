//! Equality, order and containment as Python has them.

use std::cmp::Ordering;

use minijinja::value::Value;
use minijinja::{Error, State};

use super::objects::{Own, View};
use super::{Dict, Kind, MAX_DEPTH, items, refused};
use crate::error::invalid;
use crate::provenance::marks;

/// `a == b`.
pub(crate) fn equal(state: &State, a: &Value, b: &Value) -> Result<bool, Error> {
    equal_at(state, a, b, 0)
}

fn equal_at(state: &State, a: &Value, b: &Value, depth: usize) -> Result<bool, Error> {
    if depth > MAX_DEPTH {
        return Err(invalid(format!("==: nested deeper than {MAX_DEPTH}")));
    }
    Ok(match (Kind::of(a), Kind::of(b)) {
        (Kind::Undefined, Kind::Undefined) | (Kind::None, Kind::None) => true,
        (Kind::Str(a), Kind::Str(b)) => marks::text(a) == marks::text(b),
        (Kind::List(a), Kind::List(b)) | (Kind::Tuple(a), Kind::Tuple(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b) {
                state.consume_fuel(1)?;
                if !equal_at(state, a, b, depth + 1)? {
                    return Ok(false);
                }
            }
            true
        }
        (Kind::Dict(a), Kind::Dict(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, value) in a {
                state.consume_fuel(1)?;
                match b.get(key) {
                    Some(other) if equal_at(state, value, other, depth + 1)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        (Kind::Own(a_own), Kind::Own(b_own)) => match (a_own, b_own) {
            (Own::Range { .. }, Own::Range { .. }) => a_own
                .items()
                .zip(b_own.items())
                .is_some_and(|(a, b)| a.ok().unwrap_or_default() == b.ok().unwrap_or_default()),
            (Own::View(View::Keys | View::Items, _), Own::View(View::Keys | View::Items, _)) => {
                same_items(state, a_own, b_own)?
            }
            (Own::Bound(a, name), Own::Bound(b, other)) => name == other && identical(a, b),
            _ => std::ptr::eq(a_own, b_own),
        },
        _ => match order(a, b) {
            Numbers::Order(order) => order == Ordering::Equal,
            Numbers::Unordered => false,
            Numbers::None => identical(a, b),
        },
    })
}

/// Views of mappings are sets.
fn same_items(state: &State, a: &Own, b: &Own) -> Result<bool, Error> {
    let (Some(a), Some(b)) = (a.items().transpose()?, b.items().transpose()?) else {
        return Ok(false);
    };
    state.consume_fuel((a.len() as u64).saturating_mul(b.len() as u64))?;
    Ok(a.len() == b.len() && a.iter().all(|item| b.contains(item)))
}

/// Whether two values are one object.
pub(crate) fn identical(a: &Value, b: &Value) -> bool {
    match (a.as_object(), b.as_object()) {
        (Some(a), Some(b)) => {
            // The engine keeps addresses to itself, except through the types that it shows.
            if let (Some(a), Some(b)) = (a.downcast_ref::<Vec<Value>>(), b.downcast_ref()) {
                return std::ptr::eq(a, b);
            }
            if let (Some(a), Some(b)) = (a.downcast_ref::<Dict>(), b.downcast_ref()) {
                return std::ptr::eq(a, b);
            }
            if let (Some(a), Some(b)) = (a.downcast_ref::<Own>(), b.downcast_ref()) {
                return std::ptr::eq(a, b);
            }
            a.type_name() == b.type_name() && a.to_string() == b.to_string()
        }
        (None, None) => a.kind() == b.kind() && a.is_integer() == b.is_integer() && a == b,
        _ => false,
    }
}

enum Numbers {
    Order(Ordering),
    /// One of the two is not a number at all: `nan`.
    Unordered,
    None,
}

/// The order of two numbers; booleans are numbers.
fn order(a: &Value, b: &Value) -> Numbers {
    let number = |value: &Value| match Kind::of(value) {
        Kind::Bool(flag) => Some((Some(i128::from(flag)), f64::from(u8::from(flag)))),
        Kind::Int(number) => Some((Some(number), number as f64)),
        Kind::Float(number) => Some((None, number)),
        _ => None,
    };
    match (number(a), number(b)) {
        (Some((Some(a), _)), Some((Some(b), _))) => Numbers::Order(a.cmp(&b)),
        (Some((_, a)), Some((_, b))) => {
            a.partial_cmp(&b).map_or(Numbers::Unordered, Numbers::Order)
        }
        _ => Numbers::None,
    }
}

/// `a < b` and the like: None where one is `nan`.
///
/// # Errors
/// Where Python refuses to compare the two.
pub(crate) fn ordered(state: &State, a: &Value, b: &Value) -> Result<Option<Ordering>, Error> {
    ordered_at(state, a, b, 0)
}

fn ordered_at(
    state: &State,
    a: &Value,
    b: &Value,
    depth: usize,
) -> Result<Option<Ordering>, Error> {
    if depth > MAX_DEPTH {
        return Err(invalid(format!("<: nested deeper than {MAX_DEPTH}")));
    }
    match order(a, b) {
        Numbers::Order(order) => return Ok(Some(order)),
        Numbers::Unordered => return Ok(None),
        Numbers::None => {}
    }
    match (Kind::of(a), Kind::of(b)) {
        (Kind::Str(a), Kind::Str(b)) => Ok(Some(marks::text(a).cmp(&marks::text(b)))),
        (Kind::List(a), Kind::List(b)) | (Kind::Tuple(a), Kind::Tuple(b)) => {
            for (a, b) in a.iter().zip(b) {
                state.consume_fuel(1)?;
                if !equal_at(state, a, b, depth + 1)? {
                    return ordered_at(state, a, b, depth + 1);
                }
            }
            Ok(Some(a.len().cmp(&b.len())))
        }
        (Kind::Undefined, _) => Err(refused("comparison", a)),
        (_, Kind::Undefined) => Err(refused("comparison", b)),
        (a, b) => Err(invalid(format!("{} and {} cannot be ordered", a.name(), b.name()))),
    }
}

/// `item in container`.
pub(crate) fn contains(state: &State, container: &Value, item: &Value) -> Result<bool, Error> {
    match Kind::of(container) {
        Kind::Undefined => Ok(false),
        Kind::Str(text) => match item.as_str() {
            Some(part) => {
                state.consume_fuel(text.len() as u64 / 64)?;
                Ok(marks::text(text).contains(&*marks::text(part)))
            }
            None => Err(refused("a text contains texts: in", item)),
        },
        Kind::Dict(dict) => {
            hashable(item)?;
            Ok(dict.contains_key(&*marks::bare(item)))
        }
        Kind::List(list) | Kind::Tuple(list) => {
            for other in list {
                state.consume_fuel(1)?;
                if equal(state, other, item)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Kind::Own(Own::View(View::Keys, dict)) => contains(state, dict, item),
        Kind::Own(own @ Own::Generator { .. }) => {
            while let Some(other) = own.pull()? {
                state.consume_fuel(1)?;
                if equal(state, &other, item)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => {
            for other in items(state, container)? {
                state.consume_fuel(1)?;
                if equal(state, &other, item)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

/// Refuses what cannot be a key.
pub(crate) fn hashable(value: &Value) -> Result<(), Error> {
    hashable_at(value, 0)
}

fn hashable_at(value: &Value, depth: usize) -> Result<(), Error> {
    match Kind::of(value) {
        Kind::List(_)
        | Kind::Dict(_)
        | Kind::Foreign
        | Kind::Own(Own::View(View::Items | View::Keys, _)) => Err(refused("a key", value)),
        Kind::Tuple(items) if depth <= MAX_DEPTH => {
            items.iter().try_for_each(|item| hashable_at(item, depth + 1))
        }
        _ => Ok(()),
    }
}
