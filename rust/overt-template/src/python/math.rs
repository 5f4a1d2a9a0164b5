//! Arithmetic as Python has it, on the values that templates hold.

use minijinja::value::Value;
use minijinja::{Error, State};

use super::{Kind, escaped, int, list, refused, text, to_text, too_large, tuple};
use crate::budget;
use crate::error::invalid;
use crate::format::percent;

/// Both as integers, or both as floats; booleans are numbers.
enum Pair {
    Ints(i128, i128),
    Floats(f64, f64),
}

fn pair(a: &Value, b: &Value) -> Option<Pair> {
    let number = |value: &Value| match Kind::of(value) {
        Kind::Bool(flag) => Some((Some(i128::from(flag)), f64::from(u8::from(flag)))),
        Kind::Int(number) => Some((Some(number), number as f64)),
        Kind::Float(number) => Some((None, number)),
        _ => None,
    };
    match (number(a)?, number(b)?) {
        ((Some(a), _), (Some(b), _)) => Some(Pair::Ints(a, b)),
        ((_, a), (_, b)) => Some(Pair::Floats(a, b)),
    }
}

fn mismatch(sign: &str, a: &Value, b: &Value) -> Error {
    if a.is_undefined() || b.is_undefined() {
        return refused(sign, if a.is_undefined() { a } else { b });
    }
    invalid(format!(
        "{sign}: not possible between {} and {}",
        Kind::of(a).name(),
        Kind::of(b).name()
    ))
}

fn float(sign: &str, number: f64, finite: bool) -> Result<Value, Error> {
    if number.is_infinite() && finite {
        return Err(invalid(format!("{sign}: the result is too large for a float")));
    }
    Ok(Value::from(number))
}

/// `a + b`.
pub(crate) fn add(state: &State, a: &Value, b: &Value) -> Result<Value, Error> {
    match (Kind::of(a), Kind::of(b)) {
        (Kind::Str(left), Kind::Str(right)) => {
            let length = left.len() + right.len();
            budget::make(state, length)?;
            Ok(match (a.is_safe(), b.is_safe()) {
                (false, false) => Value::from([left, right].concat()),
                (true, true) => text([left, right].concat(), true),
                (true, false) => text(left.to_owned() + &escaped(right), true),
                (false, true) => text(escaped(left) + right, true),
            })
        }
        (Kind::List(left), Kind::List(right)) => Ok(list(joined(state, left, right)?)),
        (Kind::Tuple(left), Kind::Tuple(right)) => Ok(tuple(joined(state, left, right)?)),
        _ => match pair(a, b) {
            Some(Pair::Ints(a, b)) => a.checked_add(b).map(int).ok_or_else(|| too_large("+")),
            Some(Pair::Floats(a, b)) => Ok(Value::from(a + b)),
            None => Err(mismatch("+", a, b)),
        },
    }
}

fn joined(state: &State, a: &[Value], b: &[Value]) -> Result<Vec<Value>, Error> {
    let length = a.len() + b.len();
    state.consume_fuel(length as u64 / 2)?;
    budget::spend(length * size_of::<Value>())?;
    Ok([a, b].concat())
}

/// `a - b`.
pub(crate) fn sub(a: &Value, b: &Value) -> Result<Value, Error> {
    match pair(a, b) {
        Some(Pair::Ints(a, b)) => a.checked_sub(b).map(int).ok_or_else(|| too_large("-")),
        Some(Pair::Floats(a, b)) => Ok(Value::from(a - b)),
        None => Err(mismatch("-", a, b)),
    }
}

