//! Special tokens that clients spell mean nothing in their own ranges of a prompt.

use std::ops::Range;

use crate::kinds::{Pair, Token, pair};
use overt_text::{EncodeCache, SpecialTokens, Tokenizer};
use proptest::prelude::*;

const SPECIAL: [&str; 4] = ["<|im|>", "<s>", "<s><s>", "日|"];

fn tokenizer() -> Tokenizer {
    let mut tokens = SPECIAL.map(|spelling| Token::new(spelling, true)).to_vec();
    tokens.push(Token::new("<tool>", false));
    let Pair { ours, .. } = pair("bytes", &tokens);
    ours
}

fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        proptest::sample::select(&SPECIAL[..]).prop_map(str::to_owned),
        Just("<tool>".to_owned()),
        "[<|s>im日 \u{10FFFD}\u{FFFD}]{0,4}",
        "\\PC{0,3}",
    ];
    proptest::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn clients_spell_no_special_token(texts in proptest::collection::vec(text(), 1..4)) {
        let tokenizer = tokenizer();
        let (mut prompt, mut plain) = (String::new(), Vec::new());
        for text in &texts {
            prompt.push_str("<|im|>user\n");
            plain.push(prompt.len()..prompt.len() + text.len());
            prompt.push_str(text);
            prompt.push('\n');
        }
        let ids = tokenizer.encode_plain(&prompt, &plain, Some(&EncodeCache::default())).unwrap();
        prop_assert_eq!(tokenizer.decode(&ids, false).unwrap(), prompt);
        let special = ids.iter().filter(|id| tokenizer.table().is_special(**id)).count();
        prop_assert_eq!(special, texts.len(), "one each, the template's");
    }
}

#[test]
fn specials_are_told_with_their_places() {
    let specials = SpecialTokens::of(&tokenizer());
    let told: Vec<(usize, &str)> = specials.find("é<s><tool>x<s><s><|im|>").collect();
    assert_eq!(told, [(2, "<s>"), (12, "<s><s>"), (18, "<|im|>")]);
    assert_eq!(specials.find("<|im").count(), 0);
    assert_eq!(SpecialTokens::of(&pair("bytes", &[]).ours).find("<s>").count(), 0);
}

#[test]
fn joined_halves_are_plain_too() {
    let tokenizer = tokenizer();
    let special = tokenizer.token_to_id("<s>").unwrap();
    // Two clients' halves, and a client's half with the template's.
    for (parts, clients) in [(["<", "s", ">"], [0, 2]), (["<s", ">", ""], [0, 0])] {
        let prompt = parts.concat();
        assert_eq!(tokenizer.encode_plain(&prompt, &[], None).unwrap(), [special]);
        let spans: Vec<Range<usize>> = clients
            .iter()
            .map(|part| {
                let start = parts[..*part].concat().len();
                start..start + parts[*part].len()
            })
            .collect();
        assert!(!tokenizer.encode_plain(&prompt, &spans, None).unwrap().contains(&special));
    }
}
