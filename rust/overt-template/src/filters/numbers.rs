//! Numbers.

use minijinja::Error;
use minijinja::value::Value;

use super::Call;
use super::attributes::{Path, key};
use crate::budget;
use crate::error::invalid;
use crate::methods::{parse_float, parse_int};
use crate::python::{self, Kind, compare, expect_int, items, math, refused, too_large, whole};
use crate::repr;

pub(super) fn abs(call: Call) -> Result<Value, Error> {
    let (_, value, []) = call.given([])?;
    match Kind::of(value) {
        Kind::Bool(flag) => Ok(python::int(i128::from(flag))),
        Kind::Int(number) => number.checked_abs().map(python::int).ok_or_else(|| too_large("abs")),
        Kind::Float(number) => Ok(Value::from(number.abs())),
        _ => Err(refused("abs", value)),
    }
}

/// `x|int(default=0, base=10)`.
pub(super) fn int(call: Call) -> Result<Value, Error> {
    let (state, value, [default, base]) = call.given(["default", "base"])?;
    let default = default.unwrap_or_else(|| Value::from(0));
    let base = base.map_or(Ok(10), |base| expect_int("int: the base", &base))?;
    match Kind::of(value) {
        Kind::Bool(flag) => Ok(python::int(i128::from(flag))),
        Kind::Int(_) => Ok(value.clone()),
        Kind::Float(number) if number.is_infinite() => Err(invalid("int: an infinite number")),
        Kind::Float(number) => Ok(whole("int", number)?.map_or(default, python::int)),
        Kind::Str(text) => {
            budget::read(state, text.len())?;
            let parsed = match u32::try_from(base) {
                Ok(base) => parse_int(text, base)?,
                Err(_) => None,
            };
            let cut = |number: f64| whole("int", number);
            let parsed = match parsed {
                Some(number) => Some(number),
                None => parse_float(text).map(cut).transpose()?.flatten(),
            };
            Ok(parsed.map_or(default, python::int))
        }
        Kind::Undefined => Err(refused("int", value)),
        _ => Ok(default),
    }
}

/// `x|float(default=0.0)`.
pub(super) fn float(call: Call) -> Result<Value, Error> {
    let (state, value, [default]) = call.given(["default"])?;
    let number = match Kind::of(value) {
        Kind::Bool(flag) => Some(f64::from(u8::from(flag))),
        Kind::Int(number) => Some(number as f64),
        Kind::Float(number) => Some(number),
        Kind::Str(text) => {
            budget::read(state, text.len())?;
            parse_float(text)
        }
        Kind::Undefined => return Err(refused("float", value)),
        _ => None,
    };
    Ok(number.map(Value::from).or(default).unwrap_or_else(|| Value::from(0.0)))
}

/// `x|round(precision=0, method='common')`.
pub(super) fn round(call: Call) -> Result<Value, Error> {
    let (_, value, [precision, method]) = call.given(["precision", "method"])?;
    let precision =
        precision.map_or(Ok(0), |places| expect_int("round: the precision", &places))?;
    let method = method.as_ref().map_or(Some("common"), |method| method.as_str());
    // Beyond these, more changes nothing.
    let precision = precision.clamp(-400, 400) as i32;
    match (method, Kind::of(value)) {
        (Some("common"), Kind::Int(number)) => whole_rounded(number, precision),
        (Some("common"), Kind::Bool(flag)) => whole_rounded(i128::from(flag), precision),
        (Some("common"), Kind::Float(number)) => Ok(Value::from(rounded(number, precision)?)),
        (Some(method @ ("ceil" | "floor")), Kind::Int(_) | Kind::Float(_) | Kind::Bool(_)) => {
            let number = match Kind::of(value) {
                // A whole number stays what it is.
                Kind::Int(number) if precision >= 0 => return Ok(Value::from(number as f64)),
                Kind::Int(number) => number as f64,
                Kind::Bool(flag) => f64::from(u8::from(flag)),
                Kind::Float(number) => number,
                _ => f64::NAN,
            };
            // The power of ten is the float nearest to it.
            let scale: f64 = format!("1e{precision}").parse().unwrap_or(f64::NAN);
            let scaled = number * scale;
            if !scaled.is_finite() || scale == 0.0 {
                return Err(invalid("round: the number is too large"));
            }
            let whole = if method == "ceil" { scaled.ceil() } else { scaled.floor() };
            // Python's ceil and floor give an integer: there is no negative zero.
            Ok(Value::from((whole + 0.0) / scale))
        }
        (Some("common" | "ceil" | "floor"), _) => Err(refused("round", value)),
        _ => Err(invalid("round: the method must be common, ceil or floor")),
    }
}

