//! Encoding by segments, with and without a cache, against the whole.

use std::ops::Range;

use crate::kinds::{KINDS, Pair, Token, pair};
use overt_text::{EncodeCache, TextError, Tokenizer};
use proptest::prelude::*;

/// Some begin with others, overlap others, or are spelt with spaces.
const SPELLINGS: [&str; 12] =
    ["<s>", "</s>", "<|im|>", "<|im|>x", "<|", "|>", "<s><s>", " a", "  ", "hello", "É", "a<s"];

/// Of the spellings that do not overlap.
const APART: [&str; 6] = ["<s>", "</s>", "<|im|>", "[x]", "tok", "日本"];

fn tokens() -> impl Strategy<Value = Vec<Token>> {
    let flags = proptest::array::uniform5(any::<bool>());
    proptest::collection::vec((flags, any::<bool>()), SPELLINGS.len()).prop_map(|all| {
        let all = SPELLINGS.iter().zip(all).filter(|(_, (_, there))| *there);
        all.map(|(spelling, ([special, normalized, single_word, lstrip, rstrip], _))| Token {
            special,
            single_word,
            // Of spaces the normaliser may leave nothing, and they cannot be taken away at spaces.
            normalized: normalized && !spelling.starts_with(' '),
            lstrip: lstrip && (rstrip || *spelling != "  "),
            rstrip,
            ..Token::new(spelling, special)
        })
        .collect()
    })
}

/// Texts in which added tokens, their halves and spaces meet.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => proptest::sample::select(&SPELLINGS[..]).prop_map(str::to_owned),
        3 => proptest::sample::select(&APART[..]).prop_map(str::to_owned),
        4 => "[ ▁\n\t]{1,3}",
        4 => "[a-eloshx|<>/12é日 ]{0,6}",
        2 => Just("hello".to_owned()),
        1 => "\\PC{0,4}",
        1 => Just("e\u{301}\u{200d}😀".to_owned()),
    ];
    proptest::collection::vec(part, 0..10).prop_map(|parts| parts.concat())
}

/// Those that can be asked piece by piece: they do not look at where a piece stands.
fn kinds_by_pieces() -> Vec<&'static str> {
    let places = |kind: &str| kind.contains("first") || kind == "unigram, words of digits";
    KINDS.into_iter().filter(|kind| !places(kind)).collect()
}

fn ranges(text: &str, cuts: &[(usize, usize)]) -> Vec<Range<usize>> {
    let end = text.len() + 1;
    cuts.iter().map(|(from, len)| from % end..from % end + len).collect()
}

fn whole(pair: &Pair, text: &str) -> Vec<u32> {
    pair.theirs.encode_fast(text, false).unwrap().get_ids().to_vec()
}

/// Special tokens found outside of `plain`, and what is between them encoded without any.
fn by_hand(pair: &Pair, tokens: &[Token], text: &str, plain: &[Range<usize>]) -> Vec<u32> {
    let mut ids = Vec::new();
    let mut at = 0;
    let mut from = 0;
    while let Some((start, token)) =
        (from..text.len()).filter(|at| text.is_char_boundary(*at)).find_map(|at| {
            let found =
                tokens.iter().find(|token| token.special && text[at..].starts_with(token.spelling));
            found.map(|token| (at, token))
        })
    {
        let range = start..start + token.spelling.len();
        from = range.end;
        if plain.iter().any(|plain| plain.start < range.end && range.start < plain.end) {
            continue;
        }
        ids.extend(pair.plain.encode_fast(&text[at..start], false).unwrap().get_ids());
        ids.push(pair.theirs.token_to_id(token.spelling).unwrap());
        at = range.end;
    }
    ids.extend(pair.plain.encode_fast(&text[at..], false).unwrap().get_ids());
    ids
}

