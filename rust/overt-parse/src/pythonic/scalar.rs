//! Python's numbers and words as JSON.

/// The JSON of a number or a word; none when it is neither.
pub(super) fn scalar(word: &str) -> Option<String> {
    match word {
        "True" | "true" => Some("true".to_owned()),
        "False" | "false" => Some("false".to_owned()),
        "None" | "null" => Some("null".to_owned()),
        _ => number(word),
    }
}

fn number(word: &str) -> Option<String> {
    let (sign, digits) = match word.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", word.strip_prefix('+').unwrap_or(word)),
    };
    let lower = digits.to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(rest) = lower.strip_prefix(prefix) {
            let value = u128::from_str_radix(&digits_of(rest, radix)?, radix).ok()?;
            return Some(format!("{sign}{value}"));
        }
    }
    let (mantissa, exponent) = match lower.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (lower.as_str(), None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    if whole.is_empty() && fraction.is_none_or(str::is_empty) {
        return None;
    }
    let whole = if whole.is_empty() { "0".to_owned() } else { digits_of(whole, 10)? };
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        rest => rest,
    };
    let mut json = format!("{sign}{whole}");
    if let Some(fraction) = fraction {
        json.push('.');
        json.push_str(&if fraction.is_empty() { "0".to_owned() } else { digits_of(fraction, 10)? });
    }
    if let Some(exponent) = exponent {
        let (sign, digits) = match exponent.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", exponent.strip_prefix('+').unwrap_or(exponent)),
        };
        json.push('e');
        json.push_str(sign);
        json.push_str(&digits_of(digits, 10)?);
    }
    Some(json)
}

/// Digits without the lines that set groups of them apart; none when there are others or none.
fn digits_of(text: &str, radix: u32) -> Option<String> {
    let whole = !text.is_empty()
        && text.chars().all(|c| c.is_digit(radix) || c == '_')
        && !text.starts_with('_')
        && !text.ends_with('_');
    whole.then(|| text.replace('_', ""))
}
