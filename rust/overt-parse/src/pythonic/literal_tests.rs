//! Python literals and the JSON that they become.

use super::{Literal, State};

fn read(text: &str, size: usize) -> (String, String, State) {
    let mut literal = Literal::default();
    let mut json = String::new();
    let mut rest = text;
    let mut state = State::Goes;
    while !rest.is_empty() && state == State::Goes {
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (read, now) = literal.feed(&rest[..end], |_| false);
        state = now;
        json.push_str(literal.ready());
        literal.said();
        rest = &rest[read..];
    }
    if state == State::Goes {
        state = literal.finish();
        json.push_str(literal.ready());
    }
    (json, rest.to_owned(), state)
}

fn whole(text: &str) -> (String, String, State) {
    let all = read(text, usize::MAX - 1);
    for size in [1, 2, 3, 7] {
        assert_eq!(read(text, size), all, "{text:?} by {size}");
    }
    all
}

#[test]
fn literals_become_json() {
    for (python, json) in [
        ("1", "1"),
        ("-1_000_000", "-1000000"),
        ("+7", "7"),
        ("007", "7"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("0xFF", "255"),
        ("-0b101", "-5"),
        ("0o17", "15"),
        ("1.", "1.0"),
        (".5", "0.5"),
        ("-1.5e-3", "-1.5e-3"),
        ("1E+5", "1e5"),
        ("1_0.2_5", "10.25"),
        ("True", "true"),
        ("False", "false"),
        ("None", "null"),
        ("null", "null"),
        ("''", r#""""#),
        ("'a\"b'", r#""a\"b""#),
        (r#""it's""#, r#""it's""#),
        (
            r"'it\'s \\ \n \t \x41 \101 \u00e9 \U0001F600 \q'",
            "\"it's \\\\ \\n \\t A A é 😀 \\\\q\"",
        ),
        (r"'\ud83d\ude00'", "\"😀\""),
        (r"'\ud83dx\ude00'", "\"\u{fffd}x\u{fffd}\""),
        (r"'\u12'", r#""\\u12""#),
        (r"'\8\08'", "\"\\\\8\\u00008\""),
        ("'a\nb'", r#""a\nb""#),
        ("'a\\\nb'", r#""ab""#),
        ("'''it's\n''two'' '''", r#""it's\n''two'' ""#),
        (r#""""a"b""c""""#, r#""a\"b\"\"c""#),
        ("\"\"\"\"\"\"", r#""""#),
        (r"r'\n\d'", r#""\\n\\d""#),
        ("b'x'", r#""x""#),
        ("'a' 'b' \"c\"", r#""abc""#),
        ("'don't stop'", r#""don't stop""#),
        ("'it' s'", r#""it' s""#),
        ("[]", "[]"),
        ("[1, 2,]", "[1, 2]"),
        ("[ 'a' , [ ] , {} ]", r#"["a", [], {}]"#),
        ("()", "[]"),
        ("(1,)", "[1]"),
        ("(1, 'b')", r#"[1, "b"]"#),
        ("('a' \"b\")", r#" "ab""#),
        ("[(1), ((2, 3))]", "[ 1,  [2, 3]]"),
        (
            "{'a': 1, \"b\": [True, None], 3: {'c': ()}}",
            r#"{"a": 1, "b": [true, null], "3": {"c": []}}"#,
        ),
        ("{'a':1,}", r#"{"a": 1}"#),
        (r#"{"a": true, "b": null}"#, r#"{"a": true, "b": null}"#),
    ] {
        let (said, rest, state) = whole(python);
        assert_eq!((said.as_str(), rest.as_str(), state), (json, "", State::Done), "{python}");
        serde_json::from_str::<serde_json::Value>(&said).expect(python);
    }
}

#[test]
fn what_ends_a_literal_is_left() {
    for (python, json, rest) in [
        ("1, b=2", "1", ", b=2"),
        ("'a' )", r#""a""#, ")"),
        ("[1] )", "[1]", " )"),
        ("None)", "null", ")"),
    ] {
        assert_eq!(whole(python), (json.to_owned(), rest.to_owned(), State::Done));
    }
}

#[test]
fn what_is_no_literal_is_told() {
    for python in
        ["foo", "1+2", "[1; 2]", "{1, 2}", "{[1]: 2}", "-", "1__", "@", "0x", "1.2.3", "x'a'"]
    {
        assert_eq!(whole(python).2, State::Broken, "{python}");
    }
    let deep = "[".repeat(200);
    assert_eq!(whole(&deep).2, State::Broken);
    for python in ["[1", "'abc", "{'a':", "", "[1,"] {
        assert_eq!(whole(python).2, State::Broken, "{python}");
    }
}
