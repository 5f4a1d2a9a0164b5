//! A vocabulary of single bytes and a few special tokens, and ways to drive a matcher with it.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "every test takes what it needs, and may fail"
)]

use std::sync::{Arc, OnceLock};

use overt_grammar::{
    Constraint, Factory, Limits, Matcher, Options, Refused, Vocabulary, source, words,
};

/// Special tokens, from id 256 on; the last ends the output.
pub(crate) const SPECIAL: [&str; 6] =
    ["<think>", "</think>", "<|call|>", "[TOOL_CALLS]", "<tool_call>", "<|end|>"];
pub(crate) const END: u32 = 256 + 5;

pub(crate) fn marker(spelling: &str) -> Option<u32> {
    (256..).zip(SPECIAL).find(|(_, special)| *special == spelling).map(|(id, _)| id)
}

pub(crate) fn factory() -> &'static Factory {
    static FACTORY: OnceLock<Factory> = OnceLock::new();
    FACTORY.get_or_init(|| {
        let bytes = (0..=255_u8).map(|byte| (vec![byte], None));
        let special = SPECIAL.iter().map(|spelling| (Vec::new(), Some((*spelling).to_owned())));
        let vocabulary = Vocabulary::new(bytes.chain(special), &[END]).unwrap();
        Factory::new(Arc::new(vocabulary), Limits::default()).unwrap()
    })
}

pub(crate) fn options() -> Options<'static> {
    Options { markers: &marker, ..Options::default() }
}

pub(crate) fn matcher(constraint: &Constraint, options: &Options<'_>) -> Matcher {
    let source = source(constraint, "field", options).unwrap();
    factory().compile(&source).unwrap_or_else(|error| panic!("{error}\n{}", source.lark))
}

pub(crate) fn refused(constraint: &Constraint) -> Refused {
    source(constraint, "field", &options()).unwrap_err()
}

/// Text as tokens: `<special>` spellings in double braces, such as `{{<think>}}`, everything else by bytes.
pub(crate) fn tokens(text: &str) -> Vec<u32> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{<").or_else(|| rest.find("{{[")) {
        out.extend(rest[..at].bytes().map(u32::from));
        let close = rest[at..].find("}}").unwrap() + at;
        out.push(marker(&rest[at + 2..close]).unwrap());
        rest = &rest[close + 2..];
    }
    out.extend(rest.bytes().map(u32::from));
    out
}

/// How a text fares: every token must be in the mask before it is accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Accepted, and the output may end here.
    Whole,
    /// Accepted, and more must come.
    Open,
    /// Not allowed from this token on.
    Out(usize),
}

pub(crate) fn fate(start: &Matcher, text: &str) -> Fate {
    let mut matcher = start.clone();
    let mut mask = vec![0; words(262)];
    for (at, token) in tokens(text).into_iter().enumerate() {
        matcher.fill(&mut mask).unwrap();
        let allowed = mask[token as usize / 32] >> (token % 32) & 1 == 1;
        let accepted = matcher.accept(token).is_ok();
        assert_eq!(allowed, accepted, "mask and accept disagree at {at} of {text:?}");
        if !accepted {
            return Fate::Out(at);
        }
    }
    matcher.fill(&mut mask).unwrap();
    let may_end = mask[END as usize / 32] >> (END % 32) & 1 == 1;
    assert_eq!(may_end, matcher.may_end().unwrap(), "{text:?}");
    if may_end { Fate::Whole } else { Fate::Open }
}

/// Asserts which texts a constraint accepts as a whole.
pub(crate) fn check(constraint: &Constraint, options: &Options<'_>, whole: &[&str], not: &[&str]) {
    let matcher = matcher(constraint, options);
    let lark = source(constraint, "field", options).unwrap().lark;
    for text in whole {
        assert_eq!(fate(&matcher, text), Fate::Whole, "{text:?} under\n{lark}");
    }
    for text in not {
        assert_ne!(fate(&matcher, text), Fate::Whole, "{text:?} under\n{lark}");
    }
}