proptest! {
    // Some thirty of every kind.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(450)))]

    #[test]
    fn segments_are_the_whole(
        kind in proptest::sample::select(&KINDS[..]),
        tokens in tokens(),
        texts in proptest::collection::vec(text(), 6),
    ) {
        let cache = EncodeCache::default();
        let pair = pair(kind, &tokens);
        prop_assert!(pair.ours.segmented());
        for text in texts.iter().chain([&texts.concat()]) {
            let whole = whole(&pair, text);
            prop_assert_eq!(&pair.ours.encode(text, false).unwrap(), &whole, "{:?}", text);
            prop_assert_eq!(&pair.ours.encode_plain(text, &[], None).unwrap(), &whole, "{:?}", text);
            for _ in 0..2 {
                let cached = pair.ours.encode_cached(text, &cache).unwrap();
                prop_assert_eq!(&cached, &whole, "{:?}", text);
            }
        }
    }

    #[test]
    fn plain_is_what_is_left_without_special_tokens(
        kind in proptest::sample::select(kinds_by_pieces()),
        special in proptest::array::uniform6(any::<bool>()),
        texts in proptest::collection::vec(text(), 8),
        cuts in proptest::collection::vec((any::<usize>(), 1..6usize), 0..4),
    ) {
        let tokens: Vec<Token> =
            APART.iter().zip(special).map(|(spelling, special)| Token::new(spelling, special)).collect();
        let cache = EncodeCache::default();
        let pair = pair(kind, &tokens);
        for text in &texts {
            let plain = ranges(text, &cuts);
            let expected = by_hand(&pair, &tokens, text, &plain);
            for _ in 0..2 {
                let ids = pair.ours.encode_plain(text, &plain, Some(&cache)).unwrap();
                prop_assert_eq!(&ids, &expected, "{:?} without {:?}", text, plain);
            }
            let all = pair.ours.encode_plain(text, &[0..text.len()], Some(&cache)).unwrap();
            let theirs = pair.plain.encode_fast(text.as_str(), false).unwrap();
            prop_assert_eq!(all.as_slice(), theirs.get_ids());
        }
    }

    #[test]
    fn no_special_token_touches_plain_bytes(
        tokens in tokens(),
        text in text(),
        cuts in proptest::collection::vec((any::<usize>(), 1..6usize), 0..4),
    ) {
        // Spaces that are taken away are in no token, and the decoder takes the letter for a byte.
        let tokens: Vec<Token> = tokens
            .into_iter()
            .filter(|token| token.spelling != "É")
            .map(|token| Token { lstrip: false, rstrip: false, ..token }).collect();
        let pair = pair("bytes", &tokens);
        let plain = ranges(&text, &cuts);
        let ids = pair.ours.encode_plain(&text, &plain, None).unwrap();
        prop_assert_eq!(pair.ours.decode(&ids, false).unwrap(), text);
        let mut at = 0;
        for id in ids {
            let range = at..at + pair.ours.table().bytes(id).len();
            let touched = plain.iter().any(|plain| plain.start < range.end && range.start < plain.end);
            prop_assert!(!(touched && pair.ours.table().is_special(id)), "{:?} without {:?}", range, plain);
            at = range.end;
        }
    }
}

fn chat() -> Pair {
    let special = ["<|im|>", "<s>"].map(|spelling| Token::new(spelling, true));
    pair("bytes", &special)
}

#[test]
fn the_next_turn_costs_what_is_new() {
    let Pair { ours, .. } = chat();
    let cache = EncodeCache::default();
    let first = "<|im|>hello<|im|>hello hello\n<|im|>";
    assert_eq!(ours.encode_cached(first, &cache).unwrap(), ours.encode(first, false).unwrap());
    let before = cache.stats();
    assert_eq!((before.hits, before.misses, before.entries), (0, 2, 2));
    assert!(before.bytes > 2 * 100 && before.bytes < 2 * 300, "{before:?}");
    let second = format!("{first}what else?<|im|>");
    assert_eq!(ours.encode_cached(&second, &cache).unwrap(), ours.encode(&second, false).unwrap());
    let after = cache.stats();
    assert_eq!((after.hits, after.misses, after.entries), (2, 3, 3));
}

