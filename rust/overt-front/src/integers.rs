//! Integers that a JSON text has and 64 bits do not hold: readers would take them for floats in silence.

use crate::outline::end_of_string;

/// The first integer of a JSON text that neither 64 signed nor 64 unsigned bits hold.
#[must_use]
pub fn wide_integer(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'"' {
            at = end_of_string(bytes, at + 1);
        } else if *byte == b'-' || byte.is_ascii_digit() {
            let of_number = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            let length = bytes[at..].iter().take_while(|byte| of_number(byte)).count();
            let number = &text[at..at + length];
            let whole = !number.contains(['.', 'e', 'E']);
            if whole && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                return Some(number);
            }
            at += length;
        } else {
            at += 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::wide_integer;

    #[test]
    fn integers_beyond_64_bits_are_found() {
        for (text, found) in [
            ("", None),
            ("[18446744073709551615, -9223372036854775808, 1e30, 2.5E+40, -0]", None),
            (r#"{"18446744073709551616": "\" 18446744073709551616"}"#, None),
            ("18446744073709551616", Some("18446744073709551616")),
            (r#"{"a": [1, {"b":-9223372036854775809}]}"#, Some("-9223372036854775809")),
            (
                "[123456789012345678901234567890.0,1234567890123456789012]",
                Some("1234567890123456789012"),
            ),
        ] {
            assert_eq!(wide_integer(text), found, "{text}");
        }
    }
}
