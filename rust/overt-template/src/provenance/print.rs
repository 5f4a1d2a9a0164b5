//! Which character of a printed value (Python's `str` and `repr`, JSON) came from which part of the value.

use std::sync::Arc;

use minijinja::value::{Value, ValueKind};

use super::taint::{Glyph, Tag, Taint};
use super::value::{MAX_DEPTH, marked, plain};

/// `text`, which is how `value` prints, with the marks of `value`. `sorted`: keys were put in order.
pub(crate) fn with_marks(taint: &Arc<Taint>, value: &Value, text: &str, sorted: bool) -> String {
    let mut walk =
        Walk { taint, text: text.chars().collect(), out: Vec::with_capacity(text.len()), sorted };
    let whole = walk.value(value, None).is_some() && walk.out.len() == walk.text.len();
    if whole {
        return taint.text(&walk.out);
    }
    match tag_of(taint, value) {
        Some(tag) => taint.mark(text, tag.derived()),
        None => text.to_owned(),
    }
}

/// The tag of a value, or of the first part of it that has one.
pub(crate) fn tag_of(taint: &Taint, value: &Value) -> Option<Tag> {
    tag_within(taint, value, MAX_DEPTH)
}

fn tag_within(taint: &Taint, value: &Value, depth: usize) -> Option<Tag> {
    if let Some(text) = value.as_str() {
        return taint.glyphs(text).iter().find_map(|glyph| glyph.tag);
    }
    match marked(value) {
        Some(marked) if marked.tag.is_some() => marked.tag,
        _ if depth == 0 => None,
        _ => value.try_iter().ok()?.find_map(|item| tag_within(taint, &item, depth - 1)),
    }
}

/// Goes through a value and its printed text side by side.
struct Walk<'a> {
    taint: &'a Arc<Taint>,
    text: Vec<char>,
    /// The characters read so far.
    out: Vec<Glyph>,
    sorted: bool,
}

impl Walk<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.out.len()).copied()
    }

    fn take(&mut self, tag: Option<Tag>) -> Option<char> {
        let char = self.peek()?;
        self.out.push(Glyph { char, tag });
        Some(char)
    }

    fn take_while(&mut self, tag: Option<Tag>, accept: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&accept) {
            self.take(tag);
        }
    }

    /// Reads one value; what has no mark of its own is the container's.
    fn value(&mut self, value: &Value, container: Option<Tag>) -> Option<()> {
        if let Some(text) = value.as_str() {
            return self.quoted(text, container);
        }
        let tag = marked(value).and_then(|marked| marked.tag).or(container);
        match value.kind() {
            ValueKind::Seq | ValueKind::Iterable => {
                self.take(tag).filter(|open| matches!(open, '[' | '('))?;
                for item in value.try_iter().ok()? {
                    self.separator(tag);
                    self.value(&item, tag)?;
                }
                self.separator(tag);
                self.take(tag).filter(|close| matches!(close, ']' | ')')).map(drop)
            }
            ValueKind::Map => {
                self.take(tag).filter(|open| *open == '{')?;
                let mut keys: Vec<Value> = value.try_iter().ok()?.collect();
                if self.sorted {
                    keys.sort_by_cached_key(|key| plain(self.taint, key).to_string());
                }
                for key in keys {
                    self.separator(tag);
                    self.value(&key, tag)?;
                    self.separator(tag);
                    self.value(&value.get_item(&key).ok()?, tag)?;
                }
                self.separator(tag);
                self.take(tag).filter(|close| *close == '}').map(drop)
            }
            // As a key of JSON, a number is quoted.
            _ => {
                self.take_while(tag, |c| {
                    c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '"')
                });
                Some(())
            }
        }
    }

    /// What stands between items: separators, line breaks and indentation.
    fn separator(&mut self, tag: Option<Tag>) {
        self.take_while(tag, |c| {
            !c.is_alphanumeric()
                && !matches!(c, '"' | '\'' | '-' | '[' | ']' | '{' | '}' | '(' | ')')
        });
    }

    fn quoted(&mut self, text: &str, container: Option<Tag>) -> Option<()> {
        let quote = self.take(container).filter(|quote| matches!(quote, '"' | '\''))?;
        for glyph in self.taint.glyphs(text) {
            let tag = glyph.tag.or(container);
            let first = self.take(tag)?;
            if first != '\\' {
                (first == glyph.char).then_some(())?;
                continue;
            }
            let rest = match self.take(tag)? {
                // A character beyond the first plane takes two escapes in JSON.
                'u' if glyph.char as u32 > 0xffff => 4 + 6,
                'u' => 4,
                'x' => 2,
                _ => 0,
            };
            for _ in 0..rest {
                self.take(tag)?;
            }
        }
        (self.take(container)? == quote).then_some(())
    }
}
