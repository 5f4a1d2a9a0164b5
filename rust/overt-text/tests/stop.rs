//! Stop matching against a search of the whole text.

#![allow(clippy::unwrap_used)]

mod common {
    pub(crate) mod cuts;
}

use common::cuts::{certain, cut};
use overt_text::StopMatcher;
use proptest::prelude::*;

/// The match that ends first, then the longest, then the first in the list: its start, end and index.
fn search(text: &str, stops: &[String]) -> Option<(usize, usize, usize)> {
    (1..=text.len()).filter(|end| text.is_char_boundary(*end)).find_map(|end| {
        let matching = stops
            .iter()
            .enumerate()
            .filter(|(_, stop)| !stop.is_empty() && text[..end].ends_with(stop.as_str()));
        let (index, stop) =
            matching.min_by_key(|(index, stop)| (std::cmp::Reverse(stop.len()), *index))?;
        Some((end - stop.len(), end, index))
    })
}

/// The longest end of `text` that begins a stop.
fn held(text: &str, stops: &[String]) -> usize {
    (0..text.len())
        .filter(|start| text.is_char_boundary(*start))
        .find(|start| stops.iter().any(|stop| stop.starts_with(&text[*start..])))
        .map_or(0, |start| text.len() - start)
}

/// Text of few letters, some of them several bytes long, so that matches and near matches are common.
fn text(max: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![Just('a'), Just('b'), Just('é'), Just('è'), Just('😀'), Just('\u{fffd}')],
        0..max,
    )
    .prop_map(|chars| chars.into_iter().collect())
}

fn stops() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(text(5), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(2000)))]

    #[test]
    fn equals_a_search_however_cut(
        text in text(30), stops in stops(), cuts in proptest::collection::vec(0usize..5, 0..12), include: bool,
    ) {
        let mut matcher = StopMatcher::new(&stops).include_stop(include);
        let (mut out, mut read, mut found) = (String::new(), String::new(), None);
        for piece in cut(&text, &cuts) {
            let before = found;
            found = found.or(matcher.push(piece, &mut out));
            read.push_str(piece);
            if found.is_none() {
                prop_assert_eq!(&out, &read[..read.len() - held(&read, &stops)]);
            }
            // Found with the piece that completes it, not later.
            prop_assert_eq!(found.is_some(), search(&read, &stops).is_some());
            prop_assert!(before.is_none() || found == before);
        }
        matcher.finish(&mut out);
        match search(&text, &stops) {
            None => prop_assert_eq!(out, text),
            Some((start, end, index)) => {
                prop_assert_eq!(found, Some(index));
                prop_assert_eq!(out, &text[..if include { end } else { start }]);
            }
        }
    }

    #[test]
    fn bytes_find_the_same_at_the_same_token(
        text in text(30), stops in stops(), cuts in proptest::collection::vec(1usize..6, 0..20),
        noise in proptest::collection::vec((0usize..60, 0x80u8..), 0..3),
    ) {
        let mut bytes = text.into_bytes();
        for (at, byte) in noise {
            bytes.insert(at.min(bytes.len()), byte);
        }
        // Tokens cut characters anywhere; text is what lossy decoding has for certain after each.
        let (mut on_bytes, mut on_text) = (StopMatcher::new(&stops), StopMatcher::new(&stops));
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
    }
}

#[test]
fn what_follows_a_match_is_swallowed() {
    let mut matcher = StopMatcher::new(&["END"]);
    let mut out = String::new();
    assert_eq!(matcher.push("a E", &mut out), None);
    assert_eq!(out, "a ");
    assert_eq!(matcher.push("ND b END", &mut out), Some(0));
    assert_eq!(matcher.push("END", &mut out), None);
    matcher.finish(&mut out);
    assert_eq!(out, "a ");
}

#[test]
fn no_stop_crosses_finish_or_reset() {
    let mut out = String::new();
    let mut matcher = StopMatcher::new(&["ab"]);
    assert_eq!(matcher.push("xa", &mut out), None);
    matcher.finish(&mut out);
    assert_eq!(matcher.push("b", &mut out), None);
    assert_eq!(out, "xab");
    assert_eq!(matcher.push_bytes(b"a"), None);
    matcher.reset();
    assert_eq!(matcher.push_bytes(b"b"), None);
    assert_eq!(matcher.push_bytes(b"ab"), Some(0));
}

#[test]
fn a_clone_goes_its_own_way() {
    let mut out = String::new();
    let mut one = StopMatcher::new(&["ab"]);
    let mut other = one.clone();
    assert_eq!(one.push("a", &mut out), None);
    assert_eq!(other.push("b", &mut out), None);
    assert_eq!(one.push("b", &mut out), Some(0));
}
