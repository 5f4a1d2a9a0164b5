//! Integers in JSON that the parsed value does not hold: it would have floats in their places.

use std::ops::Range;

/// An integer in a JSON text that is lost when it is parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WideInteger {
    /// Where it stands, as `messages[2].content`; empty where it is the whole text.
    pub path: String,
    /// How it is written.
    pub literal: String,
}

/// Finds the first integer of a JSON text that is no `i64` and no `u64`, or is `-0`: parsing makes a float of it,
/// which prints otherwise and may be another number. `1.0` and `1e300` are floats themselves.
///
/// Of a text that is no JSON, only that what is returned stands in it is promised.
#[must_use]
pub fn wide_integer(json: &str) -> Option<WideInteger> {
    if !may_hold_one(json) {
        return None;
    }
    let bytes = json.as_bytes();
    let mut open: Vec<Step> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at);
                if let Some(Step::Key { key, named: named @ false }) = open.last_mut() {
                    (*key, *named) = (at..end, true);
                }
                at = end;
                continue;
            }
            b'{' => open.push(Step::Key { key: 0..0, named: false }),
            b'[' => open.push(Step::Index(0)),
            b'}' | b']' => drop(open.pop()),
            b',' => match open.last_mut() {
                Some(Step::Key { named, .. }) => *named = false,
                Some(Step::Index(index)) => *index += 1,
                None => {}
            },
            b'-' | b'0'..=b'9' => {
                let rest = &json[at..];
                let is_part =
                    |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
                let literal = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
                if is_lost(literal) {
                    return Some(WideInteger {
                        path: path(json, &open),
                        literal: literal.to_owned(),
                    });
                }
                at += literal.len();
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// One step from a value to one inside.
enum Step {
    /// The key in its quotes, once it was read.
    Key {
        key: Range<usize>,
        named: bool,
    },
    Index(usize),
}

/// A look at the digits alone, since nearly every text holds no such integer.
fn may_hold_one(json: &str) -> bool {
    let (mut run, mut before) = (0, 0);
    json.bytes().any(|byte| {
        run = if byte.is_ascii_digit() { run + 1 } else { 0 };
        let is_zero = byte == b'0' && before == b'-';
        before = byte;
        run >= 19 || is_zero
    })
}

fn is_lost(literal: &str) -> bool {
    let is_float = literal.contains(['.', 'e', 'E']);
    let held = literal.parse::<i64>().is_ok() || literal.parse::<u64>().is_ok();
    !is_float && (!held || literal == "-0")
}

/// Where the string that begins at `start` has ended.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn path(json: &str, open: &[Step]) -> String {
    let mut path = String::new();
    for step in open {
        match step {
            Step::Index(index) => path.push_str(&format!("[{index}]")),
            Step::Key { key, .. } => {
                let raw = json.get(key.clone()).unwrap_or_default();
                let key = serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned());
                path.push_str(if path.is_empty() { "" } else { "." });
                path.push_str(&key);
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::wide_integer;

    #[test]
    fn integers_that_parsing_loses_are_found_where_they_stand() {
        for (json, path, literal) in [
            ("18446744073709551616", "", "18446744073709551616"),
            ("-9223372036854775809", "", "-9223372036854775809"),
            (
                r#"{"a": [1, {"b\"c": 123456789012345678901234567890}]}"#,
                "a[1].b\"c",
                "123456789012345678901234567890",
            ),
            (r#"{"messages":[{"content":"{[,"},{"n":[[],-0]}]}"#, "messages[1].n[1]", "-0"),
            (r#"[{"a": 1, "b": {}}, [2, 99999999999999999999]]"#, "[1][1]", "99999999999999999999"),
            (
                "[00000000000000000000000000001, 100000000000000000000]",
                "[1]",
                "100000000000000000000",
            ),
        ] {
            let found = wide_integer(json).unwrap();
            assert_eq!((found.path.as_str(), found.literal.as_str()), (path, literal), "{json}");
        }
        for json in [
            "18446744073709551615",
            "[-9223372036854775808, 1e300, 1.0, -0.0, 0, 100000000000000000000.0, 1E+99, -0e0]",
            r#"{"123456789012345678901234567890": "123456789012345678901234567890 -0", "a": "\\\"-0"}"#,
            "\"123456789012345678901234567890",
            "123456789012345678901e",
            "",
        ] {
            assert_eq!(wide_integer(json), None, "{json}");
        }
    }

    /// What parsing makes of a number is an integer where its text is one, or it is found.
    #[test]
    fn what_is_not_found_stays_an_integer() {
        let mut edges: Vec<i128> =
            vec![0, i128::from(i64::MIN), i128::from(i64::MAX), i128::from(u64::MAX)];
        edges.extend((0..100).map(|shift| 1 << shift));
        for number in
            edges.iter().flat_map(|edge| (-2..=2).flat_map(move |by| [edge + by, -edge + by]))
        {
            let text = format!("{{\"n\": {number}}}");
            let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
            let held = !parsed["n"].is_f64();
            assert_eq!(wide_integer(&text).is_none(), held, "{text}");
            let same =
                parsed["n"].as_number().and_then(serde_json::Number::as_i128) == Some(number);
            assert!(!held || same, "{text}");
        }
    }
}
