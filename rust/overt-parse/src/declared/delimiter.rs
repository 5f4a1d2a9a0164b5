//! Where a declared region opens or closes: fixed texts, or a regular expression that is matched as the output comes.
//!
//! A pattern is stepped byte by byte and keeps its threads between pieces, so that no byte is read twice for one
//! candidate. An end-of-text assertion in it says only that the region may last to the output's end, which every
//! region may. Look-around, word boundaries and start-of-text assertions look at what a stream no longer has: they
//! are refused.

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// No delimiter is longer.
const LIMIT: usize = 4096;

/// What opens or closes a region.
#[derive(Debug)]
pub(super) struct Delimiter {
    nfa: NFA,
    /// Its syntax, from which examples are written.
    pub(super) hir: Hir,
    /// Bytes it may begin with.
    pub(super) first: [bool; 256],
    /// Finds the named groups of a text that was matched; none where it has none.
    groups: Option<regex::Regex>,
    /// White space before it belongs to it.
    pub(super) blank: bool,
    /// The fixed texts it was made of.
    pub(super) literals: Vec<String>,
}

impl Delimiter {
    /// One of `literals`.
    pub(super) fn literals(literals: Vec<String>) -> Result<Self, String> {
        let mut longest = literals.clone();
        longest.sort_by_key(|text| usize::MAX - text.len());
        let pattern: Vec<String> = longest.iter().map(|text| regex::escape(text)).collect();
        Self::pattern(&pattern.join("|")).map(|delimiter| Self { literals, ..delimiter })
    }

    /// Text that `pattern` matches.
    pub(super) fn pattern(pattern: &str) -> Result<Self, String> {
        let pattern = pattern.replace("\\Z", "\\z");
        let dotall = format!("(?s:{pattern})");
        let hir = regex_syntax::parse(&dotall)
            .map_err(|error| format!("the pattern {pattern:?} cannot be used: {error}"))?;
        let hir = without_ends(&hir).map_err(|look| {
            format!("the pattern {pattern:?} asks for {look}, which cannot be known of a stream")
        })?;
        let (blank, hir) = leading_space(hir);
        let large = |error| format!("the pattern {pattern:?} cannot be compiled: {error}");
        let nfa = NFA::compiler().build_from_hir(&hir).map_err(|error| large(error.to_string()))?;
        let groups = if pattern.contains("(?P<") || pattern.contains("(?<") {
            let whole = regex::Regex::new(&format!("\\A{dotall}"));
            Some(whole.map_err(|error| large(error.to_string()))?)
        } else {
            None
        };
        let mut delimiter =
            Self { nfa, hir, first: [false; 256], groups, blank, literals: Vec::new() };
        let start = Match::new(&delimiter);
        if start.found.is_some() {
            return Err(format!("the pattern {pattern:?} matches the empty text"));
        }
        for byte in 0..=255 {
            let mut next = start.clone();
            next.step(&delimiter, byte);
            delimiter.first[usize::from(byte)] = next.is_alive() || next.found.is_some();
        }
        Ok(delimiter)
    }

    /// The names of its groups.
    pub(super) fn names(&self) -> Vec<&str> {
        self.groups
            .as_ref()
            .map_or_else(Vec::new, |groups| groups.capture_names().flatten().collect())
    }

    /// What its named groups hold of `text`, which it matched.
    pub(super) fn captures(&self, text: &str, into: &mut Vec<(String, String)>) {
        let Some(groups) = &self.groups else { return };
        let Some(captures) = groups.captures(text) else { return };
        for name in groups.capture_names().flatten() {
            if let Some(found) = captures.name(name) {
                into.retain(|(other, _)| other != name);
                into.push((name.to_owned(), found.as_str().to_owned()));
            }
        }
    }
}

/// How far a delimiter has been matched from one place on.
#[derive(Debug, Clone)]
pub(super) struct Match {
    threads: Vec<StateID>,
    length: usize,
    /// The length of the best match so far.
    pub(super) found: Option<usize>,
}

impl Match {
    pub(super) fn new(delimiter: &Delimiter) -> Self {
        let mut start = Self { threads: Vec::new(), length: 0, found: None };
        start.add(delimiter, delimiter.nfa.start_anchored());
        start
    }

    /// True while more bytes may make a match, or a better one.
    pub(super) fn is_alive(&self) -> bool {
        !self.threads.is_empty()
    }

    pub(super) fn step(&mut self, delimiter: &Delimiter, byte: u8) {
        let threads = std::mem::take(&mut self.threads);
        self.length += 1;
        if self.length > LIMIT {
            return;
        }
        for thread in threads {
            let next = match delimiter.nfa.state(thread) {
                State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
                State::Sparse(transitions) => transitions.matches_byte(byte),
                State::Dense(transitions) => transitions.matches_byte(byte),
                _ => None,
            };
            // A match ends all threads of lower priority.
            if next.is_some_and(|next| self.add(delimiter, next)) {
                return;
            }
        }
    }

