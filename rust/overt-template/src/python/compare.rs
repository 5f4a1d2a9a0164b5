//! Equality, order and containment as Python has them.

use std::cmp::Ordering;

use minijinja::tests::is_sameas;
use minijinja::value::Value;
use minijinja::{Error, State};

use super::objects::{Own, View, same_range};
use super::{Kind, MAX_DEPTH, items, refused, whole};
use crate::budget;
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
        (Kind::Str(a), Kind::Str(b)) => {
            budget::read(state, a.len().min(b.len()))?;
            marks::text(a) == marks::text(b)
        }
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
                hashable(state, key, b.len())?;
                match b.get(key) {
                    Some(other) if equal_at(state, value, other, depth + 1)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        (Kind::Own(a_own), Kind::Own(b_own)) => match (a_own, b_own) {
            (Own::View(View::Keys | View::Items, _), Own::View(View::Keys | View::Items, _)) => {
                same_items(state, a_own, b_own, depth + 1)?
            }
            (Own::Bound(a, name), Own::Bound(b, other)) => name == other && identical(a, b),
            _ => same_range(a_own, b_own).unwrap_or_else(|| identical(a, b)),
        },
        _ => match order(a, b) {
            Numbers::Order(order) => order == Ordering::Equal,
            Numbers::Unordered => false,
            Numbers::None => identical(a, b),
        },
    })
}

/// Views of mappings are sets.
fn same_items(state: &State, a: &Own, b: &Own, depth: usize) -> Result<bool, Error> {
    let (Some(items), Own::View(view, dict)) = (a.items().transpose()?, b) else {
        return Ok(false);
    };
    if Some(items.len()) != b.length() {
        return Ok(false);
    }
    for item in items {
        if !view_has(state, *view, dict, &item, depth)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the keys or the items of a mapping contain `item`.
fn view_has(
    state: &State,
    view: View,
    dict: &Value,
    item: &Value,
    depth: usize,
) -> Result<bool, Error> {
    let Kind::Dict(dict) = Kind::of(dict) else { return Ok(false) };
    let (key, wanted) = match (view, Kind::of(item)) {
        (View::Keys, _) => (item, None),
        (_, Kind::Tuple([key, value])) => (key, Some(value)),
        _ => return Ok(false),
    };
    hashable(state, key, dict.len())?;
    match (dict.get(&*marks::bare(key)), wanted) {
        (Some(value), Some(wanted)) => equal_at(state, value, wanted, depth),
        (found, _) => Ok(found.is_some()),
    }
}

/// Whether two values are one object: no look is taken into them.
pub(crate) fn identical(a: &Value, b: &Value) -> bool {
    is_sameas(a, b)
}

enum Numbers {
    Order(Ordering),
    /// One of the two is not a number at all: `nan`.
    Unordered,
    None,
}

/// The order of two numbers; booleans are numbers.
fn order(a: &Value, b: &Value) -> Numbers {
    enum Number {
        Int(i128),
        Float(f64),
    }
    let number = |value: &Value| match Kind::of(value) {
        Kind::Bool(flag) => Some(Number::Int(i128::from(flag))),
        Kind::Int(number) => Some(Number::Int(number)),
        Kind::Float(number) => Some(Number::Float(number)),
        _ => None,
    };
    let (Some(a), Some(b)) = (number(a), number(b)) else { return Numbers::None };
    let order = match (a, b) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        (Number::Int(a), Number::Float(b)) => exact(a, b),
        (Number::Float(a), Number::Int(b)) => exact(b, a).map(Ordering::reverse),
    };
    order.map_or(Numbers::Unordered, Numbers::Order)
}

/// The order of an integer and a float, both as they are: as a float, the integer may be another number.
fn exact(a: i128, b: f64) -> Option<Ordering> {
    let rough = (a as f64).partial_cmp(&b)?;
    if rough != Ordering::Equal {
        return Some(rough);
    }
    // A float next to an integer is one itself; beyond 127 bits it is 2**127, above all of them.
    Some(whole("a comparison", b).ok().flatten().map_or(Ordering::Less, |b| a.cmp(&b)))
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
        (Kind::Str(a), Kind::Str(b)) => {
            budget::read(state, a.len().min(b.len()))?;
            Ok(Some(marks::text(a).cmp(&marks::text(b))))
        }
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
                budget::read(state, text.len() + part.len())?;
                Ok(marks::text(text).contains(&*marks::text(part)))
            }
            None => Err(refused("a text contains texts: in", item)),
        },
        Kind::Dict(dict) => {
            hashable(state, item, dict.len())?;
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
        Kind::Own(Own::View(view @ (View::Keys | View::Items), dict)) => {
            view_has(state, *view, dict, item, 0)
        }
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

/// Refuses what cannot be a key of a mapping of `others` keys. Of the engine's own objects none can: it knows
/// them by what they hold, which may be themselves.
pub(crate) fn hashable(state: &State, value: &Value, others: usize) -> Result<(), Error> {
    if is_key(state, value, others)? { Ok(()) } else { Err(refused("a key", value)) }
}

/// Whether a value can be a key of a mapping of `others` keys.
///
/// # Errors
/// Where the render may work no further.
pub(crate) fn is_key(state: &State, value: &Value, others: usize) -> Result<bool, Error> {
    let mut walk = Walk { state, collides: false, containers: false };
    let fits = walk.value(value, 0)?;
    if walk.collides {
        // The engine gives all such keys one hash, and goes through all of them.
        budget::read(state, others.saturating_mul(size_of::<Value>()))?;
    }
    Ok(fits)
}

/// Refuses what the engine's own comparison may not see: it follows what holds itself without end.
pub(crate) fn comparable(state: &State, value: &Value) -> Result<(), Error> {
    let mut walk = Walk { state, collides: false, containers: true };
    if walk.value(value, 0)? { Ok(()) } else { Err(refused("a comparison", value)) }
}

/// Goes through a value once, and counts it.
struct Walk<'a> {
    state: &'a State<'a, 'a>,
    /// Lists and mappings count.
    containers: bool,
    /// A part of it has the hash of other values.
    collides: bool,
}

impl Walk<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<bool, Error> {
        if depth > MAX_DEPTH {
            return Ok(false);
        }
        Ok(match Kind::of(value) {
            Kind::Undefined | Kind::None | Kind::Bool(_) | Kind::Float(_) => true,
            Kind::Int(number) => {
                self.collides |= i64::try_from(number).is_err();
                true
            }
            Kind::Str(text) => budget::read(self.state, text.len()).map(|()| true)?,
            Kind::Tuple(items) => self.all(items.iter(), depth)?,
            Kind::List(items) => self.containers && self.all(items.iter(), depth)?,
            Kind::Dict(dict) => {
                self.containers
                    && self.all(dict.keys(), depth)?
                    && self.all(dict.values(), depth)?
            }
            Kind::Own(Own::View(View::Items | View::Keys, _)) => false,
            Kind::Own(own) => {
                self.collides = true;
                budget::read(self.state, own.length().unwrap_or(0))?;
                self.state.consume_fuel(own.length().unwrap_or(0) as u64)?;
                true
            }
            Kind::Namespace(_) => {
                self.collides = true;
                true
            }
            Kind::Loop | Kind::Macro | Kind::Function | Kind::Foreign => false,
        })
    }

    fn all<'v>(
        &mut self,
        items: impl ExactSizeIterator<Item = &'v Value>,
        depth: usize,
    ) -> Result<bool, Error> {
        self.state.consume_fuel(items.len() as u64)?;
        for item in items {
            if !self.value(item, depth + 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
