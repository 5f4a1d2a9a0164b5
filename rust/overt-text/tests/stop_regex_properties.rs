//! Stop patterns against the list of all that they match, and against a search by another engine.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common {
    pub(crate) mod cuts;
}

use std::collections::BTreeSet;
use std::ops::Bound;

use common::cuts::{certain, cut};
use overt_text::{StopMatcher, StopRegex, StopRegexError};
use proptest::prelude::*;
use proptest::sample::Index;

/// A small pattern, of which all that it matches can be listed.
#[derive(Debug, Clone)]
enum Pattern {
    Text(String),
    AnyOf(Vec<char>),
    Concat(Vec<Pattern>),
    Either(Vec<Pattern>),
    Repeat(Box<Pattern>, usize, usize),
}

type Language = BTreeSet<String>;

impl Pattern {
    fn written(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            // Of no characters: what matches nothing.
            Self::AnyOf(chars) if chars.is_empty() => r"[a&&b]".to_owned(),
            Self::AnyOf(chars) => format!("[{}]", chars.iter().collect::<String>()),
            Self::Concat(parts) => parts.iter().map(Self::written).collect(),
            Self::Either(parts) => {
                format!("({})", parts.iter().map(Self::written).collect::<Vec<_>>().join("|"))
            }
            Self::Repeat(part, least, most) => format!("(?:{}){{{least},{most}}}", part.written()),
        }
    }

    /// Bytes of the longest text that it or a part of it could match by its shape alone.
    fn longest(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::AnyOf(_) => char::MAX.len_utf8(),
            Self::Concat(parts) => parts.iter().map(Self::longest).sum(),
            Self::Either(parts) => parts.iter().map(Self::longest).max().unwrap_or(0),
            Self::Repeat(part, _, most) => part.longest() * (*most).max(1),
        }
    }

    /// All that it matches; `None` for more than a few.
    fn language(&self) -> Option<Language> {
        fn concat(one: &Language, other: &Language) -> Option<Language> {
            (one.len() * other.len() <= 400).then(|| {
                one.iter().flat_map(|a| other.iter().map(move |b| format!("{a}{b}"))).collect()
            })
        }
        let empty = || Language::from([String::new()]);
        match self {
            Self::Text(text) => Some(Language::from([text.clone()])),
            Self::AnyOf(chars) => Some(chars.iter().map(char::to_string).collect()),
            Self::Concat(parts) => {
                parts.iter().try_fold(empty(), |so_far, part| concat(&so_far, &part.language()?))
            }
            Self::Either(parts) => parts.iter().try_fold(Language::new(), |mut so_far, part| {
                so_far.extend(part.language()?);
                Some(so_far)
            }),
            Self::Repeat(part, least, most) => {
                let part = part.language()?;
                let (mut all, mut power) = (Language::new(), empty());
                for count in 0..=*most {
                    if count >= *least {
                        all.extend(power.iter().cloned());
                    }
                    power = concat(&power, &part)?;
                }
                Some(all)
            }
        }
    }
}

/// Letters of one to four bytes, and what stands for bytes that are no text.
fn letter() -> impl Strategy<Value = char> {
    prop_oneof![Just('a'), Just('b'), Just('é'), Just('è'), Just('😀'), Just('\u{fffd}')]
}

fn text(max: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(letter(), 0..max).prop_map(|chars| chars.into_iter().collect())
}

fn pattern() -> impl Strategy<Value = (Pattern, Language)> {
    let leaf = prop_oneof![
        text(4).prop_map(Pattern::Text),
        prop::collection::vec(letter(), 0..4).prop_map(Pattern::AnyOf),
    ];
    let tree = leaf.prop_recursive(3, 10, 3, |part| {
        prop_oneof![
            prop::collection::vec(part.clone(), 0..4).prop_map(Pattern::Concat),
            prop::collection::vec(part.clone(), 1..4).prop_map(Pattern::Either),
            (part, 0..3usize, 0..3usize).prop_map(|(part, least, more)| Pattern::Repeat(
                part.into(),
                least,
                least + more
            )),
        ]
    });
    tree.prop_filter_map("matches too much", |pattern| {
        let language = pattern.language()?;
        Some((pattern, language))
    })
}

