//! Values as Python prints them: `str()` and `repr()` of what templates can hold.

use std::fmt::{self, Write};

use minijinja::value::{Value, ValueKind};

/// Deeper values print as an ellipsis instead of overflowing the stack.
const MAX_DEPTH: usize = 128;

/// True where the engine's own printing may differ from Python's.
pub(crate) fn needs_own(value: &Value) -> bool {
    match value.kind() {
        ValueKind::Number => !value.is_integer(),
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => true,
        _ => false,
    }
}

/// `str(value)`.
pub(crate) fn write_str(value: &Value, out: &mut dyn Write) -> fmt::Result {
    match value.as_str() {
        Some(text) => out.write_str(text),
        None => write_repr(value, out, 0),
    }
}

fn write_repr(value: &Value, out: &mut dyn Write, depth: usize) -> fmt::Result {
    if depth > MAX_DEPTH {
        return out.write_str("...");
    }
    match value.kind() {
        ValueKind::String => write_quoted(value.as_str().unwrap_or_default(), out),
        ValueKind::Number if !value.is_integer() => match f64::try_from(value.clone()) {
            Ok(number) => out.write_str(&float(number)),
            Err(_) => write!(out, "{value}"),
        },
        ValueKind::Seq | ValueKind::Iterable => {
            let tuple = value.is_tuple();
            out.write_char(if tuple { '(' } else { '[' })?;
            let mut count = 0usize;
            for item in value.try_iter().into_iter().flatten() {
                if count > 0 {
                    out.write_str(", ")?;
                }
                write_repr(&item, out, depth + 1)?;
                count += 1;
            }
            out.write_str(match (tuple, count) {
                (true, 1) => ",)",
                (true, _) => ")",
                _ => "]",
            })
        }
        ValueKind::Map => {
            out.write_char('{')?;
            for (index, key) in value.try_iter().into_iter().flatten().enumerate() {
                if index > 0 {
                    out.write_str(", ")?;
                }
                write_repr(&key, out, depth + 1)?;
                out.write_str(": ")?;
                write_repr(&value.get_item(&key).unwrap_or_default(), out, depth + 1)?;
            }
            out.write_char('}')
        }
        _ => write!(out, "{value}"),
    }
}

fn write_quoted(text: &str, out: &mut dyn Write) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.write_char(quote)?;
    for c in text.chars() {
        match c {
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            c if c == quote => write!(out, "\\{c}")?,
            c if (c as u32) < 0x20 || (0x7f..=0xa0).contains(&(c as u32)) || c == '\u{ad}' => {
                write!(out, "\\x{:02x}", c as u32)?;
            }
            '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => {
                write!(out, "\\u{:04x}", c as u32)?;
            }
            c => out.write_char(c)?,
        }
    }
    out.write_char(quote)
}

/// `repr(number)` of a Python float: shortest digits that read back, exponent below 1e-4 and from 1e16.
pub(crate) fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    let text = number.to_string();
    if text.contains('.') { text } else { text + ".0" }
}

#[cfg(test)]
mod tests {
    use super::{float, write_str};
    use minijinja::value::Value;

    #[test]
    fn floats_are_pythons() {
        for (number, expected) in [
            (1.0, "1.0"),
            (1e20, "1e+20"),
            (1e16, "1e+16"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e-7, "1e-07"),
            (0.0001, "0.0001"),
            (1.5e-5, "1.5e-05"),
            (-0.0, "-0.0"),
            (1.25e300, "1.25e+300"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(float(number), expected);
        }
    }

    #[test]
    fn containers_are_pythons() {
        let value: serde_json::Value = serde_json::from_str(
            r#"{"a": [1, 2.0, null, true, "it's", "q\"'", "n\n\u0007"], "b": {}}"#,
        )
        .unwrap();
        let mut out = String::new();
        write_str(&Value::from(minijinja::value::Serde(&value)), &mut out).unwrap();
        assert_eq!(out, r#"{'a': [1, 2.0, None, True, "it's", 'q"\'', 'n\n\x07'], 'b': {}}"#);
    }
}
