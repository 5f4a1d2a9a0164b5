//! Stop patterns by example: indices, ties, points that no match crosses, and what is refused.

#![allow(clippy::unwrap_used, clippy::panic)]

use overt_text::{StopMatcher, StopRegex, StopRegexError};

#[test]
fn patterns_have_the_indices_after_the_strings() {
    let patterns = [r"\d{3}", r"[x-z]!"].map(|pattern| StopRegex::compile(pattern).unwrap());
    let matcher = StopMatcher::new(&["END", ""]).patterns(&patterns);
    for (text, index, before, with) in [
        ("a 12 END", 0, "a 12 ", "a 12 END"),
        ("a 12 345", 2, "a 12 ", "a 12 345"),
        ("12y!", 3, "12", "12y!"),
    ] {
        for (include, expected) in [(false, before), (true, with)] {
            let mut matcher = matcher.clone().include_stop(include);
            let mut out = String::new();
            assert_eq!(matcher.push(text, &mut out), Some(index));
            assert_eq!(matcher.push("x! 999", &mut out), None);
            matcher.finish(&mut out);
            assert_eq!(out, expected);
        }
    }
}

#[test]
fn of_matches_that_end_together_the_longest_then_the_first_wins() {
    let compile = |pattern| StopRegex::compile(pattern).unwrap();
    for (strings, patterns, index) in [
        (&["bc"][..], &["bc", "abc"][..], 2),
        (&["bc"], &["bc"], 0),
        (&["abc"], &["bc"], 0),
        (&[], &["[b]c", "bc", ".bc", "abc"], 2),
        // What ends first wins, however short.
        (&["abc"], &["abcd", "b"], 2),
    ] {
        let patterns: Vec<_> = patterns.iter().copied().map(compile).collect();
        let mut matcher = StopMatcher::new(strings).patterns(&patterns);
        assert_eq!(matcher.clone().push_bytes(b"abcd"), Some(index));
        assert_eq!(matcher.push("abcd", &mut String::new()), Some(index));
    }
}

#[test]
fn no_match_crosses_finish_or_reset() {
    let mut out = String::new();
    let patterns = [StopRegex::compile("a.?b").unwrap()];
    let mut matcher = StopMatcher::new::<&str>(&[]).patterns(&patterns);
    assert_eq!(matcher.push("xa", &mut out), None);
    assert_eq!(out, "x");
    matcher.finish(&mut out);
    assert_eq!(matcher.push("b", &mut out), None);
    assert_eq!(out, "xab");
    assert_eq!(matcher.push_bytes(b"a"), None);
    matcher.reset();
    assert_eq!(matcher.push_bytes(b"b"), None);
    assert_eq!(matcher.push_bytes(b"a!b"), Some(0));
}

#[test]
fn a_clone_goes_its_own_way() {
    let mut out = String::new();
    let mut one = StopMatcher::new::<&str>(&[]).patterns(&[StopRegex::compile("a[bc]").unwrap()]);
    assert_eq!(one.push("a", &mut out), None);
    let mut other = one.clone();
    assert_eq!(other.push("xb", &mut out), None);
    assert_eq!(one.push("b", &mut out), Some(0));
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    let refused = |pattern: &str| StopRegex::compile(pattern).unwrap_err();
    for (pattern, what) in [
        ("ab(c", "unclosed group, at byte 2"),
        ("é[", "unclosed character class, at byte 2"),
        ("*", "repetition operator missing expression, at byte 0"),
        (r"(a)\1", "backreferences are not supported, at byte 3"),
        (r"\p{Nonsense}", "Unicode property not found, at byte 0"),
        (r"(?-u:\xff)", "pattern can match invalid UTF-8, at byte 5"),
    ] {
        let error = refused(pattern);
        assert_eq!(error, StopRegexError::Syntax(what.into()));
        assert_eq!(error.to_string(), format!("the pattern cannot be read: {what}"));
    }
    for (pattern, written) in [
        ("^a", r"^ or \A"),
        ("a$", r"$ or \z"),
        ("(?m)^a", "^"),
        ("(?mR)a$", "$"),
        (r"\ba", r"\b"),
        (r"(?-u:a\b)", r"\b"),
        (r"a(b|\B)", r"\B"),
        ("(?=a)b", "(?="),
        ("x(?<!a)b", "(?<!"),
    ] {
        assert_eq!(refused(pattern), StopRegexError::LookAround(written.into()), "{pattern}");
    }
    for pattern in ["", "a?", "a{0,3}|b", "(|a)", "[a&&b]", "a[a&&b]", "a{0}"] {
        assert_eq!(refused(pattern), StopRegexError::Empty, "{pattern}");
    }
    for pattern in
        ["a+", "ba*", "a{2,}", ".{1,65}", "(a{16}){17}", "(?:a{9}){9}{9}{9}{9}", "a{257}"]
    {
        assert_eq!(refused(pattern), StopRegexError::Unbounded, "{pattern}");
    }
    for pattern in ["a{256}", ".{1,64}", "(a{16}){16}", "é{128}", "(?:){0,}a", "([a&&b]+)?a"] {
        StopRegex::compile(pattern).unwrap();
    }
}

#[test]
fn what_would_cost_too_much_is_refused() {
    for pattern in [
        // Exponentially many ways to match.
        ".{0,20}a.{20}".to_owned(),
        "[ab]{0,60}a[ab]{20}c".to_owned(),
        // Many steps.
        format!("(?:a{}){{100}}", "|bc".repeat(60)),
        "a".repeat(StopRegex::MAX_PATTERN + 1),
    ] {
        assert_eq!(
            StopRegex::compile(&pattern).unwrap_err(),
            StopRegexError::TooLarge,
            "{pattern}"
        );
    }
    // Deep ones are refused before anything recurses on them.
    for pattern in ["(".repeat(200) + &")".repeat(200), "a".to_owned() + &"{1}".repeat(150)] {
        match StopRegex::compile(&pattern).unwrap_err() {
            StopRegexError::Syntax(what) => assert!(what.contains("within each other"), "{what}"),
            other => panic!("{other}"),
        }
    }
    // Large classes are cheap.
    for pattern in [r"\n\w{1,20}:", r"\w{1,64}", r"[^\p{L}]{1,60}x", r"(?i)\p{Greek}{1,60}:"] {
        StopRegex::compile(pattern).unwrap();
    }
}

#[test]
fn the_longest_match_is_found() {
    let pattern = [StopRegex::compile("[ab]{255}c").unwrap()];
    for letters in [255, 256, 1000] {
        let mut matcher = StopMatcher::new::<&str>(&[]).patterns(&pattern);
        let mut out = String::new();
        for _ in 0..letters {
            assert_eq!(matcher.push("a", &mut out), None);
        }
        assert_eq!(out.len(), letters - 255);
        assert_eq!(matcher.push("c", &mut out), Some(0));
        assert_eq!(out.len(), letters - 255);
    }
}
