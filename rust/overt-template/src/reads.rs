//! What a template reads: variables from outside, keys of messages.

use std::collections::BTreeSet;

use minijinja::Environment;

use crate::environment::NAME;
use crate::source::{find_close, find_open};

/// Names that templates give to one message, or to all.
const MESSAGES: [&str; 4] = ["messages", "message", "msg", "m"];
const GIVEN: [&str; 3] = ["messages", "tools", "documents"];
/// Filters that write all of a message.
const WRITING: [&str; 5] = ["tojson", "string", "items", "dictsort", "list"];

#[derive(Debug, Clone)]
pub(crate) struct Reads {
    pub(crate) variables: Vec<String>,
    /// Every word of the template's code, those in its strings too. What is not among them cannot be read.
    words: BTreeSet<String>,
    /// Whole messages are written: all their keys are read.
    whole: bool,
}

impl Reads {
    pub(crate) fn of(env: &Environment<'_>, source: &str) -> Self {
        let mut variables: Vec<String> = env
            .get_template(NAME)
            .map(|template| template.undeclared_variables(false).into_iter().collect())
            .unwrap_or_default();
        variables.retain(|name| !env.globals().any(|(global, _)| global == name));
        variables.sort();
        let mut reads = Self { variables, words: BTreeSet::new(), whole: false };
        let mut rest = source;
        while let Some(start) = find_open(rest) {
            rest = &rest[start..];
            let close = match rest.as_bytes().get(1) {
                Some(b'#') => rest.find("#}").map(|end| end + 2),
                Some(b'{') => find_close(rest, "}}"),
                _ => find_close(rest, "%}"),
            };
            let Some(length) = close else { break };
            if !rest.starts_with("{#") {
                reads.tag(&rest[2..length - 2], rest.starts_with("{{"));
            }
            rest = &rest[length..];
        }
        // Templates both take these from outside and assign them.
        for name in GIVEN {
            if reads.words.contains(name) && !reads.variables.iter().any(|known| known == name) {
                reads.variables.push(name.to_owned());
            }
        }
        reads.variables.sort();
        reads
    }

    pub(crate) fn key(&self, key: &str) -> bool {
        self.whole || self.words.contains(key)
    }

    fn tag(&mut self, code: &str, prints: bool) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let mut at = 0;
        while let Some(start) = code[at..].find(is_word).map(|found| at + found) {
            let end = code[start..].find(|c| !is_word(c)).map_or(code.len(), |found| start + found);
            let word = code[start..end].trim_matches('-');
            // `a-b` is a key, or two words.
            self.words.extend(word.split('-').chain([word]).map(str::to_owned));
            self.whole |= MESSAGES.contains(&word) && writes_all(&code[end..], prints);
            at = end;
        }
    }
}

/// Whether what follows a message's name in a tag writes all of it.
fn writes_all(after: &str, prints: bool) -> bool {
    let after = after.trim_start();
    if (prints && after.trim_end_matches(['-', '+']).is_empty()) || after.starts_with(".items") {
        return true;
    }
    let Some(filter) = after.strip_prefix('|') else { return false };
    let filter = filter.trim_start();
    WRITING.iter().any(|name| {
        let follows = filter.strip_prefix(name).map(|rest| rest.chars().next());
        follows.is_some_and(|next| next.is_none_or(|c| !c.is_alphanumeric() && c != '_'))
    })
}