#[test]
fn a_cache_is_bounded_and_tells_tokenizers_apart() {
    let Pair { ours, .. } = chat();
    let other = pair("word pieces", &[]).ours;
    let again = chat().ours;
    let small = EncodeCache::new(16_384);
    let none = EncodeCache::new(0);
    for number in 0..400 {
        let text = format!("hello {number} <s>{number}");
        for tokenizer in [&ours, &other, &again] {
            let expected = tokenizer.encode(&text, false).unwrap();
            assert_eq!(tokenizer.encode_cached(&text, &small).unwrap(), expected);
            assert_eq!(tokenizer.encode_cached(&text, &none).unwrap(), expected);
        }
        assert!(small.stats().bytes <= 16_384, "{:?}", small.stats());
    }
    assert!(small.stats().entries > 20, "{:?}", small.stats());
    assert_eq!((none.stats().entries, none.stats().bytes), (0, 0));
}

#[test]
fn threads_share_a_cache() {
    let Pair { ours, .. } = chat();
    let cache = EncodeCache::new(32_768);
    let texts: Vec<String> = (0..200).map(|n| format!("hello {}<s>{n}<|im|>", n % 7)).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for text in &texts {
                    assert_eq!(
                        ours.encode_cached(text, &cache).unwrap(),
                        ours.encode(text, false).unwrap()
                    );
                }
            });
        }
    });
    let stats = cache.stats();
    assert_eq!(stats.hits + stats.misses, 4 * 200 * 2);
}

#[test]
fn a_special_token_is_found_beside_one_that_is_not_allowed() {
    let tokens = ["a<s>", "<s>", "<s><s>"].map(|spelling| Token::new(spelling, true));
    let Pair { ours, .. } = pair("bytes", &tokens);
    let id = |spelling: &str| ours.token_to_id(spelling).unwrap();
    let a = u32::from(b'a');
    let of = |text: &str, plain: &[Range<usize>]| ours.encode_plain(text, plain, None).unwrap();
    assert_eq!(of("a<s>", &[]), [id("a<s>")]);
    // The client wrote `a`, the template the token.
    assert_eq!(of("a<s>", &[0..1]), [a, id("<s>")]);
    // The longer one reaches into the client's text.
    assert_eq!(of("<s><s>", &[4..6]), [vec![id("<s>")], of("<s>", &[0..3])].concat());
    // Joined: neither half is the client's whole.
    assert_eq!(of("<s>", &[0..2]), of("<s>", &[0..3]));
    assert!(!of("<s>", &[2..3]).contains(&id("<s>")));
    assert_eq!(of("<s>", &[3..9, 0..0]), [id("<s>")]);
}

#[test]
fn what_the_normaliser_makes_special_is_plain_too() {
    let token = Token { normalized: true, ..Token::new("[X]", true) };
    let Pair { ours, .. } = pair("words, lower case", &[token]);
    let cache = EncodeCache::default();
    let special = ours.token_to_id("[X]").unwrap();
    let of =
        |text: &str, plain: &[Range<usize>]| ours.encode_plain(text, plain, Some(&cache)).unwrap();
    assert_eq!(of("a [X́] b", &[]), [0, special, 2]);
    assert_eq!(of("a [x] b", &[]), [0, special, 2]);
    assert!(!of("a [x] b", &[3..4]).contains(&special));
    assert!(!of("a [X́] b", &[6..7]).contains(&special));
    assert_eq!(of("a [x] b", &[0..2]), [0, special, 2]);
    assert_eq!(of("a [x] b", &[]), [0, special, 2]);
}

