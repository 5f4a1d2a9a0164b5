//! Upper and lower case, and what characters are.

use std::num::IntErrorKind;

use minijinja::Error;

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

/// Full case folding. But for a few letters it is the lower case of the upper case.
pub(super) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'ı' => out.push(c),
            'ẞ' => out.push_str("ss"),
            // Cherokee folds to its upper case.
            '\u{13a0}'..='\u{13fd}' | '\u{ab70}'..='\u{abbf}' => out.extend(c.to_uppercase()),
            c => out.extend(c.to_uppercase().flat_map(char::to_lowercase)),
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
        "isdigit" => all(|c| is_decimal(c) || is_lone_digit(c)),
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

/// The zeros of all scripts that have digits; the other nine follow each.
const ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66,
    0xde6, 0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90,
    0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
    0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
    0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50,
    0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// A decimal digit of any script as ASCII has it.
fn decimal(c: char) -> Option<char> {
    let code = c as u32;
    // The last zero that is not behind it.
    let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= code)].last()?;
    char::from_digit(code - zero, 10)
}

fn is_decimal(c: char) -> bool {
    decimal(c).is_some()
}

/// Digits that stand in no number: raised, lowered, in circles and in brackets.
fn is_lone_digit(c: char) -> bool {
    matches!(
        c,
        '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '₀'..='₉' | '①'..='⑨' | '⑴'..='⑼' | '⒈'..='⒐' | '⓪'
            | '⓵'..='⓽' | '⓿' | '❶'..='❾' | '➀'..='➈' | '➊'..='➒'
            | '\u{1369}'..='\u{1371}' | '\u{19da}' | '\u{10a40}'..='\u{10a43}'
            | '\u{10e60}'..='\u{10e68}' | '\u{11052}'..='\u{1105a}' | '\u{1f100}'..='\u{1f10a}'
    )
}

/// A number's text in ASCII's digits, without the white space around it.
fn bare(text: &str) -> String {
    text.trim_matches(is_space).chars().map(|c| decimal(c).unwrap_or(c)).collect()
}

/// The value of a text as `int(text, base)` reads it; None where it is no integer.
///
/// # Errors
/// Where it has more than 127 bits.
pub(crate) fn parse_int(text: &str, base: u32) -> Result<Option<i128>, Error> {
    let text = &*bare(text);
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
        return Ok(None);
    }
    let sign = if negative { "-" } else { "" };
    match i128::from_str_radix(&format!("{sign}{}", digits.replace('_', "")), base) {
        Ok(number) => Ok(Some(number)),
        Err(error) => match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => Err(python::too_large("int")),
            _ => Ok(None),
        },
    }
}

/// The value of a text as `float(text)` reads it.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let text = &*bare(text);
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
