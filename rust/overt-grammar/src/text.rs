//! Small pieces of llguidance's Lark text.

use std::fmt::Write;

/// A string as Lark writes it, which is as JSON does; DEL too must be escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\0'..='\u{1f}' | '\u{7f}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(char));
            }
            _ => out.push(char),
        }
    }
    out.push('"');
    out
}

/// A regular expression between slashes.
pub(crate) fn slashed(regex: &str) -> String {
    let mut out = String::with_capacity(regex.len() + 2);
    out.push('/');
    let mut escaped = false;
    for char in regex.chars() {
        match char {
            '/' if !escaped => out.push_str("\\/"),
            '\n' if !escaped => out.push_str("\\n"),
            '\r' if !escaped => out.push_str("\\r"),
            // A backslash before the line break itself would be no escape.
            '\n' => out.push('n'),
            '\r' => out.push('r'),
            _ => out.push(char),
        }
        escaped = char == '\\' && !escaped;
    }
    out.push('/');
    out
}

/// What a regular expression must be escaped to match this text alone.
pub(crate) fn literal(text: &str) -> String {
    regex_syntax::escape(text)
}
