//! Special tokens that clients spell: out of their texts, and back into the prompt.

use std::ops::Range;

use crate::kinds::{Pair, Token, pair};
use overt_text::{EncodeCache, Escaper, Tokenizer};
use proptest::prelude::*;

const SPECIAL: [&str; 4] = ["<|im|>", "<s>", "<s><s>", "日|"];

/// The characters that escaping takes, the first of them what quotes the others.
const SIGNS: [char; 5] = ['\u{F0000}', '\u{F0001}', '\u{F0002}', '\u{F0003}', '\u{F0004}'];

fn tokenizer() -> Tokenizer {
    let mut tokens = SPECIAL.map(|spelling| Token::new(spelling, true)).to_vec();
    tokens.push(Token::new("<tool>", false));
    let Pair { ours, .. } = pair("bytes", &tokens);
    ours
}

fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        proptest::sample::select(&SPECIAL[..]).prop_map(str::to_owned),
        proptest::sample::select(&SIGNS[..]).prop_map(String::from),
        Just("<tool>".to_owned()),
        "[<|s>im日 \u{10FFFD}\u{FFFD}]{0,4}",
        "\\PC{0,3}",
    ];
    proptest::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

/// `text` as a template would have it from a client.
fn escaped(escaper: &Escaper, text: &str) -> String {
    escaper.escape(text).unwrap_or_else(|| text.to_owned())
}

proptest! {
    #[test]
    fn texts_come_back_and_special_tokens_mean_nothing(texts in proptest::collection::vec(text(), 1..4)) {
        let tokenizer = tokenizer();
        let escaper = Escaper::new(&tokenizer, "<|im|>user\n");
        let mut prompt = String::new();
        let mut whole = String::new();
        for text in &texts {
            let escaped = escaped(&escaper, text);
            prop_assert!(SPECIAL.iter().all(|special| !escaped.contains(special)), "{:?}", escaped);
            prop_assert_eq!(escaper.spelled_specials(&escaped).count(), 0);
            prompt += &format!("<|im|>user\n{escaped}\n");
            whole += &format!("<|im|>user\n{text}\n");
        }
        let (restored, plain) = escaper.restore(&prompt);
        prop_assert_eq!(&restored, &whole);
        let spelled: Vec<&str> = plain.iter().map(|range| &restored[range.clone()]).collect();
        let expected: Vec<&str> = texts
            .iter()
            .flat_map(|text| escaper.spelled_specials(text).map(|(at, spelling)| &text[at..at + spelling.len()]))
            .collect();
        prop_assert_eq!(spelled, expected);
        let ids = tokenizer.encode_plain(&restored, &plain, Some(&EncodeCache::default())).unwrap();
        prop_assert_eq!(tokenizer.decode(&ids, false).unwrap(), whole);
        let special = ids.iter().filter(|id| tokenizer.table().is_special(**id)).count();
        prop_assert_eq!(special, texts.len(), "one each, the template's");
    }
}

#[test]
fn what_stays_as_it_is() {
    let escaper = Escaper::new(&tokenizer(), "");
    for text in ["", "hello", "<|im", "<tool>", "\u{10FFFD}", "日本"] {
        assert_eq!(escaper.escape(text), None, "{text}");
        assert_eq!(escaper.restore(text), (text.to_owned(), vec![]));
    }
    let none = Escaper::new(&pair("bytes", &[]).ours, "");
    let text: String = SIGNS.iter().cycle().take(12).collect();
    assert_eq!(none.escape(&text), None);
    assert_eq!(none.restore(&text), (text, vec![]));
}

#[test]
fn each_special_token_has_a_character_of_its_own() {
    let escaper = Escaper::new(&tokenizer(), "");
    let escaped = escaper.escape("a<s>b<s><s>c<|im|>日||").unwrap();
    assert_eq!(escaped, "a\u{F0001}b\u{F0002}c\u{F0003}\u{F0004}|");
    let (text, ranges) = escaper.restore(&escaped);
    assert_eq!(text, "a<s>b<s><s>c<|im|>日||");
    assert_eq!(ranges, [1..4, 5..11, 12..18, 18..22]);
    // A template that cuts behind a quote.
    assert_eq!(escaper.restore("\u{F0000}"), ("\u{F0000}".to_owned(), vec![]));
    assert_eq!(escaper.restore("\u{F0000}a"), ("\u{F0000}a".to_owned(), vec![]));
}

#[test]
fn characters_of_the_vocabulary_and_the_template_are_avoided() {
    let tokens = [Token::new("<s>", true), Token::new("\u{F0001}x", false)];
    let Pair { ours, .. } = pair("bytes", &tokens);
    let escaper = Escaper::new(&ours, "{{ '\u{F0000}' }}");
    assert_eq!(escaper.escape("<s>").as_deref(), Some("\u{F0003}"));
    assert_eq!(escaper.escape("\u{F0000}\u{F0001}"), None);
    assert_eq!(escaper.restore("\u{F0000}\u{F0001}").0, "\u{F0000}\u{F0001}");
}

#[test]
fn specials_are_told_with_their_places() {
    let escaper = Escaper::new(&tokenizer(), "");
    let told: Vec<(usize, &str)> = escaper.spelled_specials("é<s><tool>\u{F0002}<|im|>").collect();
    assert_eq!(told, [(2, "<s>"), (15, "<|im|>")]);
}

#[test]
fn all_that_clients_wrote_covers_what_is_joined() {
    let tokenizer = tokenizer();
    let escaper = Escaper::new(&tokenizer, "");
    let special = tokenizer.token_to_id("<s>").unwrap();
    // Two clients' halves, and a client's half with the template's.
    for (parts, clients) in [(["<", "s", ">"], [0, 2]), (["<s", ">", ""], [0, 0])] {
        let prompt = parts.concat();
        assert!(parts.iter().all(|part| escaper.escape(part).is_none()));
        let (restored, found) = escaper.restore(&prompt);
        assert_eq!(tokenizer.encode_plain(&restored, &found, None).unwrap(), [special]);
        let spans: Vec<Range<usize>> = clients
            .iter()
            .map(|part| {
                let start = parts[..*part].concat().len();
                start..start + parts[*part].len()
            })
            .collect();
        assert!(!tokenizer.encode_plain(&restored, &spans, None).unwrap().contains(&special));
    }
}