/// `a * b`.
pub(crate) fn mul(state: &State, a: &Value, b: &Value) -> Result<Value, Error> {
    match pair(a, b) {
        Some(Pair::Ints(a, b)) => return a.checked_mul(b).map(int).ok_or_else(|| too_large("*")),
        Some(Pair::Floats(a, b)) => return Ok(Value::from(a * b)),
        None => {}
    }
    let count = |value: &Value| match Kind::of(value) {
        Kind::Int(number) => Some(number),
        Kind::Bool(flag) => Some(i128::from(flag)),
        _ => None,
    };
    let (repeated, count) = match (count(a), count(b)) {
        (Some(count), None) => (b, count),
        (None, Some(count)) => (a, count),
        _ => return Err(mismatch("*", a, b)),
    };
    let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    let room = |length: usize, each: usize| {
        let length = length.saturating_mul(count);
        state.consume_fuel((length as u64).saturating_mul(each as u64) / 64)?;
        budget::spend(length.saturating_mul(each))
    };
    match Kind::of(repeated) {
        Kind::Str(part) => {
            room(part.len(), 1)?;
            Ok(text(part.repeat(count), repeated.is_safe()))
        }
        Kind::List(items) => {
            room(items.len(), size_of::<Value>())?;
            Ok(list(repeated_items(items, count)))
        }
        Kind::Tuple(items) => {
            room(items.len(), size_of::<Value>())?;
            Ok(tuple(repeated_items(items, count)))
        }
        _ => Err(mismatch("*", a, b)),
    }
}

fn repeated_items(items: &[Value], count: usize) -> Vec<Value> {
    // Nothing is repeated in no time, whatever the count.
    let count = if items.is_empty() { 0 } else { count };
    (0..count).flat_map(|_| items.iter().cloned()).collect()
}

/// `a / b`.
pub(crate) fn div(a: &Value, b: &Value) -> Result<Value, Error> {
    match pair(a, b) {
        Some(Pair::Ints(_, 0) | Pair::Floats(_, 0.0)) => Err(invalid("/: division by zero")),
        Some(Pair::Ints(a, b)) => Ok(Value::from(divided(a, b))),
        Some(Pair::Floats(a, b)) => Ok(Value::from(a / b)),
        None => Err(mismatch("/", a, b)),
    }
}

/// The float that is nearest to `a / b`, of any integers; `b` is not zero.
fn divided(a: i128, b: i128) -> f64 {
    const EXACT: u128 = 1 << 53;
    let (top, bottom) = (a.unsigned_abs(), b.unsigned_abs());
    if top <= EXACT && bottom <= EXACT {
        return a as f64 / b as f64;
    }
    let (mut quotient, mut rest, mut shift) = (top / bottom, top % bottom, 0);
    // More bits than a float has, and one that says whether more would follow.
    while quotient < EXACT << 2 && rest != 0 {
        rest *= 2;
        quotient = quotient * 2 + u128::from(rest >= bottom);
        rest %= bottom;
        shift += 1;
    }
    let magnitude = (quotient | u128::from(rest != 0)) as f64 * 0.5_f64.powi(shift);
    if (a < 0) == (b < 0) { magnitude } else { -magnitude }
}

fn floor_int(a: i128, b: i128) -> Option<(i128, i128)> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    // Python rounds down, Rust towards zero.
    if rest != 0 && (rest < 0) != (b < 0) {
        Some((quotient - 1, rest + b))
    } else {
        Some((quotient, rest))
    }
}

fn floor_float(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0.0_f64.copysign(b);
    } else if (rest < 0.0) != (b < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    let floored = if quotient == 0.0 {
        0.0_f64.copysign(a / b)
    } else {
        let floor = quotient.floor();
        if quotient - floor > 0.5 { floor + 1.0 } else { floor }
    };
    (floored, rest)
}

/// `a // b`.
pub(crate) fn floordiv(a: &Value, b: &Value) -> Result<Value, Error> {
    match pair(a, b) {
        Some(Pair::Ints(_, 0)) => Err(invalid("//: division by zero")),
        Some(Pair::Ints(a, b)) => {
            floor_int(a, b).map(|(floor, _)| int(floor)).ok_or_else(|| too_large("//"))
        }
        Some(Pair::Floats(_, 0.0)) => Err(invalid("//: division by zero")),
        Some(Pair::Floats(a, b)) => Ok(Value::from(floor_float(a, b).0)),
        None => Err(mismatch("//", a, b)),
    }
}