#[test]
fn what_the_model_makes_special_is_plain_too() {
    // Joined out of its halves, or a word of the vocabulary.
    for (kind, spelling) in [("bytes", "<|"), ("metaspace never", "▁<"), ("unigram", "hel")] {
        let Pair { ours, plain, .. } = pair(kind, &[Token::new(spelling, true)]);
        let special = ours.token_to_id(spelling).unwrap();
        let text = format!("x{spelling}lo{spelling}");
        let lets_through = plain.encode_fast(text.as_str(), false).unwrap();
        assert_eq!(lets_through.get_ids().iter().filter(|id| **id == special).count(), 2);
        let cache = EncodeCache::default();
        let first = 1..1 + spelling.len();
        for (range, left) in [(first.clone(), 1), (0..first.end, 1), (0..text.len(), 0)] {
            for _ in 0..2 {
                let ids =
                    ours.encode_plain(&text, std::slice::from_ref(&range), Some(&cache)).unwrap();
                let specials = ids.iter().filter(|id| **id == special).count();
                assert_eq!(specials, left, "{kind}: {ids:?} without {range:?}");
                let decoded = ours.decode(&ids, false).unwrap();
                assert_eq!(decoded.trim_start(), text.replace('▁', " "));
            }
        }
        assert_eq!(ours.encode_cached(&text, &cache).unwrap(), ours.encode(&text, false).unwrap());
    }
    // However often.
    let Pair { ours, .. } = pair("unigram", &[Token::new("hel", true)]);
    let often = "hel".repeat(20_000);
    let ids = ours.encode_plain(&often, &[0..often.len()], None).unwrap();
    assert!(ids.len() > 40_000 && !ids.contains(&ours.token_to_id("hel").unwrap()));
    // What stands for the unknown stays.
    let unknown = Token::new("<unk>", true);
    let Pair { ours, plain, .. } = pair("unigram", &[unknown]);
    let ids = ours.encode_plain("a☃", &[0..4], None).unwrap();
    assert_eq!(ids, plain.encode_fast("a☃", false).unwrap().get_ids());
    assert!(ids.contains(&0));
}

#[test]
fn added_tokens_that_no_text_survives_are_refused() {
    let blank = |flags: [bool; 3]| {
        let [normalized, lstrip, rstrip] = flags;
        Token { normalized, lstrip, rstrip, ..Token::new("  ", false) }
    };
    let greedy = Token { rstrip: true, ..Token::new("<s>", true) };
    let load = |kind, tokens: &[Token]| Tokenizer::from_bytes(&crate::kinds::file_of(kind, tokens));
    for (kind, tokens, words) in [
        ("metaspace first, stripped", vec![blank([true, false, false])], "nothing is left"),
        ("bytes", vec![greedy.clone(), blank([false, true, false])], "takes away the spaces"),
    ] {
        let error = load(kind, &tokens).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("\"  \""), "{error}");
    }
    // Each of them alone, or the spaces otherwise.
    for blank in [[true, false, false], [false, true, true], [false, false, false]].map(blank) {
        let Pair { ours, theirs, .. } = pair("bytes", &[greedy.clone(), blank]);
        assert!(ours.segmented());
        let text = "<s>     hello  <s>  ";
        let whole = theirs.encode_fast(text, false).unwrap();
        assert_eq!(ours.encode_plain(text, &[], None).unwrap(), whole.get_ids());
    }
}

#[test]
fn a_model_that_draws_lots_is_not_cached() {
    let mut file: serde_json::Value =
        serde_json::from_slice(include_bytes!("../../../../tests/fixtures/byte_tokenizer.json"))
            .unwrap();
    let load = |file: &serde_json::Value| -> Result<Tokenizer, TextError> {
        Tokenizer::from_bytes(&serde_json::to_vec(file).unwrap())
    };
    assert!(load(&file).unwrap().segmented());
    file["model"]["dropout"] = serde_json::json!(0.5);
    let tokenizer = load(&file).unwrap();
    assert!(!tokenizer.segmented());
    let cache = EncodeCache::default();
    let ids = tokenizer.encode_cached("hello", &cache).unwrap();
    assert_eq!(tokenizer.decode(&ids, false).unwrap(), "hello");
    assert_eq!(cache.stats().entries, 0);
}

#[test]
fn a_post_processor_that_writes_the_text_twice_is_encoded_whole() {
    let mut file: serde_json::Value =
        serde_json::from_slice(include_bytes!("../../../../tests/fixtures/byte_tokenizer.json"))
            .unwrap();
    let text = serde_json::json!({"Sequence": {"id": "A", "type_id": 0}});
    file["post_processor"] = serde_json::json!({"type": "TemplateProcessing", "single": [text, text],
        "pair": [text, {"Sequence": {"id": "B", "type_id": 0}}], "special_tokens": {}});
    let tokenizer = Tokenizer::from_bytes(&serde_json::to_vec(&file).unwrap()).unwrap();
    assert!(!tokenizer.segmented());
    let ids = tokenizer.encode_cached("ab", &EncodeCache::default()).unwrap();
    assert_eq!(tokenizer.decode(&ids, false).unwrap(), "abab");
}