    /// Adds a state and all that it leads to without a byte; true when a match is among them.
    fn add(&mut self, delimiter: &Delimiter, state: StateID) -> bool {
        let mut stack = vec![state];
        let mut seen = self.threads.clone();
        while let Some(state) = stack.pop() {
            if seen.contains(&state) {
                continue;
            }
            seen.push(state);
            match delimiter.nfa.state(state) {
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => {
                    self.threads.push(state);
                }
                State::Union { alternates } => stack.extend(alternates.iter().rev()),
                State::BinaryUnion { alt1, alt2 } => stack.extend([*alt2, *alt1]),
                State::Capture { next, .. } => stack.push(*next),
                State::Match { .. } => {
                    self.found = Some(self.length);
                    return true;
                }
                State::Look { .. } | State::Fail => {}
            }
        }
        false
    }
}

/// `hir` without the branches that hold at the output's end only.
fn without_ends(hir: &Hir) -> Result<Hir, String> {
    Ok(match hir.kind() {
        HirKind::Look(Look::End | Look::EndLF | Look::EndCRLF) => Hir::fail(),
        HirKind::Look(Look::Start | Look::StartLF | Look::StartCRLF) => {
            return Err("the start of the text".to_owned());
        }
        HirKind::Look(_) => return Err("a word's boundary".to_owned()),
        HirKind::Concat(parts) => {
            let parts = parts.iter().map(without_ends).collect::<Result<Vec<_>, _>>()?;
            if parts.iter().any(is_fail) { Hir::fail() } else { Hir::concat(parts) }
        }
        HirKind::Alternation(parts) => {
            let parts = parts.iter().map(without_ends).collect::<Result<Vec<_>, _>>()?;
            Hir::alternation(parts.into_iter().filter(|part| !is_fail(part)).collect())
        }
        HirKind::Repetition(repetition) => {
            let sub = without_ends(&repetition.sub)?;
            match (is_fail(&sub), repetition.min) {
                (true, 0) => Hir::empty(),
                (true, _) => Hir::fail(),
                (false, _) => Hir::repetition(repetition.with(sub)),
            }
        }
        HirKind::Capture(capture) => {
            let mut capture = capture.clone();
            let sub = without_ends(&capture.sub)?;
            if is_fail(&sub) {
                return Ok(sub);
            }
            *capture.sub = sub;
            Hir::capture(capture)
        }
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => hir.clone(),
    })
}

fn is_fail(hir: &Hir) -> bool {
    matches!(hir.kind(), HirKind::Class(class) if class.is_empty())
}

/// Sets `\s*` at the front apart: a run of white space is then no candidate at each of its bytes.
fn leading_space(hir: Hir) -> (bool, Hir) {
    let HirKind::Concat(parts) = hir.kind() else { return (false, hir) };
    let is_space = |part: &Hir| match part.kind() {
        HirKind::Repetition(repetition) if repetition.min == 0 && repetition.max.is_none() => {
            matches!(repetition.sub.kind(), HirKind::Class(Class::Unicode(class))
                if class.iter().any(|range| range.start() <= ' ' && ' ' <= range.end())
                    && !class.iter().any(|range| range.start() <= 'a' && 'a' <= range.end())
                    && !class.iter().any(|range| range.start() <= '<' && '<' <= range.end()))
        }
        _ => false,
    };
    match parts.split_first() {
        Some((first, rest)) if is_space(first) && !rest.is_empty() => {
            (true, Hir::concat(rest.to_vec()))
        }
        _ => (false, hir),
    }
}

#[cfg(test)]
mod tests {
    use super::{Delimiter, Match};

    /// How many bytes must come until the match is known, and its length.
    fn known(pattern: &str, text: &str) -> (usize, Option<usize>) {
        let delimiter = Delimiter::pattern(pattern).expect("a pattern");
        let mut found = Match::new(&delimiter);
        for (at, byte) in text.bytes().enumerate() {
            if !found.is_alive() {
                return (at, found.found);
            }
            found.step(&delimiter, byte);
        }
        (text.len(), found.found)
    }

    #[test]
    fn matches_are_known_as_early_as_they_can_be() {
        assert_eq!(known("<a>", "<a>b"), (3, Some(3)));
        assert_eq!(known("<a>|<a>b", "<a>b"), (3, Some(3)));
        assert_eq!(known("<a>b|<a>", "<a>c"), (4, Some(3)));
        assert_eq!(known(r"<f=(?P<n>[^>]+)>", "<f=xy>z"), (6, Some(6)));
        assert_eq!(known(r"<a>\n*", "<a>\n\nb"), (6, Some(5)));
        assert_eq!(known(r"<a>\n*?", "<a>\n\nb"), (3, Some(3)));
        assert_eq!(known(r"\s*<a>|$", "<a>"), (3, Some(3)));
        assert_eq!(known("x", "y"), (1, None));
    }

    #[test]
    fn what_a_stream_cannot_know_is_refused() {
        for pattern in [r"\bx", "^x", "(?=x)y", r"(a)\1", "(", "a*", "x|"] {
            assert!(Delimiter::pattern(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn named_groups_are_read_from_what_was_matched() {
        let delimiter = Delimiter::pattern(r"\s*<f=(?P<name>\w+)(?P<x>!)?>").expect("a pattern");
        assert!(delimiter.blank && delimiter.names() == ["name", "x"]);
        let mut captures = Vec::new();
        delimiter.captures("<f=é_1>", &mut captures);
        assert_eq!(captures, [("name".to_owned(), "é_1".to_owned())]);
    }
}
