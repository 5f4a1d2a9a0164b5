//! Which bytes of the text each token stands for.

use crate::kinds::{KINDS, Token, pair};
use proptest::prelude::*;

/// The text of each token's range.
fn spans<'a>(kind: &str, text: &'a str, add_special: bool) -> Vec<(u32, &'a str)> {
    let ours = pair(kind, &[Token::new("<s>", true)]).ours;
    let (ids, offsets) = ours.encode_offsets(text, add_special).unwrap();
    assert_eq!(ids, ours.encode(text, add_special).unwrap());
    ids.into_iter().zip(offsets.iter().map(|(start, end)| &text[*start..*end])).collect()
}

fn parts<'a>(kind: &str, text: &'a str) -> Vec<&'a str> {
    spans(kind, text, false).into_iter().map(|span| span.1).collect()
}

#[test]
fn a_character_of_several_tokens_is_in_each() {
    let text = "é日😀<s>😀";
    assert_eq!(
        parts("bytes", text),
        ["é", "日", "日", "日", "😀", "😀", "😀", "<s>", "😀", "😀", "😀"]
    );
    assert_eq!(parts("metaspace never", "a😀"), ["a", "😀", "😀", "😀", "😀"]);
}

#[test]
fn spaces_belong_to_the_text() {
    // Trimmed by the post-processor, or not.
    assert_eq!(parts("bytes", "x hello  x"), ["x", "hello", "", "", "x"]);
    assert_eq!(parts("bytes, in the normaliser", "x hello"), ["x", " hello"]);
    assert_eq!(parts("metaspace always", "x hello"), ["x", "x", " hello"]);
    assert_eq!(parts("prepend and replace", "hello a"), ["hello", " a"]);
    assert_eq!(parts("word pieces", "  Hello  日x"), ["Hello", "日", "x"]);
}

#[test]
fn tokens_that_are_added_are_empty_where_they_stand() {
    let ours = pair("word pieces", &[]).ours;
    assert_eq!(ours.encode_offsets(" hello  ", true).unwrap().1, [(0, 0), (1, 6), (8, 8)]);
    assert_eq!(ours.encode_offsets("", true).unwrap(), (vec![0, 1], vec![(0, 0), (0, 0)]));
    assert_eq!(ours.encode_offsets("", false).unwrap(), (vec![], vec![]));
    // One that the text spells is the text's.
    let ours = pair("metaspace first", &[Token::new("<s>", true)]).ours;
    assert_eq!(ours.encode_offsets("<s>a", true).unwrap().1, [(0, 0), (0, 3), (3, 4), (4, 4)]);
}

#[test]
fn spaces_of_several_bytes_are_trimmed_whole() {
    let ours = pair("bytes", &[Token::new("\u{3000}<t>\u{3000}\u{2003}", true)]).ours;
    let (ids, offsets) = ours.encode_offsets("é\u{3000}<t>\u{3000}\u{2003}a", false).unwrap();
    assert_eq!((ids.len(), offsets), (3, vec![(0, 2), (5, 8), (14, 15)]));
}

proptest! {
    #[test]
    fn ranges_are_whole_characters_in_order(
        kind in proptest::sample::select(&KINDS[..]),
        text in "([a-eé日😀 ▁\t\n12]|<s>|hello|e\u{301}|ﬁ){0,12}",
        add_special: bool,
    ) {
        let tokens = [Token::new("<s>", true), Token { lstrip: true, rstrip: true, ..Token::new("hello", false) }];
        let ours = pair(kind, &tokens).ours;
        let (ids, offsets) = ours.encode_offsets(&text, add_special).unwrap();
        prop_assert_eq!(&ids, &ours.encode(&text, add_special).unwrap());
        prop_assert_eq!(ids.len(), offsets.len());
        let mut last = 0;
        for (start, end) in offsets {
            prop_assert!(start <= end && last <= end, "{}: {:?}", kind, (last, start, end));
            prop_assert!(text.get(start..end).is_some(), "{}: {:?} of {:?}", kind, (start, end), text);
            last = end;
        }
    }
}
