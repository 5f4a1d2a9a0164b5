//! JSON straight to bytes: strings and numbers.

use std::io::Write;

/// What a byte of a string asks for: 0 nothing, `u` a `\u00xx` escape, `2` and `3` a look at the
/// character it leads, else the letter after the backslash.
static ESCAPES: [u8; 256] = escapes();

const fn escapes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = b'u';
        byte += 1;
    }
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'\n' as usize] = b'n';
    table[b'\r' as usize] = b'r';
    table[b'\t' as usize] = b't';
    table[0x08] = b'b';
    table[0x0c] = b'f';
    table[0xc2] = b'2';
    table[0xe2] = b'3';
    table
}

/// Appends `text` as the inside of a JSON string, without the quotes.
///
/// Non-ASCII stays UTF-8, but for U+0085, U+2028 and U+2029: clients that split lines as Unicode does
/// would cut a frame there, so these are escaped.
pub(crate) fn escape(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut written = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let mut letter = ESCAPES[usize::from(byte)];
        if letter == 0 {
            continue;
        }
        let mut length = 1;
        let mut code = u16::from(byte);
        if letter == b'2' || letter == b'3' {
            (code, length) = match bytes[at..] {
                [0xc2, 0x85, ..] => (0x85, 2),
                [0xe2, 0x80, 0xa8, ..] => (0x2028, 3),
                [0xe2, 0x80, 0xa9, ..] => (0x2029, 3),
                _ => continue,
            };
            letter = b'u';
        }
        out.extend_from_slice(&bytes[written..at]);
        out.extend_from_slice(&[b'\\', letter]);
        if letter == b'u' {
            out.extend([12, 8, 4, 0].map(|shift| HEX[usize::from(code >> shift & 15)]));
        }
        // The rest of an escaped character asks for nothing, so `at` never falls behind.
        written = at + length;
    }
    out.extend_from_slice(&bytes[written..]);
}

/// Lower-case digits.
pub(crate) static HEX: [u8; 16] = *b"0123456789abcdef";

/// Appends `text` as a JSON string.
pub(crate) fn string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    escape(text, out);
    out.push(b'"');
}

/// Appends a string, or null.
pub(crate) fn optional(text: Option<&str>, out: &mut Vec<u8>) {
    match text {
        Some(text) => string(text, out),
        None => out.extend_from_slice(b"null"),
    }
}

/// Appends a number.
pub(crate) fn number(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        // The remainder is below 10.
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// OpenAI's log probability of a token that is out of the question, and the least that is written.
const LEAST: f32 = -9999.0;

/// Appends a log probability as the shortest decimal that reads back to it. JSON knows no infinity and no
/// NaN: minus infinity, all else below -9999 and NaN become -9999.0, plus infinity the largest number.
pub(crate) fn logprob(value: f32, out: &mut Vec<u8>) {
    let value = if value.is_nan() { LEAST } else { value.clamp(LEAST, f32::MAX) };
    // Writing to memory does not fail; `Debug` has a fraction or an exponent, as JSON spells them, always.
    let _ = write!(out, "{value:?}");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        string(text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn escapes_what_rfc_8259_asks_for() {
        assert_eq!(written("a\"b\\c/\u{7f}é😀"), "\"a\\\"b\\\\c/\u{7f}é😀\"");
        assert_eq!(written("\n\r\t\u{8}\u{c}\0\u{1f}"), r#""\n\r\t\b\f\u0000\u001f""#);
    }

    #[test]
    fn escapes_the_line_ends_of_unicode_and_not_their_neighbours() {
        assert_eq!(written("\u{85}\u{2028}\u{2029}"), r#""\u0085\u2028\u2029""#);
        assert_eq!(
            written("\u{84}\u{86}\u{2027}\u{202a}’Â\u{2028}"),
            "\"\u{84}\u{86}\u{2027}\u{202a}’Â\\u2028\""
        );
    }

    #[test]
    fn numbers() {
        for value in [0, 9, 10, 1_700_000_000, u64::MAX] {
            let mut out = Vec::new();
            number(value, &mut out);
            assert_eq!(out, value.to_string().into_bytes());
        }
    }

    fn spelt(value: f32) -> String {
        let mut out = Vec::new();
        logprob(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn log_probabilities() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (-1.0, "-1.0"),
            (-0.1, "-0.1"),
            (-1e-7, "-1e-7"),
            (-f32::MIN_POSITIVE, "-1.1754944e-38"),
            (-9999.0, "-9999.0"),
            (-1e4, "-9999.0"),
            (f32::NEG_INFINITY, "-9999.0"),
            (f32::NAN, "-9999.0"),
            (f32::INFINITY, "3.4028235e38"),
        ] {
            assert_eq!(spelt(value), expected);
        }
    }

    proptest! {
        #[test]
        fn every_log_probability_is_json_and_reads_back(bits in any::<u32>()) {
            let value = f32::from_bits(bits);
            let json = spelt(value);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&json).unwrap().is_number());
            let read: f32 = json.parse().unwrap();
            if value >= LEAST && value.is_finite() {
                prop_assert_eq!(read.to_bits(), bits);
            } else {
                prop_assert!(read == LEAST || read == f32::MAX);
            }
        }

        #[test]
        fn every_string_reads_back(text in any::<String>()) {
            let json = written(&text);
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
            prop_assert_eq!(json.lines().count(), 1);
        }

        #[test]
        fn strings_full_of_escapes_read_back(text in "[\\x00-\\x22\\\\\u{80}-\u{90}\u{2020}-\u{2030}]{0,40}") {
            prop_assert_eq!(serde_json::from_str::<String>(&written(&text)).unwrap(), text);
        }
    }
}
