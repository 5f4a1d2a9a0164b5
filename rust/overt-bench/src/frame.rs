//! Finds what matters in a frame without parsing it.
//!
//! A quote within a JSON string is escaped, so `"content":` stands only where it is a key.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// The keys under which a frame says text; the first that says any counts.
static TEXT: LazyLock<[Finder<'static>; 5]> = LazyLock::new(|| {
    ["content", "text", "reasoning_content", "reasoning", "arguments"].map(finder)
});
static FINISH: LazyLock<Finder<'static>> = LazyLock::new(|| finder("finish_reason"));
static INDEX: LazyLock<Finder<'static>> = LazyLock::new(|| finder("index"));
static TOKENS: LazyLock<Finder<'static>> = LazyLock::new(|| finder("completion_tokens"));

fn finder(key: &str) -> Finder<'static> {
    Finder::new(&format!("\"{key}\":")).into_owned()
}

/// What follows a key, spaces passed.
fn value<'a>(finder: &Finder<'_>, frame: &'a [u8]) -> Option<&'a [u8]> {
    let at = finder.find(frame)? + finder.needle().len();
    Some(frame[at..].trim_ascii_start())
}

/// Appends the text that a frame says; true when it says any.
pub(crate) fn text(frame: &[u8], out: &mut Vec<u8>) -> Result<bool, &'static str> {
    for finder in TEXT.iter() {
        if let Some([b'"', rest @ ..]) = value(finder, frame) {
            let before = out.len();
            unescape(rest, out)?;
            if out.len() > before {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Appends the text of each choice of a whole answer, each to its own; false when there are fewer.
pub(crate) fn texts(body: &[u8], out: &mut [Vec<u8>]) -> Result<bool, &'static str> {
    // An answer's choices stand in order, each with one `finish_reason` after its text.
    let mut rest = body;
    for text in out {
        let Some(end) = FINISH.find(rest) else { return Ok(false) };
        self::text(&rest[..end], text)?;
        rest = &rest[end + FINISH.needle().len()..];
    }
    Ok(true)
}

/// True when the frame ends a choice.
pub(crate) fn finishes(frame: &[u8]) -> bool {
    value(&FINISH, frame).is_some_and(|rest| rest.first() == Some(&b'"'))
}

/// The choice that a frame belongs to.
pub(crate) fn choice(frame: &[u8]) -> Option<usize> {
    number(value(&INDEX, frame)?).and_then(|index| usize::try_from(index).ok())
}

/// `usage.completion_tokens`.
pub(crate) fn completion_tokens(body: &[u8]) -> Option<u64> {
    number(value(&TOKENS, body)?)
}

fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    str::from_utf8(&text[..digits]).ok()?.parse().ok()
}

/// Appends a JSON string's text; `rest` begins after its opening quote.
fn unescape(mut rest: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    loop {
        let plain = memchr::memchr2(b'"', b'\\', rest).ok_or("a string without an end")?;
        out.extend_from_slice(&rest[..plain]);
        if rest[plain] == b'"' {
            return Ok(());
        }
        let letter = *rest.get(plain + 1).ok_or("a string that ends in an escape")?;
        rest = &rest[plain + 2..];
        out.push(match letter {
            b'"' | b'\\' | b'/' => letter,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let (character, length) =
                    unicode(rest).ok_or("a \\u escape that is no character")?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[length..];
                continue;
            }
            _ => return Err("an unknown escape"),
        });
    }
}

