//! Numbers: bounds, multiples, and literals.

use serde_json::{Number, Value, json};

use super::{Object, Place, Walker};
use crate::source::Refused;

/// Integers up to here are exact as floating-point numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// The largest floating-point number below 2^63.
const WIDEST: f64 = 9_223_372_036_854_774_784.0;

impl Walker<'_> {
    pub(super) fn numbers(
        &mut self,
        map: &Object,
        place: &Place,
        out: &mut Object,
    ) -> Result<(), Refused> {
        let mut low: Option<(f64, bool)> = None;
        let mut high: Option<(f64, bool)> = None;
        for (keyword, strict) in [("minimum", false), ("exclusiveMinimum", true)] {
            if let Some(bound) = bound(map, keyword, "minimum", place, f64::ceil_to_exact)? {
                low =
                    Some(low.map_or((bound, strict), |low| {
                        tighter(low, (bound, strict), |a, b| a > b)
                    }));
            }
        }
        for (keyword, strict) in [("maximum", false), ("exclusiveMaximum", true)] {
            if let Some(bound) = bound(map, keyword, "maximum", place, f64::floor_to_exact)? {
                high =
                    Some(high.map_or((bound, strict), |high| {
                        tighter(high, (bound, strict), |a, b| a < b)
                    }));
            }
        }
        // Beyond 64 bits nothing is compared.
        low = low.map(|(bound, strict)| (bound.max(-WIDEST), strict));
        high = high.map(|(bound, strict)| (bound.min(WIDEST), strict));
        for (beyond, keyword) in [
            (low.is_some_and(|(bound, _)| bound > WIDEST), "minimum"),
            (high.is_some_and(|(bound, _)| bound < -WIDEST), "maximum"),
        ] {
            if beyond {
                return place.at(keyword).refuse("cannot be enforced beyond 64 bits");
            }
        }
        if let Some((bound, strict)) = low {
            out.insert(
                if strict { "exclusiveMinimum" } else { "minimum" }.to_owned(),
                number(bound),
            );
        }
        if let Some((bound, strict)) = high {
            out.insert(
                if strict { "exclusiveMaximum" } else { "maximum" }.to_owned(),
                number(bound),
            );
        }
        if let Some(value) = map.get("multipleOf") {
            let here = place.at("multipleOf");
            match value.as_f64() {
                Some(step) if step > 0.0 && decimal(step) => {
                    out.insert("multipleOf".to_owned(), value.clone());
                }
                Some(step) if step > 0.0 => {
                    return here.refuse(format!(
                        "{value} cannot be enforced; use a step with fewer digits"
                    ));
                }
                _ => return here.refuse("must be a number above 0"),
            }
        }
        Ok(())
    }
}

fn tighter(old: (f64, bool), new: (f64, bool), beats: fn(f64, f64) -> bool) -> (f64, bool) {
    // Exact comparison: equal bounds differ only in whether they are strict.
    match old.0.partial_cmp(&new.0) {
        Some(std::cmp::Ordering::Equal) => (old.0, old.1 || new.1),
        _ if beats(new.0, old.0) => new,
        _ => old,
    }
}

trait Rounded {
    fn ceil_to_exact(number: &Number) -> Option<f64>;
    fn floor_to_exact(number: &Number) -> Option<f64>;
}

impl Rounded for f64 {
    /// The number itself, or the next one above it that floating point can hold.
    fn ceil_to_exact(number: &Number) -> Option<f64> {
        let near = number.as_f64()?;
        Some(if whole(number).is_some_and(|exact| (near as i128) < exact) {
            near.next_up()
        } else {
            near
        })
    }

    /// The number itself, or the next one below it that floating point can hold.
    fn floor_to_exact(number: &Number) -> Option<f64> {
        let near = number.as_f64()?;
        Some(if whole(number).is_some_and(|exact| (near as i128) > exact) {
            near.next_down()
        } else {
            near
        })
    }
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// One bound; the boolean form of draft 4 makes the plain bound strict.
fn bound(
    map: &Object,
    keyword: &str,
    plain: &str,
    place: &Place,
    rounded: fn(&Number) -> Option<f64>,
) -> Result<Option<f64>, Refused> {
    let value = match map.get(keyword) {
        None | Some(Value::Bool(false)) if keyword != plain => return Ok(None),
        None => return Ok(None),
        Some(Value::Bool(true)) if keyword != plain => map.get(plain),
        Some(value) => Some(value),
    };
    match value {
        None => Ok(None),
        Some(Value::Number(number)) => match rounded(number) {
            Some(bound) if bound.abs() <= 1e300 => Ok(Some(bound)),
            _ => place.at(keyword).refuse("out of range"),
        },
        Some(_) => place.at(keyword).refuse("must be a number"),
    }
}

fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < EXACT { json!(value as i64) } else { json!(value) }
}

/// A number that must be written as it stands.
pub(super) fn literal(number: &Number, here: &Place) -> Result<(), Refused> {
    let small = match whole(number) {
        Some(exact) => exact.unsigned_abs() <= EXACT as u128,
        None => number
            .as_f64()
            .is_some_and(|value| value.abs() <= EXACT && (value == 0.0 || value.abs() >= 1e-18)),
    };
    if small {
        return Ok(());
    }
    here.refuse(format!(
        "{number} cannot be enforced exactly: beyond 2^53, or closer to 0 than 1e-18"
    ))
}

/// Whether a step is a decimal number that llguidance reads without rounding: it multiplies by ten until nothing is
/// left behind the point, in floating point. More than 8 digits overflow its 32 bits.
fn decimal(step: f64) -> bool {
    let (mut scaled, mut digits) = (step, 0);
    while scaled.fract() != 0.0 && digits < 8 {
        scaled *= 10.0;
        digits += 1;
    }
    // Steps that meet under allOf are combined in 32 bits.
    scaled.fract() == 0.0 && scaled <= 60_000.0
}
