//! A pattern's syntax, reduced to what a matcher needs: sets of characters in order, choice, repetition.

use std::collections::HashMap;

use regex_syntax::hir::{Class, Hir, HirKind, Look};
use regex_syntax::{ParserBuilder, ast};

use super::{StopRegex, StopRegexError};

/// Parentheses and brackets within each other. All walks over a pattern recurse this deep or a little more.
const MAX_NESTING: u32 = 64;

/// Characters, as inclusive ranges in order, at least one.
pub(super) type Set = Vec<(char, char)>;

/// What a pattern matches. All of it can match: parts that match nothing at all are gone.
#[derive(Debug)]
pub(super) enum Node {
    Empty,
    /// One character of the set of this number.
    One(usize),
    Concat(Vec<Node>),
    Either(Vec<Node>),
    /// Between so many and so many times.
    Repeat(Box<Node>, u32, u32),
}

/// A node, and how many bytes its shortest and longest match have.
struct Sized {
    node: Node,
    min: usize,
    max: usize,
}

const EMPTY: Sized = Sized { node: Node::Empty, min: 0, max: 0 };

/// Reads a pattern whose matches have between 1 and `MAX_MATCH` bytes, and the sets that it names.
pub(super) fn read(pattern: &str) -> Result<(Node, Vec<Set>), StopRegexError> {
    let hir = ParserBuilder::new()
        .nest_limit(MAX_NESTING)
        .build()
        .parse(pattern)
        .map_err(|error| refusal(&error, pattern))?;
    let mut sets = Sets::default();
    match lower(&hir, &mut sets)? {
        Some(Sized { node, min: 1.., .. }) => Ok((node, sets.list)),
        _ => Err(StopRegexError::Empty),
    }
}

/// The parser's complaint in one line.
fn refusal(error: &regex_syntax::Error, pattern: &str) -> StopRegexError {
    let (what, span) = match error {
        regex_syntax::Error::Parse(error) => {
            let span = error.span();
            let what = match error.kind() {
                ast::ErrorKind::UnsupportedLookAround => {
                    let written = pattern.get(span.start.offset..span.end.offset);
                    return StopRegexError::LookAround(written.unwrap_or("(?=").to_owned());
                }
                ast::ErrorKind::NestLimitExceeded(limit) => format!(
                    "more than {limit} parentheses, brackets or repetitions stand within each other"
                ),
                kind => kind.to_string(),
            };
            (what, span)
        }
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), error.span()),
        _ => return StopRegexError::Syntax("it is no regular expression".to_owned()),
    };
    StopRegexError::Syntax(format!("{what}, at byte {}", span.start.offset))
}

/// The sets of a pattern, each once.
#[derive(Default)]
struct Sets {
    list: Vec<Set>,
    numbers: HashMap<Set, usize>,
}

impl Sets {
    /// One character of `set`; nothing when there is none in it.
    fn one(&mut self, set: Set) -> Option<Sized> {
        let (min, max) = (set.first()?.0.len_utf8(), set.last()?.1.len_utf8());
        let number = *self.numbers.entry(set).or_insert_with_key(|set| {
            self.list.push(set.clone());
            self.list.len() - 1
        });
        Some(Sized { node: Node::One(number), min, max })
    }
}

/// `None` for what matches nothing at all.
fn lower(hir: &Hir, sets: &mut Sets) -> Result<Option<Sized>, StopRegexError> {
    let lowered = match hir.kind() {
        HirKind::Empty => Some(EMPTY),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).map_err(|_| not_text())?;
            concat(text.chars().map(|c| Ok(sets.one(vec![(c, c)]))))?
        }
        HirKind::Class(Class::Unicode(class)) => {
            sets.one(class.ranges().iter().map(|range| (range.start(), range.end())).collect())
        }
        HirKind::Class(Class::Bytes(class)) => {
            if !class.is_ascii() {
                return Err(not_text());
            }
            let ranges = class.ranges().iter();
            sets.one(ranges.map(|range| (range.start().into(), range.end().into())).collect())
        }
        HirKind::Look(look) => {
            let written = match look {
                Look::Start => r"^ or \A",
                Look::End => r"$ or \z",
                Look::StartLF | Look::StartCRLF => "^",
                Look::EndLF | Look::EndCRLF => "$",
                Look::WordAsciiNegate | Look::WordUnicodeNegate => r"\B",
                _ => r"\b",
            };
            return Err(StopRegexError::LookAround(written.to_owned()));
        }
        HirKind::Capture(capture) => lower(&capture.sub, sets)?,
        HirKind::Concat(parts) => concat(parts.iter().map(|part| lower(part, sets)))?,
        HirKind::Alternation(parts) => {
            let mut nodes = Vec::new();
            let (mut min, mut max) = (usize::MAX, 0);
            for part in parts {
                let Some(part) = lower(part, sets)? else { continue };
                (min, max) = (min.min(part.min), max.max(part.max));
                nodes.push(part.node);
            }
            (!nodes.is_empty()).then_some(Sized { node: Node::Either(nodes), min, max })
        }
        HirKind::Repetition(repetition) => match lower(&repetition.sub, sets)? {
            None if repetition.min > 0 => None,
            // Only no repetition at all, or all the same whatever the count.
            None | Some(Sized { max: 0, .. }) => Some(EMPTY),
            Some(_) if repetition.max == Some(0) => Some(EMPTY),
            Some(sub) => {
                let most = repetition.max.ok_or(StopRegexError::Unbounded)?;
                Some(Sized {
                    node: Node::Repeat(Box::new(sub.node), repetition.min, most),
                    min: sub.min.saturating_mul(repetition.min as usize),
                    max: sub.max.saturating_mul(most as usize),
                })
            }
        },
    };
    match lowered {
        Some(Sized { max, .. }) if max > StopRegex::MAX_MATCH => Err(StopRegexError::Unbounded),
        lowered => Ok(lowered),
    }
}

/// One after the other; nothing if one of them matches nothing.
fn concat(
    parts: impl Iterator<Item = Result<Option<Sized>, StopRegexError>>,
) -> Result<Option<Sized>, StopRegexError> {
    let mut nodes = Vec::new();
    let (mut min, mut max) = (0usize, 0usize);
    let mut possible = true;
    for part in parts {
        let Some(part) = part? else {
            possible = false;
            continue;
        };
        (min, max) = (min.saturating_add(part.min), max.saturating_add(part.max));
        nodes.push(part.node);
    }
    Ok(possible.then_some(Sized { node: Node::Concat(nodes), min, max }))
}

fn not_text() -> StopRegexError {
    StopRegexError::Syntax("it can match bytes that are no UTF-8 text".to_owned())
}