/// The character of a `\u` escape, and how many bytes after the `u` it takes.
fn unicode(rest: &[u8]) -> Option<(char, usize)> {
    let unit = |at: usize| -> Option<u16> {
        let digits = rest.get(at..at + 4)?;
        digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
        u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
    };
    let first = unit(0)?;
    if let Some(character) = char::from_u32(u32::from(first)) {
        return Some((character, 4));
    }
    if rest.get(4..6)? != b"\\u" {
        return None;
    }
    let pair = char::decode_utf16([first, unit(6)?]).next()?.ok()?;
    Some((pair, 10))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn said(frame: &str) -> Result<(bool, String), &'static str> {
        let mut out = Vec::new();
        let any = text(frame.as_bytes(), &mut out)?;
        Ok((any, String::from_utf8(out).unwrap()))
    }

    #[test]
    fn text_stands_under_many_keys() {
        for (frame, expected) in [
            (r#"{"choices":[{"delta":{"content":"a\n"}}]}"#, (true, "a\n")),
            (r#"{"choices": [{"delta": {"content": "a"}}]}"#, (true, "a")),
            (r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#, (false, "")),
            (
                r#"{"choices":[{"delta":{"content":null,"reasoning_content":"r","reasoning":"r"}}]}"#,
                (true, "r"),
            ),
            (r#"{"choices":[{"text":"t","index":0}]}"#, (true, "t")),
            (
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{\"content\":\"x\"}"}}]}}]}"#,
                (true, r#"{"content":"x"}"#),
            ),
            (r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#, (false, "")),
        ] {
            assert_eq!(said(frame), Ok((expected.0, expected.1.to_owned())), "{frame}");
        }
    }

    #[test]
    fn bad_strings_are_errors() {
        for string in [
            r#""content":"a"#,
            r#""content":"\"#,
            r#""content":"\x""#,
            r#""content":"\u12""#,
            r#""content":"\ud83d""#,
            r#""content":"\ud83d\u0041""#,
            r#""content":"\u+123""#,
        ] {
            assert!(said(string).is_err(), "{string}");
        }
    }

    #[test]
    fn ends_choices_and_counts() {
        assert!(finishes(br#"{"finish_reason": "stop"}"#));
        assert!(!finishes(br#"{"finish_reason":null}"#));
        assert!(!finishes(br#"{"content":"\"finish_reason\":\"stop\""}"#));
        assert_eq!(choice(br#"{"index":12,"delta"}"#), Some(12));
        assert_eq!(choice(br"{}"), None);
        assert_eq!(completion_tokens(br#"{"usage":{"completion_tokens": 31,"x":1}}"#), Some(31));
        assert_eq!(completion_tokens(br#"{"completion_tokens":-1}"#), None);
    }

    #[test]
    fn a_whole_answer_has_a_text_a_choice() {
        let body = json!({"choices": [
            {"index": 0, "message": {"content": "a"}, "finish_reason": "stop"},
            {"index": 1, "message": {"content": "\"finish_reason\":"}, "finish_reason": "stop"},
        ]});
        let body = body.to_string();
        let mut out = vec![Vec::new(); 2];
        assert_eq!(texts(body.as_bytes(), &mut out), Ok(true));
        assert_eq!(out, [b"a".to_vec(), b"\"finish_reason\":".to_vec()]);
        assert_eq!(texts(body.as_bytes(), &mut vec![Vec::new(); 3]), Ok(false));
    }

    proptest! {
        #[test]
        fn text_reads_as_serde_wrote_it(text in any::<String>(), ascii in any::<bool>()) {
            let mut json = json!({"content": text, "finish_reason": null}).to_string();
            if ascii {
                let units = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|u| format!("\\u{u:04x}")).collect::<String>();
                json = json.chars().map(|c| if c.is_ascii() { c.to_string() } else { units(c) }).collect();
            }
            prop_assert_eq!(said(&json), Ok((!text.is_empty(), text)));
            prop_assert!(!finishes(json.as_bytes()));
        }

        #[test]
        fn any_bytes_are_read_without_harm(tail in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut out = Vec::new();
            for key in ["content", "finish_reason", "index", "completion_tokens"] {
                let frame = [format!("\"{key}\":\"").as_bytes(), tail.as_slice()].concat();
                let _ = text(&frame, &mut out);
                finishes(&frame);
                choice(&frame);
                completion_tokens(&frame);
            }
        }
    }
}