/// Patterns that can end a choice, each with what it matches.
fn patterns() -> impl Strategy<Value = Vec<(StopRegex, Language)>> {
    let usable = pattern().prop_filter_map("cannot end a choice", |(pattern, language)| {
        let usable = !language.contains("")
            && !language.is_empty()
            && pattern.longest() <= StopRegex::MAX_MATCH
            && pattern.written().len() <= StopRegex::MAX_PATTERN;
        usable.then(|| (StopRegex::compile(&pattern.written()).unwrap(), language))
    });
    prop::collection::vec(usable, 1..4)
}

/// Text in which matches and near matches are common: letters and pieces of what `languages` match.
fn mixed(languages: &[&Language], parts: &[(Option<(Index, usize)>, String)]) -> String {
    let words: Vec<&String> = languages.iter().copied().flatten().collect();
    let mut text = String::new();
    for (word, letters) in parts {
        text.push_str(letters);
        if let Some((word, length)) = word {
            text.extend(word.get(&words).chars().take(*length));
        }
    }
    text
}

fn parts() -> impl Strategy<Value = Vec<(Option<(Index, usize)>, String)>> {
    prop::collection::vec((prop::option::of((any::<Index>(), 0..5usize)), text(3)), 0..8)
}

/// The match that ends first, then the one that starts first, then the first in the list: its start, end
/// and index.
fn search(
    text: &str,
    strings: &[String],
    languages: &[&Language],
) -> Option<(usize, usize, usize)> {
    let at = |from: usize| (from..=text.len()).filter(|at| text.is_char_boundary(*at));
    at(1).find_map(|end| {
        let start_and_index = at(0).take_while(|start| *start < end).find_map(|start| {
            let piece = &text[start..end];
            let of_strings = strings.iter().map(|stop| stop == piece);
            let all = of_strings.chain(languages.iter().map(|language| language.contains(piece)));
            let index = all.into_iter().position(|matches| matches)?;
            Some((start, index))
        });
        start_and_index.map(|(start, index)| (start, end, index))
    })
}