/// `a % b`: the rest of a division, or a text with its places filled.
pub(crate) fn modulo(state: &State, a: &Value, b: &Value) -> Result<Value, Error> {
    if let Some(template) = a.as_str() {
        return percent::format(state, template, b, a.is_safe());
    }
    match pair(a, b) {
        Some(Pair::Ints(_, 0)) => Err(invalid("%: division by zero")),
        Some(Pair::Ints(a, b)) => Ok(int(floor_int(a, b).map_or(0, |(_, rest)| rest))),
        Some(Pair::Floats(_, 0.0)) => Err(invalid("%: division by zero")),
        Some(Pair::Floats(a, b)) => Ok(Value::from(floor_float(a, b).1)),
        None => Err(mismatch("%", a, b)),
    }
}

/// `a ** b`.
pub(crate) fn pow(a: &Value, b: &Value) -> Result<Value, Error> {
    match pair(a, b) {
        Some(Pair::Ints(base, power)) if power >= 0 => match u32::try_from(power) {
            Ok(power) => base.checked_pow(power).map(int).ok_or_else(|| too_large("**")),
            Err(_) if matches!(base, 0 | 1) => Ok(int(base)),
            Err(_) if base == -1 => Ok(int(if power % 2 == 0 { 1 } else { -1 })),
            Err(_) => Err(too_large("**")),
        },
        Some(Pair::Ints(0, _)) => Err(invalid("**: zero to a negative power")),
        Some(Pair::Ints(base, power)) => Ok(Value::from((base as f64).powf(power as f64))),
        Some(Pair::Floats(base, power)) if base == 0.0 && power < 0.0 => {
            Err(invalid("**: zero to a negative power"))
        }
        Some(Pair::Floats(base, power)) => {
            let result = base.powf(power);
            if result.is_nan() && !base.is_nan() && !power.is_nan() {
                return Err(invalid("**: the result is a complex number"));
            }
            float("**", result, base.is_finite() && power.is_finite())
        }
        None => Err(mismatch("**", a, b)),
    }
}

/// `-a`.
pub(crate) fn neg(a: &Value) -> Result<Value, Error> {
    match Kind::of(a) {
        Kind::Bool(flag) => Ok(int(-i128::from(flag))),
        Kind::Int(number) => number.checked_neg().map(int).ok_or_else(|| too_large("-")),
        Kind::Float(number) => Ok(Value::from(-number)),
        _ => Err(refused("-", a)),
    }
}

/// `+a`.
pub(crate) fn pos(a: &Value) -> Result<Value, Error> {
    match Kind::of(a) {
        Kind::Bool(flag) => Ok(int(i128::from(flag))),
        Kind::Int(_) | Kind::Float(_) => Ok(a.clone()),
        _ => Err(refused("+", a)),
    }
}

/// `a ~ b ~ …`: a plain text.
pub(crate) fn concat(state: &State, first: &Value, rest: &[Value]) -> Result<Value, Error> {
    let mut out = String::new();
    for value in std::iter::once(first).chain(rest) {
        let part = to_text(state, value)?;
        budget::make(state, part.len())?;
        out.push_str(&part);
    }
    Ok(Value::from(out))
}

/// Bounds of a slice of `length` items: where it starts, where it stops, its step.
pub(crate) fn bounds(
    length: usize,
    start: Option<i128>,
    stop: Option<i128>,
    step: Option<i128>,
) -> Result<(i128, i128, i128), Error> {
    let length = length as i128;
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(invalid("the step of a slice must not be zero"));
    }
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let clamp = |bound: i128| {
        let bound = if bound < 0 { bound.saturating_add(length) } else { bound };
        bound.clamp(low, high)
    };
    let start = start.map_or(if step > 0 { low } else { high }, clamp);
    let stop = stop.map_or(if step > 0 { high } else { low }, clamp);
    Ok((start, stop, step))
}

/// The indices between bounds.
pub(crate) fn indices((start, stop, step): (i128, i128, i128)) -> impl Iterator<Item = usize> {
    let mut at = start;
    std::iter::from_fn(move || {
        let more = if step > 0 { at < stop } else { at > stop };
        let index = usize::try_from(at).ok().filter(|_| more);
        at = at.saturating_add(step);
        index
    })
}
