//! Numbers as C and Python format them.

/// `%e` of a number that is not negative: `1.5e+10`.
pub(super) fn exponent(number: f64, precision: usize, upper: bool) -> String {
    let text = format!("{number:.precision$e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, power) = match power.strip_prefix('-') {
        Some(power) => ('-', power),
        None => ('+', power),
    };
    format!("{digits}{}{sign}{power:0>2}", if upper { 'E' } else { 'e' })
}

/// `%g` of a number that is not negative; `alternate` keeps trailing zeros.
pub(super) fn general(number: f64, precision: usize, upper: bool, alternate: bool) -> String {
    let precision = precision.max(1);
    general_to(number, precision, precision, upper, alternate)
}

/// A float in a format that names a precision and nothing else: `%g` that leaves a float a float.
pub(super) fn plain(number: f64, precision: usize, alternate: bool) -> String {
    if !number.is_finite() {
        return float(number, 'g', precision, alternate);
    }
    let precision = precision.max(1);
    // The `.0` takes a digit.
    let text = general_to(number, precision, precision - 1, false, alternate);
    if text.contains(['.', 'e']) { text } else { text + ".0" }
}

/// `%g` that takes an exponent from 10 to the power of `places` on; `precision` is at least 1.
fn general_to(
    number: f64,
    precision: usize,
    places: usize,
    upper: bool,
    alternate: bool,
) -> String {
    let scientific = format!("{number:.*e}", precision - 1);
    let power: i64 =
        scientific.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
    let long = |places: usize| i64::try_from(places).unwrap_or(i64::MAX);
    if (-4..long(places)).contains(&power) {
        let decimals = usize::try_from(long(precision) - 1 - power).unwrap_or(0);
        let text = format!("{number:.decimals$}");
        return if alternate { pointed(text) } else { trimmed(&text) };
    }
    let text = exponent(number, precision - 1, upper);
    if alternate {
        return pointed(text);
    }
    let mark = if upper { 'E' } else { 'e' };
    match text.split_once(mark) {
        Some((digits, power)) => format!("{}{mark}{power}", trimmed(digits)),
        None => text,
    }
}

/// A number's text with a point, where it has none before its exponent.
pub(super) fn pointed(text: String) -> String {
    if text.contains('.') {
        return text;
    }
    let end = text.find(['e', 'E']).unwrap_or(text.len());
    let (digits, power) = text.split_at(end);
    format!("{digits}.{power}")
}

fn trimmed(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text.to_owned()
    }
}

/// A number that is not negative in `f`, `e` or `g` form, infinities and `nan` by name.
pub(super) fn float(number: f64, kind: char, precision: usize, alternate: bool) -> String {
    let upper = kind.is_ascii_uppercase();
    if !number.is_finite() {
        let name = if number.is_nan() { "nan" } else { "inf" };
        return if upper { name.to_ascii_uppercase() } else { name.to_owned() };
    }
    let text = match kind.to_ascii_lowercase() {
        'e' => exponent(number, precision, upper),
        'g' => return general(number, precision, upper, alternate),
        _ => format!("{number:.precision$}"),
    };
    if alternate { pointed(text) } else { text }
}

/// Digits of an integer in a base of 2, 8, 10 or 16.
pub(super) fn digits(magnitude: u128, kind: char) -> String {
    match kind {
        'b' => format!("{magnitude:b}"),
        'o' => format!("{magnitude:o}"),
        'x' => format!("{magnitude:x}"),
        'X' => format!("{magnitude:X}"),
        _ => magnitude.to_string(),
    }
}

/// `repr` of a text with all that is not ASCII escaped.
pub(super) fn ascii(repr: &str) -> String {
    let mut out = String::with_capacity(repr.len());
    for c in repr.chars() {
        match c as u32 {
            0..=0x7f => out.push(c),
            code @ 0x80..=0xff => out.push_str(&format!("\\x{code:02x}")),
            code @ 0x100..=0xffff => out.push_str(&format!("\\u{code:04x}")),
            code => out.push_str(&format!("\\U{code:08x}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{exponent, float, general};

    #[test]
    fn numbers_are_cs() {
        assert_eq!(exponent(12345.678, 2, false), "1.23e+04");
        assert_eq!(exponent(0.0, 1, true), "0.0E+00");
        for (number, precision, expected) in [
            (0.0001, 6, "0.0001"),
            (1e-5, 6, "1e-05"),
            (123456789.0, 6, "1.23457e+08"),
            (100.0, 3, "100"),
            (2.5, 1, "2"),
        ] {
            assert_eq!(general(number, precision, false, false), expected);
        }
        assert_eq!(float(2.5, 'f', 0, true), "2.");
        assert_eq!(float(f64::INFINITY, 'F', 0, false), "INF");
    }
}
