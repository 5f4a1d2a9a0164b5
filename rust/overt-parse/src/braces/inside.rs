//! The inside of a call's braces, turned into JSON.

use super::reader::{Braces, Open, Step};
use crate::core::typed::{self, Type};
use crate::format::Said;

/// How deep objects and lists may nest.
const DEPTH: usize = 128;

impl Braces {
    /// Reads one character outside of strings, if it has a place here; how many bytes it took.
    pub(super) fn character(&mut self, c: char, said: &Said<'_>) -> Option<usize> {
        let list = self.open.last().is_some_and(|open| open.list);
        let blank = matches!(c, ' ' | '\t' | '\r' | '\n');
        match (self.step, c) {
            (Step::Name, _) if blank => {
                if !self.name.is_empty() {
                    self.step = Step::Named;
                }
            }
            (Step::Name | Step::Named, '{') => self.named(said)?,
            (Step::Name, _) if c.is_alphanumeric() || "_-.:/".contains(c) => self.name.push(c),
            (Step::BareKey, ':') => {
                let kept = self.key.trim_end().len();
                self.key.truncate(kept);
                self.keyed();
            }
            (Step::BareKey, ',' | '{' | '}' | '[' | ']' | '"') => return None,
            (Step::BareKey, _) => self.key.push(c),
            (Step::Word, ',' | '}' | ']') => {
                self.end_word(said);
                return Some(0);
            }
            (Step::Word, _) => self.word.push(c),
            _ if blank => {}
            (Step::Key, '}') | (Step::After, '}') if !list => self.close(),
            (Step::Value | Step::After, ']') if list => self.close(),
            (Step::After, ',') => self.step = if list { Step::Value } else { Step::Key },
            (Step::Key, '"') => {
                self.key.clear();
                self.escape = false;
                self.step = Step::JsonKey;
            }
            (Step::Key, ',' | ':' | '{' | '[' | ']') => return None,
            (Step::Key, _) => {
                self.key.clear();
                self.key.push(c);
                self.step = Step::BareKey;
            }
            (Step::Colon, ':') => self.keyed(),
            (Step::Value, '"') => {
                self.item("\"");
                self.escape = false;
                self.step = Step::Json;
            }
            (Step::Value, '{' | '[') if self.open.len() < DEPTH => {
                self.item(if c == '{' { "{" } else { "[" });
                self.open.push(Open { list: c == '[', items: 0 });
                self.step = if c == '{' { Step::Key } else { Step::Value };
            }
            (Step::Value, c) if !matches!(c, ',' | '}' | ']' | ':' | '{' | '[') => {
                self.word.clear();
                self.word.push(c);
                self.step = Step::Word;
            }
            _ => return None,
        }
        Some(c.len_utf8())
    }

    /// The name has ended: the arguments' brace has come.
    fn named(&mut self, said: &Said<'_>) -> Option<()> {
        match self.name.strip_prefix(self.shape.lead) {
            Some(name) => self.name = name.to_owned(),
            None => {
                said.calls.tools.get(&self.name)?;
            }
        }
        if !self.name.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return None;
        }
        self.out.push('{');
        self.open.push(Open { list: false, items: 0 });
        self.step = Step::Key;
        Some(())
    }

    /// A key has ended.
    fn keyed(&mut self) {
        if let Some(open) = self.open.last_mut() {
            if open.items > 0 {
                self.out.push_str(", ");
            }
            open.items += 1;
        }
        typed::quote(&self.key, &mut self.out);
        self.out.push_str(": ");
        if self.open.len() == 1 {
            self.argument.clone_from(&self.key);
        }
        self.step = Step::Value;
    }

    /// A value begins with `text`.
    pub(super) fn item(&mut self, text: &str) {
        if let Some(open) = self.open.last_mut().filter(|open| open.list) {
            if open.items > 0 {
                self.out.push_str(", ");
            }
            open.items += 1;
        }
        self.out.push_str(text);
    }

    pub(super) fn close(&mut self) {
        let list = self.open.pop().is_some_and(|open| open.list);
        self.out.push(if list { ']' } else { '}' });
        self.step = Step::After;
    }

    /// Reads a JSON string's inside; how many bytes it took.
    pub(super) fn json(&mut self, text: &str) -> usize {
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if self.escape => self.escape = false,
                b'\\' => self.escape = true,
                b'"' => {
                    controls(&text[..at], &mut self.out);
                    self.out.push('"');
                    self.step = Step::After;
                    return at + 1;
                }
                _ => {}
            }
        }
        controls(text, &mut self.out);
        text.len()
    }

    pub(super) fn json_key(&mut self, c: char) -> Option<usize> {
        if c == '"' && !self.escape {
            self.key = serde_json::from_str(&format!("\"{}\"", self.key)).ok()?;
            self.step = Step::Colon;
        } else {
            self.escape = c == '\\' && !self.escape;
            self.key.push(c);
        }
        Some(c.len_utf8())
    }

    pub(super) fn end_word(&mut self, said: &Said<'_>) {
        let kind = if self.open.len() == 1 {
            Type::of_parameter(&said.calls.tools, &self.name, &self.argument)
        } else {
            Type::any()
        };
        self.item("");
        let word = self.word.trim();
        match word {
            "null" | "None" | "none" => self.out.push_str("null"),
            _ if kind.is_text() => typed::quote(word, &mut self.out),
            "true" | "True" => self.out.push_str("true"),
            "false" | "False" => self.out.push_str("false"),
            _ if typed::is_number(word) => self.out.push_str(word),
            _ => typed::quote(word, &mut self.out),
        }
        self.step = Step::After;
    }
}

/// Writes the inside of a JSON string, with control characters escaped.
fn controls(text: &str, out: &mut String) {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte < 0x20 {
            out.push_str(&text[from..at]);
            typed::escape(&text[at..=at], out);
            from = at + 1;
        }
    }
    out.push_str(&text[from..]);
}
