//! Vocabularies with gaps and doubles, kept grammars, and what may be shared between threads.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail")]

mod common;

use std::sync::Arc;

use common::{END, factory, matcher, options};
use overt_grammar::{
    Constraint, Factory, Limits, MatchError, Matcher, Options, Rule, Source, Vocabulary,
    VocabularyError, source, words,
};
use serde_json::json;

fn odd() -> Vocabulary {
    let tokens: Vec<(Vec<u8>, Option<String>)> = vec![
        (b"a".to_vec(), None),
        (b"b".to_vec(), None),
        (Vec::new(), None),                       // a gap
        (b"a".to_vec(), None),                    // as token 0
        (vec![0xff], None),                       // no text
        (vec![b'a'; 2000], None),                 // too long
        (Vec::new(), Some("<x>".to_owned())),     // special
        (b"</s>".to_vec(), None),                 // ends, though not marked special
        (Vec::new(), Some("<|end|>".to_owned())), // ends
    ];
    Vocabulary::new(tokens.into_iter(), &[7, 8]).unwrap()
}

#[test]
fn vocabularies_with_gaps_doubles_and_several_ends() {
    let vocabulary = Arc::new(odd());
    assert_eq!((vocabulary.size(), words(vocabulary.size()), words(32), words(33)), (9, 1, 1, 2));
    assert_eq!(
        (vocabulary.bytes(3), vocabulary.bytes(7), vocabulary.bytes(99)),
        (&b"a"[..], &b""[..], &b""[..])
    );
    let factory = Factory::new(Arc::clone(&vocabulary), Limits::default()).unwrap();
    let options =
        Options { markers: &|spelling| (spelling == "<x>").then_some(6), ..Options::default() };
    let rule = Rule::Seq(vec![Rule::pattern("[ab</s>]+"), Rule::marker("<x>")]);
    let mut matcher =
        factory.compile(&source(&Constraint::Rule(rule.into()), "f", &options).unwrap()).unwrap();
    // More words than needed: the rest becomes zero.
    let mut mask = [u32::MAX; 3];
    matcher.fill(&mut mask).unwrap();
    assert_eq!(mask, [0b1011, 0, 0]);
    assert_eq!(matcher.fill(&mut []), Err(MatchError::Mask { got: 0, needed: 1 }));
    assert_eq!(matcher.accept(6), Err(MatchError::Token(6)));
    assert_eq!(matcher.accept(8), Err(MatchError::Token(8)));
    assert_eq!(matcher.accept(1000), Err(MatchError::Token(1000)));
    matcher.accept(3).unwrap();
    matcher.fill(&mut mask).unwrap();
    assert_eq!(mask, [0b100_1011, 0, 0]);
    assert_eq!(matcher.validate(&[1, 0, 6, 2]).unwrap(), 3);
    assert_eq!((matcher.may_end().unwrap(), matcher.is_ended()), (false, false));
    matcher.accept(6).unwrap();
    matcher.fill(&mut mask).unwrap();
    assert_eq!(mask, [0b1_1000_0000, 0, 0]);
    assert!(matcher.is_ended() && matcher.forced().is_none());
    matcher.accept(8).unwrap();
    matcher.accept(7).unwrap();
    assert_eq!(matcher.accept(0), Err(MatchError::Token(0)));
}

#[test]
fn unusable_vocabularies_are_refused() {
    let tokens = || std::iter::once((b"a".to_vec(), None));
    assert_eq!(Vocabulary::new(std::iter::empty(), &[0]).unwrap_err(), VocabularyError::Size(0));
    assert_eq!(Vocabulary::new(tokens(), &[]).unwrap_err(), VocabularyError::NoEnd);
    assert_eq!(Vocabulary::new(tokens(), &[1]).unwrap_err(), VocabularyError::EndOutOfRange(1, 1));
}

#[test]
fn compiled_grammars_are_kept_within_bounds() {
    let vocabulary = Arc::new(odd());
    let factory =
        Factory::new(vocabulary, Limits { kept_grammars: 2, ..Limits::default() }).unwrap();
    let source = |text: &str| {
        source(&Constraint::Choice(vec![text.to_owned()]), "f", &Options::default()).unwrap()
    };
    for text in ["a", "b", "a", "ab", "ba", "a"] {
        let mut matcher = factory.compile(&source(text)).unwrap();
        assert_eq!(
            matcher.forced(),
            Some(u32::from(text.starts_with('b'))).filter(|_| text.starts_with('b'))
        );
        assert!(factory.kept() <= 2);
    }
    // What cannot be compiled is not kept.
    let kept = factory.kept();
    assert!(factory.compile(&source("xyz")).unwrap_err().message.contains("no text satisfies"));
    assert_eq!(factory.kept(), kept);
}

#[test]
fn clones_go_their_own_ways() {
    let mut one = matcher(&Constraint::Choice(vec!["ab".to_owned(), "cd".to_owned()]), &options());
    let mut other = one.clone();
    one.accept(u32::from(b'a')).unwrap();
    other.accept(u32::from(b'c')).unwrap();
    assert_eq!((one.forced(), other.forced()), (Some(u32::from(b'b')), Some(u32::from(b'd'))));
}

#[test]
fn factories_and_matchers_cross_threads() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<Factory>();
    shared::<Vocabulary>();
    shared::<Source>();
    sent::<Matcher>();
    let schema =
        Constraint::Json(json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    let source = source(&schema, "f", &options()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut matcher = factory().compile(&source).unwrap();
                let mut mask = vec![0; words(262)];
                for byte in b"{\"a\": \"text\"}" {
                    matcher.fill(&mut mask).unwrap();
                    matcher.accept(u32::from(*byte)).unwrap();
                }
                assert!(matcher.is_ended());
                matcher.accept(END).unwrap();
            });
        }
    });
}

#[test]
fn long_chains_of_rules_compile_or_are_refused() {
    // Each rule refers to the next: as deep as the compiler recurses.
    let chain: String =
        (0..1500).map(|n| format!("r{n} ::= \"(\" r{} \")\" | \"x\" root?\n", n + 1)).collect();
    let grammar = format!("root ::= r0\n{chain}r1500 ::= \"y\"");
    let large = source(&Constraint::Ebnf(grammar.clone()), "f", &options()).unwrap_err();
    assert!(
        large.message.contains("bytes") || large.message.contains("nested too deeply"),
        "{large}"
    );
    let lark: String = (0..5000).map(|n| format!("r{n}: \"(\" r{} \")\"\n", n + 1)).collect();
    let lark = Constraint::Lark(format!("start: r0\n{lark}r5000: \"y\" start?\n"));
    let source = source(&lark, "f", &options()).unwrap();
    let _ = factory().compile(&source).map(|mut matcher| matcher.may_end());
}
