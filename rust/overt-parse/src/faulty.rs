//! A format whose reader panics, for tests of those who must survive one. It is in no registry.

use overt_rule::{Grammar, Rule};

use crate::core::input::Input;
use crate::format::{Dialect, Reader, Reading, Said};
use crate::{Format, Ids, Many, Tool, Written};

/// Read under the name `faulty` once it is [registered](crate::register).
pub static FORMAT: Format = Format {
    name: "faulty",
    tool_names: &["faulty"],
    reasoning_names: &[],
    thinking: None,
    calls: Some(&Faulty),
    // What is framed is read by the dialect from the first byte on.
    framed: true,
    answer: None,
    ids: Ids::Plain,
    tokens: &[],
    signs: &[],
};

/// The byte at which the reader panics.
pub const FAULT: char = '\u{7}';

#[derive(Debug)]
struct Faulty;

impl Dialect for Faulty {
    fn engine(&self) -> &'static str {
        "faulty"
    }

    fn reader(&self, _: &Reading) -> Box<dyn Reader> {
        Box::new(Self)
    }

    fn openers(&self) -> &[&'static str] {
        &[]
    }

    fn write(&self, _: &[Written<'_>], _: &mut String) {}

    fn grammar(&self, _: &[&Tool], _: Many) -> Grammar {
        Rule::text("").into()
    }
}

impl Reader for Faulty {
    fn read(&mut self, input: &mut Input, said: &mut Said<'_>) {
        let text = input.rest().to_owned();
        assert!(!text.contains(FAULT), "a parser's fault");
        input.take(text.len());
        said.text(&text, false);
    }

    fn is_idle(&self) -> bool {
        true
    }
}
