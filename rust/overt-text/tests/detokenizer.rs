//! Streams against the tokenizer's own decoder.

#![allow(clippy::unwrap_used)]

mod common;

use overt_text::{Detokenizer, Pushed, TextError, Tokenizer};
use proptest::prelude::*;

/// Appended text and shown specials, joined; what was said once the last token was in, in bytes held.
fn stream(mut detokenizer: Detokenizer, ids: &[u32], skip_special: bool) -> String {
    let mut out = String::new();
    for id in ids {
        if let Pushed::Special(spelling) = detokenizer.push(*id, &mut out)
            && !skip_special
        {
            out.push_str(spelling);
        }
    }
    detokenizer.finish(&mut out);
    out
}

fn equal(tokenizer: &Tokenizer, ids: &[u32], skip: bool) -> Result<(), TestCaseError> {
    let streamed = stream(Detokenizer::new(tokenizer, skip, &[]), ids, skip);
    prop_assert_eq!(streamed, tokenizer.decode(ids, skip).unwrap());
    Ok(())
}

/// Ids below `size` and a few that no token has; specials often enough to matter.
fn ids(size: u32) -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(
        prop_oneof![8 => 0..size, 2 => size - 6..size + 3, 1 => Just(u32::MAX)],
        0..40,
    )
}

/// Ids of byte-fallback runs that are whole characters, and of pieces.
fn valid_pieces() -> impl Strategy<Value = Vec<u32>> {
    let run = any::<char>().prop_map(|c| c.to_string().bytes().map(u32::from).collect::<Vec<_>>());
    let piece = (256u32..270).prop_map(|id| vec![id]);
    proptest::collection::vec(prop_oneof![run, piece], 0..20).prop_map(|runs| runs.concat())
}

proptest! {
    #[test]
    fn byte_level_equals_decoding(ids in ids(270), skip: bool) {
        equal(&common::byte_level(), &ids, skip)?;
    }

    #[test]
    fn pieces_equal_decoding(ids in valid_pieces(), strip: bool, skip: bool) {
        equal(&common::pieces(strip), &ids, skip)?;
    }

    #[test]
    fn lone_bytes_equal_decoding(bytes in proptest::collection::vec(0x80u32..0x100, 1..4), strip: bool) {
        // A run without a valid character: one U+FFFD a byte, both ways.
        let valid = bytes.iter().map(|byte| *byte as u8).collect::<Vec<_>>();
        prop_assume!(!String::from_utf8_lossy(&valid).chars().any(|c| c != char::REPLACEMENT_CHARACTER));
        let ids: Vec<u32> = [vec![258], bytes, vec![261]].concat();
        equal(&common::pieces(strip), &ids, false)?;
    }

    #[test]
    fn metaspace_equals_decoding(ids in ids(6), skip: bool) {
        equal(&common::metaspace(), &ids, skip)?;
    }

    #[test]
    fn other_decoders_equal_decoding(ids in proptest::collection::vec(0u32..5, 0..20), skip: bool) {
        equal(&common::word_pieces(), &ids, skip)?;
    }

    #[test]
    fn at_most_three_bytes_are_held(ids in proptest::collection::vec(0u32..265, 0..60)) {
        let tokenizer = common::byte_level();
        let mut detokenizer = Detokenizer::new(&tokenizer, true, &[]);
        let (mut out, mut bytes) = (String::new(), Vec::new());
        for id in ids {
            detokenizer.push(id, &mut out);
            bytes.extend_from_slice(tokenizer.table().bytes(id));
            let whole = String::from_utf8_lossy(&bytes).into_owned();
            // All but an unfinished end is out, and nothing that is out changes later.
            let shown = out.trim_end_matches(char::REPLACEMENT_CHARACTER).len();
            prop_assert!(whole.as_bytes().starts_with(&out.as_bytes()[..shown]));
            prop_assert!(whole.trim_end_matches(char::REPLACEMENT_CHARACTER).len() <= out.len());
        }
    }
}

#[test]
fn kinds_are_told_apart() {
    assert!(common::byte_level().exact());
    assert!(common::pieces(true).exact());
    assert!(common::pieces(false).exact());
    assert!(common::metaspace().exact());
    assert!(!common::word_pieces().exact());
    assert_eq!(common::word_pieces().table().bytes(1), b" world");
    assert_eq!(common::word_pieces().table().bytes(2), b"ing");
}