fn whole_rounded(number: i128, precision: i32) -> Result<Value, Error> {
    if precision >= 0 {
        return Ok(python::int(number));
    }
    let Some(unit) = 10i128.checked_pow(precision.unsigned_abs()) else {
        return Ok(python::int(0));
    };
    let (floor, rest) = (number.div_euclid(unit), number.rem_euclid(unit));
    let half = rest.cmp(&(unit - rest));
    let up = half.is_gt() || (half.is_eq() && floor % 2 != 0);
    match (floor + i128::from(up)).checked_mul(unit) {
        Some(rounded) => Ok(python::int(rounded)),
        None => Err(invalid("round: the result is too large")),
    }
}

/// Half to even, on the number's exact value.
fn rounded(number: f64, precision: i32) -> Result<f64, Error> {
    if !number.is_finite() || precision > 330 {
        return Ok(number);
    }
    if let Ok(places) = usize::try_from(precision) {
        return Ok(format!("{number:.places$}").parse().unwrap_or(number));
    }
    // Digits before the point: of the exact decimal value.
    let digits = format!("{:.0}", number.abs().trunc());
    let cut = usize::try_from(precision.unsigned_abs()).unwrap_or(usize::MAX);
    if cut > digits.len() {
        return Ok(0.0_f64.copysign(number));
    }
    let (kept, dropped) = digits.split_at(digits.len() - cut);
    let exact_half = dropped.starts_with('5')
        && dropped[1..].bytes().all(|byte| byte == b'0')
        && number.fract() == 0.0;
    let odd = kept.bytes().next_back().is_some_and(|byte| (byte - b'0') % 2 == 1);
    let up = if exact_half { odd } else { dropped.as_bytes()[0] >= b'5' };
    let kept: f64 =
        format!("{}e{cut}", if kept.is_empty() { "0" } else { kept }).parse().unwrap_or(0.0);
    let unit: f64 = format!("1e{cut}").parse().unwrap_or(0.0);
    let result = (kept + if up { unit } else { 0.0 }).copysign(number);
    if result.is_infinite() { Err(invalid("round: the result is too large")) } else { Ok(result) }
}

fn extreme(call: Call, better: std::cmp::Ordering) -> Result<Value, Error> {
    let (state, value, [case_sensitive, attribute]) =
        call.given(["case_sensitive", "attribute"])?;
    let case_sensitive = case_sensitive.is_some_and(|flag| flag.is_true());
    let path = Path::of(&attribute.unwrap_or_else(|| Value::from(())));
    let mut best: Option<(Value, Value)> = None;
    for item in items(state, value)? {
        state.consume_fuel(1)?;
        let key = key(state, path.read(state, &item, None)?, case_sensitive)?;
        let wins = match &best {
            None => true,
            Some((best, _)) => compare::ordered(state, &key, best)? == Some(better),
        };
        if wins {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Value::UNDEFINED, |(_, item)| item))
}

pub(super) fn max(call: Call) -> Result<Value, Error> {
    extreme(call, std::cmp::Ordering::Greater)
}

pub(super) fn min(call: Call) -> Result<Value, Error> {
    extreme(call, std::cmp::Ordering::Less)
}

/// `x|sum(attribute=None, start=0)`.
pub(super) fn sum(call: Call) -> Result<Value, Error> {
    let (state, value, [attribute, start]) = call.given(["attribute", "start"])?;
    let mut total = start.unwrap_or_else(|| Value::from(0));
    if total.as_str().is_some() {
        return Err(invalid("sum: texts cannot be summed; use join"));
    }
    let path = Path::of(&attribute.unwrap_or_else(|| Value::from(())));
    for item in items(state, value)? {
        state.consume_fuel(1)?;
        total = math::add(state, &total, &path.read(state, &item, None)?)?;
    }
    Ok(total)
}

/// `x|filesizeformat(binary=False)`.
pub(super) fn filesizeformat(call: Call) -> Result<Value, Error> {
    let (_, value, [binary]) = call.arguments(["binary"])?;
    let binary = binary.is_some_and(|flag| flag.is_true());
    let bytes = match Kind::of(value) {
        Kind::Bool(flag) => f64::from(u8::from(flag)),
        Kind::Int(number) => number as f64,
        Kind::Float(number) => number,
        Kind::Str(text) => parse_float(text).ok_or_else(|| refused("filesizeformat", value))?,
        _ => return Err(refused("filesizeformat", value)),
    };
    if bytes == 1.0 {
        return Ok(Value::from("1 Byte"));
    }
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    if bytes < base {
        let whole = bytes.is_finite().then(|| format!("{:.0}", bytes.trunc()));
        return match whole {
            Some(whole) => Ok(Value::from(format!("{whole} Bytes"))),
            None => Err(invalid(format!("filesizeformat: {} is no size", repr::float(bytes)))),
        };
    }
    let names = if binary {
        ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"]
    } else {
        ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"]
    };
    let mut unit = base;
    for (index, name) in names.iter().enumerate() {
        unit *= base;
        if bytes < unit || index == names.len() - 1 {
            return Ok(Value::from(format!("{:.1} {name}", base * bytes / unit)));
        }
    }
    Ok(Value::UNDEFINED)
}