/// The longest end of `text` that begins a match.
fn held(text: &str, strings: &[String], languages: &[&Language]) -> usize {
    let begins = |piece: &str| {
        let from = (Bound::Included(piece), Bound::Unbounded);
        strings.iter().any(|stop| stop.starts_with(piece))
            || languages.iter().any(|language| {
                language.range::<str, _>(from).next().is_some_and(|word| word.starts_with(piece))
            })
    };
    (0..text.len())
        .filter(|start| text.is_char_boundary(*start))
        .find(|start| begins(&text[*start..]))
        .map_or(0, |start| text.len() - start)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(2000)))]

    #[test]
    fn what_can_match_nothing_is_refused((pattern, language) in pattern()) {
        let compiled = StopRegex::compile(&pattern.written());
        if language.is_empty() || language.contains("") {
            prop_assert_eq!(compiled.unwrap_err(), StopRegexError::Empty);
        } else {
            let compiled = compiled.unwrap();
            prop_assert_eq!(compiled.pattern(), pattern.written());
        }
    }

    #[test]
    fn equals_a_search_however_cut(
        patterns in patterns(), strings in prop::collection::vec(text(5), 0..3), parts in parts(),
        cuts in prop::collection::vec(0usize..5, 0..12), include: bool,
    ) {
        let (regexes, languages): (Vec<_>, Vec<_>) = patterns.into_iter().unzip();
        let languages: Vec<_> = languages.iter().collect();
        let text = mixed(&languages, &parts);
        let mut matcher = StopMatcher::new(&strings).patterns(&regexes).include_stop(include);
        let (mut out, mut read, mut found) = (String::new(), String::new(), None);
        for piece in cut(&text, &cuts) {
            let before = found;
            found = found.or(matcher.push(piece, &mut out));
            read.push_str(piece);
            if found.is_none() {
                let held = held(&read, &strings, &languages);
                prop_assert_eq!(&out, &read[..read.len() - held]);
            }
            // Found with the piece that completes it, not later.
            prop_assert_eq!(found.is_some(), search(&read, &strings, &languages).is_some());
            prop_assert!(before.is_none() || found == before);
        }
        matcher.finish(&mut out);
        match search(&text, &strings, &languages) {
            None => prop_assert_eq!(out, text),
            Some((start, end, index)) => {
                prop_assert_eq!(found, Some(index));
                prop_assert_eq!(out, &text[..if include { end } else { start }]);
            }
        }
    }

    #[test]
    fn bytes_find_the_same_at_the_same_token(
        patterns in patterns(), strings in prop::collection::vec(text(5), 0..3), parts in parts(),
        cuts in prop::collection::vec(1usize..6, 0..20),
        noise in prop::collection::vec((0usize..60, 0x80u8..), 0..3),
    ) {
        let (regexes, languages): (Vec<_>, Vec<_>) = patterns.into_iter().unzip();
        let languages: Vec<_> = languages.iter().collect();
        let mut bytes = mixed(&languages, &parts).into_bytes();
        for (at, byte) in noise {
            bytes.insert(at.min(bytes.len()), byte);
        }
        // Tokens cut characters anywhere; text is what lossy decoding has for certain after each.
        let mut on_bytes = StopMatcher::new(&strings).patterns(&regexes);
        let mut on_text = on_bytes.clone();
        let (mut rest, mut read, mut said) = (bytes.as_slice(), Vec::new(), 0);
        let mut out = String::new();
        for size in cuts.into_iter().chain([usize::MAX]) {
            let (token, later) = rest.split_at(size.min(rest.len()));
            rest = later;
            read.extend_from_slice(token);
            let certain = certain(&read);
            let new = &certain[said..];
            said = certain.len();
            prop_assert_eq!(on_bytes.push_bytes(token), on_text.push(new, &mut out));
        }
        let text = certain(&bytes);
        if let Some((start, ..)) = search(&text, &strings, &languages) {
            prop_assert_eq!(out, &text[..start]);
        }
    }

    /// Classes, flags and escapes mean what they mean elsewhere.
    #[test]
    fn equals_a_search_by_another_engine(
        number in 0..SYNTAX.len(),
        text in "[a-cA-C0-2_ \\n\\t.:\u{e9}\u{c9}\u{df}\u{17f}\u{212a}sSkK\u{661}\u{4e2d}\u{1f600}\u{2028}\u{300}-]{0,24}",
        cuts in prop::collection::vec(0usize..5, 0..8),
    ) {
        let pattern = SYNTAX[number];
        let whole = regex::Regex::new(&format!(r"\A(?:{pattern})\z")).unwrap();
        let mut matcher = StopMatcher::new::<&str>(&[]).patterns(&[StopRegex::compile(pattern).unwrap()]);
        let mut out = String::new();
        let mut found = None;
        for piece in cut(&text, &cuts) {
            found = found.or(matcher.push(piece, &mut out));
        }
        matcher.finish(&mut out);
        let at = |from: usize, to: usize| (from..=to).filter(|at| text.is_char_boundary(*at));
        let expected = at(0, text.len())
            .find_map(|end| at(0, end).find(|start| whole.is_match(&text[*start..end])));
        prop_assert_eq!(found, expected.map(|_| 0));
        prop_assert_eq!(&out, &text[..expected.unwrap_or(text.len())]);
    }
}

const SYNTAX: &[&str] = &[
    r".{2}b",
    r"(?s)\n.",
    r"\w{1,5}:",
    r"\W\d{1,3}",
    r"(?-u:\w{1,5}):",
    r"(?-u:\d)\d",
    r"(?i)sk|k[é]",
    r"(?i-u)k[ab]s?c",
    r"[^a-c\n]{2,4}[[:digit:]]",
    r"\p{Lu}\p{Ll}{1,3}?",
    r"\P{L}\s{1,2}",
    r"(?x) a \x20 b",
    r"[\w--a]\u{e9}",
    r"(?P<name>a|ab)(c|bcc){1,2}",
    r"(a{0,3}b){2}|\x{1F600}",
    r"\n{2,5}",
    r"a??b{1,2}?-",
    r"[\p{Han}&&\p{L}]|\.{2}",
    r"(?:(?:a|b)?c){1,3}(?:a[a&&b]|_)",
];

proptest! {
    /// Whatever a client sends is an answer, not a panic.
    #[test]
    fn any_pattern_compiles_or_is_refused(
        pattern in prop_oneof![any::<String>(), "[ab|()?*+{}\\[\\]\\\\0-9,^$.&~:iuxs-]{0,24}"],
        text in text(20),
    ) {
        if let Ok(pattern) = StopRegex::compile(&pattern) {
            let mut out = String::new();
            let mut matcher = StopMatcher::new::<&str>(&[]).patterns(&[pattern]).include_stop(true);
            let found = matcher.push(&text, &mut out);
            matcher.finish(&mut out);
            prop_assert!(text.starts_with(&out));
            prop_assert!(found.is_some() || out == text);
        }
    }
}
