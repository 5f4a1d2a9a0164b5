//! Python's literals as JSON: models write `{'a': None}` where their template did.

use crate::core::typed::{is_number, quote};

/// How deep containers may nest.
const DEPTH: u32 = 64;

/// Writes the JSON of a Python (or loosely written JSON) literal; false when `text` is none, with rubbish in `out`.
pub(crate) fn write(text: &str, out: &mut String) -> bool {
    let mut reader = Reader { rest: text.trim(), out };
    reader.value(DEPTH).is_some() && reader.rest.is_empty()
}

struct Reader<'a> {
    rest: &'a str,
    out: &'a mut String,
}

impl Reader<'_> {
    fn value(&mut self, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match self.rest.chars().next()? {
            '{' => self.container('}', depth),
            '[' => self.container(']', depth),
            '(' => self.container(')', depth),
            quote @ ('"' | '\'') => self.string(quote),
            _ => self.word(),
        }
    }

    /// A dictionary, list or tuple; a comma may follow the last member.
    fn container(&mut self, close: char, depth: u32) -> Option<()> {
        let dictionary = close == '}';
        self.out.push(if dictionary { '{' } else { '[' });
        self.step(1);
        let mut first = true;
        while !self.take(close) {
            if !first {
                self.out.push_str(", ");
            }
            first = false;
            if dictionary {
                self.key()?;
            }
            self.value(depth)?;
            self.skip();
            if !self.take(',') && !self.rest.starts_with(close) {
                return None;
            }
        }
        self.out.push(if dictionary { '}' } else { ']' });
        Some(())
    }

    /// A key and its colon; keys of JSON are strings.
    fn key(&mut self) -> Option<()> {
        let start = self.out.len();
        match self.rest.chars().next()? {
            quote @ ('"' | '\'') => self.string(quote)?,
            _ => {
                self.word()?;
                let word = self.out.split_off(start);
                quote(&word, self.out);
            }
        }
        self.skip();
        self.take(':').then_some(())?;
        self.out.push_str(": ");
        Some(())
    }

    fn word(&mut self) -> Option<()> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-._".contains(c)));
        let word = &self.rest[..end.unwrap_or(self.rest.len())];
        let json = match word {
            "None" | "null" => "null",
            "True" | "true" => "true",
            "False" | "false" => "false",
            number if is_number(number) => number,
            _ => return None,
        };
        self.out.push_str(json);
        self.rest = &self.rest[word.len()..];
        Some(())
    }

    fn string(&mut self, quote: char) -> Option<()> {
        self.out.push('"');
        self.step(1);
        loop {
            let plain = self.rest.find(['\\', quote])?;
            crate::core::typed::escape(&self.rest[..plain], self.out);
            self.rest = &self.rest[plain..];
            if self.take_now(quote) {
                self.out.push('"');
                return Some(());
            }
            self.escape()?;
        }
    }

    /// A backslash and what it means.
    fn escape(&mut self) -> Option<()> {
        let letter = self.rest[1..].chars().next()?;
        self.step(1 + letter.len_utf8());
        let mut hex = |length: usize| {
            let digits = self.rest.get(..length)?;
            let code = u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
            self.rest = &self.rest[length..];
            Some(code)
        };
        match letter {
            '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => {
                self.out.push('\\');
                self.out.push(letter);
            }
            '\'' => self.out.push('\''),
            '\n' => {}
            '0' => self.out.push_str("\\u0000"),
            'a' => self.out.push_str("\\u0007"),
            'v' => self.out.push_str("\\u000b"),
            // Halves of a pair stay escapes, as JSON has them too.
            'u' | 'x' => {
                let code = hex(if letter == 'u' { 4 } else { 2 })?;
                self.out.push_str(&format!("\\u{code:04x}"));
            }
            'U' => {
                let text = char::from_u32(hex(8)?)?.to_string();
                crate::core::typed::escape(&text, self.out);
            }
            other => {
                self.out.push_str("\\\\");
                self.out.push(other);
            }
        }
        Some(())
    }

    fn step(&mut self, len: usize) {
        self.rest = &self.rest[len..];
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes `wanted` behind white space, and the white space behind it.
    fn take(&mut self, wanted: char) -> bool {
        self.skip();
        let found = self.take_now(wanted);
        if found && wanted != '}' && wanted != ']' && wanted != ')' {
            self.skip();
        }
        found
    }

    fn take_now(&mut self, wanted: char) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}
