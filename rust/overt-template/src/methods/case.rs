//! Upper and lower case, and what characters are.

use crate::python;
use crate::syntax::is_space;

/// The first character upper, the others lower.
pub(super) fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    titled(first) + &lower_after(text, first.len_utf8())
}

/// Lower case of what follows a prefix, which decides over a final sigma.
fn lower_after(text: &str, from: usize) -> String {
    let lower = text.to_lowercase();
    let first: usize = text[..from].to_lowercase().len();
    lower.get(first..).map_or_else(|| text[from..].to_lowercase(), str::to_owned)
}

/// A character as it begins a word.
pub(super) fn titled(c: char) -> String {
    match c {
        'ǆ' | 'Ǆ' | 'ǅ' => "ǅ".to_owned(),
        'ǉ' | 'Ǉ' | 'ǈ' => "ǈ".to_owned(),
        'ǌ' | 'Ǌ' | 'ǋ' => "ǋ".to_owned(),
        'ǳ' | 'Ǳ' | 'ǲ' => "ǲ".to_owned(),
        c => {
            let mut upper = c.to_uppercase();
            let first = upper.next().map(String::from).unwrap_or_default();
            first + &upper.flat_map(char::to_lowercase).collect::<String>()
        }
    }
}

fn is_cased(c: char) -> bool {
    c.is_uppercase() || c.is_lowercase() || is_titlecase(c)
}

fn is_titlecase(c: char) -> bool {
    matches!(c, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ')
}

/// Each word begins upper, all else lower; whatever has no case ends a word.
pub(super) fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out.push_str(&titled(c));
        }
        inside = is_cased(c);
    }
    out
}

pub(super) fn swapped(text: &str) -> String {
    text.chars()
        .flat_map(|c| -> Box<dyn Iterator<Item = char>> {
            if c.is_uppercase() { Box::new(c.to_lowercase()) } else { Box::new(c.to_uppercase()) }
        })
        .collect()
}

/// Case folding: lower case, and the letters that differ only there.
pub(super) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'ß' | 'ẞ' => out.push_str("ss"),
            'ς' => out.push('σ'),
            'ſ' => out.push('s'),
            'µ' => out.push('μ'),
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// `isupper`, `islower` and their kin.
pub(crate) fn is(text: &str, what: &str) -> bool {
    let all = |test: fn(char) -> bool| !text.is_empty() && text.chars().all(test);
    match what {
        "isalnum" => all(char::is_alphanumeric),
        "isalpha" => all(char::is_alphabetic),
        "isascii" => text.is_ascii(),
        "isdecimal" => all(is_decimal),
        "isdigit" => all(|c| {
            is_decimal(c) || matches!(c, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '₀'..='₉' | '①'..='⑨')
        }),
        "isnumeric" => all(char::is_numeric),
        "isidentifier" => {
            text.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
                && text.chars().all(|c| c.is_alphanumeric() || c == '_')
        }
        "isspace" => all(is_space),
        "isprintable" => text.chars().all(crate::repr::printable),
        "islower" => {
            text.chars().any(char::is_lowercase)
                && !text.chars().any(|c| c.is_uppercase() || is_titlecase(c))
        }
        "isupper" => {
            text.chars().any(char::is_uppercase)
                && !text.chars().any(|c| c.is_lowercase() || is_titlecase(c))
        }
        "istitle" => is_title(text),
        _ => false,
    }
}

fn is_title(text: &str) -> bool {
    let (mut inside, mut any) = (false, false);
    for c in text.chars() {
        if c.is_uppercase() || is_titlecase(c) {
            if inside {
                return false;
            }
            (inside, any) = (true, true);
        } else if c.is_lowercase() {
            if !inside {
                return false;
            }
            any = true;
        } else {
            inside = false;
        }
    }
    any
}

/// Decimal digits of the scripts that have them in a row of ten.
fn is_decimal(c: char) -> bool {
    const ZEROS: [u32; 20] = [
        0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66,
        0xe50, 0xed0, 0xf20, 0x1040, 0x17e0, 0x1810, 0xff10,
    ];
    ZEROS.iter().any(|zero| (*zero..zero + 10).contains(&(c as u32)))
}

/// The value of a text as `int(text, base)` reads it.
pub(crate) fn parse_int(text: &str, base: u32) -> Option<i128> {
    let text = text.trim_matches(is_space);
    let (negative, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    let prefixed = |prefix: &str, radix: u32| {
        let lower = digits.get(..2)?.to_ascii_lowercase();
        (lower == prefix && (base == radix || base == 0)).then(|| (&digits[2..], radix))
    };
    let prefix = prefixed("0x", 16).or_else(|| prefixed("0o", 8)).or_else(|| prefixed("0b", 2));
    let (digits, base) = match prefix {
        Some((digits, radix)) => (digits.strip_prefix('_').unwrap_or(digits), radix),
        None if base == 0 => (digits, 10),
        None => (digits, base),
    };
    let spread = digits.starts_with('_') || digits.ends_with('_') || digits.contains("__");
    if digits.is_empty() || spread || !(2..=36).contains(&base) || digits.starts_with(['+', '-']) {
        return None;
    }
    let number = i128::from_str_radix(&digits.replace('_', ""), base).ok()?;
    Some(if negative { -number } else { number })
}

/// The value of a text as `float(text)` reads it.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_space);
    let lower = text.to_ascii_lowercase();
    let name = lower.strip_prefix(['-', '+']).unwrap_or(&lower);
    let number = match name {
        "inf" | "infinity" => f64::INFINITY,
        "nan" => f64::NAN,
        _ => {
            let bytes = text.as_bytes();
            let joins = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
            let apart =
                text.match_indices('_').all(|(at, _)| at > 0 && joins(at - 1) && joins(at + 1));
            if !apart || name.starts_with(|c: char| c.is_alphabetic()) {
                return None;
            }
            return text.replace('_', "").parse().ok();
        }
    };
    Some(if text.starts_with('-') { -number } else { number })
}

/// Text of a case method, marked as its source is.
pub(super) fn value(text: String, safe: bool) -> minijinja::Value {
    python::text(text, safe)
}