#[test]
fn a_prompt_before_keeps_the_leading_space() {
    for tokenizer in [common::pieces(true), common::metaspace()] {
        let hello = tokenizer.token_to_id("▁hello").unwrap();
        let said =
            |tail: &[u32]| stream(Detokenizer::new(&tokenizer, true, tail), &[hello, hello], true);
        assert_eq!(said(&[]), "hello hello");
        assert_eq!(said(&[hello]), " hello hello");
    }
    let tokenizer = common::word_pieces();
    assert_eq!(stream(Detokenizer::new(&tokenizer, true, &[0]), &[2, 1], true), "ing world");
}

#[test]
fn specials_are_told_apart_from_text() {
    let tokenizer = common::byte_level();
    let end = tokenizer.token_to_id("<|end|>").unwrap();
    let call = tokenizer.token_to_id("<tool_call>").unwrap();
    let mut out = String::new();
    let mut detokenizer = Detokenizer::new(&tokenizer, true, &[]);
    assert_eq!(detokenizer.push(end, &mut out), Pushed::Special("<|end|>"));
    assert_eq!(detokenizer.push(call, &mut out), Pushed::Text);
    assert_eq!(out, "<tool_call>");
    assert!(tokenizer.table().is_special(end) && !tokenizer.table().is_special(call));
    assert_eq!(tokenizer.table().spelling(call), "");
}

#[test]
fn a_cut_character_joins_across_a_skipped_special_or_ends_before_it() {
    let tokenizer = common::byte_level();
    let end = tokenizer.token_to_id("<|end|>").unwrap();
    let ids = [0xe2, end, 0x82, 0xac];
    let joined = Detokenizer::new(&tokenizer, true, &[]);
    assert_eq!(stream(joined.clone(), &ids, true), "€");
    let mut out = String::new();
    let mut flushed = joined.flush_at_specials(true);
    flushed.push(0xe2, &mut out);
    assert_eq!(out, "");
    flushed.push(end, &mut out);
    assert_eq!(out, "\u{fffd}");
}

#[test]
fn encoding_is_whole_and_knows_specials() {
    let tokenizer = common::byte_level();
    // The file asks for truncation to three tokens.
    let text = "say hello<|end|>é";
    let ids = tokenizer.encode(text, false).unwrap();
    assert!(ids.contains(&tokenizer.token_to_id("<|end|>").unwrap()));
    assert!(ids.contains(&tokenizer.token_to_id("Ġhello").unwrap()));
    assert_eq!(tokenizer.decode(&ids, false).unwrap(), text);
    assert_eq!(tokenizer.id_to_token(ids[3]).as_deref(), Some("Ġhello"));
    assert_eq!(tokenizer.vocab_size(), 270);
}

#[test]
fn broken_files_are_refused() {
    for bytes in [
        &b""[..],
        b"{",
        b"[]",
        b"{}",
        b"\xff",
        br#"{"decoder": 5}"#,
        br#"{"model": {"type": "BPE", "vocab": {}, "merges": []}, "added_tokens": []}"#,
        br#"{"decoder": {"type": "Sequence", "decoders": [{"type": "Strip", "content": " ", "start": 0, "stop": 1}]}}"#,
    ] {
        let error = Tokenizer::from_bytes(bytes).map(|_| ()).unwrap_err();
        assert!(matches!(error, TextError::Load(_)), "{error}");
    }
}

#[test]
fn a_real_tokenizer_equals_its_own_decoding() {
    let Ok(path) = std::env::var("OVERT_TEST_TOKENIZER") else {
        println!("OVERT_TEST_TOKENIZER names no tokenizer.json: nothing to compare with");
        return;
    };
    let tokenizer = Tokenizer::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    assert!(tokenizer.exact());
    let size = u32::try_from(tokenizer.vocab_size()).unwrap();
    proptest!(|(ids in proptest::collection::vec(0..size, 0..200), skip: bool)| {
        equal(&tokenizer, &ids, skip)?;
    });
}
