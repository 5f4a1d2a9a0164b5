//! A list of calls with keyword arguments, `[f(a=1, b="x")]`, read whole.

use crate::core::typed::{is_number, quote};

/// No value is nested deeper.
const DEPTH: u32 = 100;

/// `[{"name": …, "arguments": {…}}, …]`; none where `text` is no such list.
pub(super) fn call_list(text: &str) -> Option<String> {
    let mut reader = Reader { rest: text, out: String::new() };
    reader.list('[', ']', Reader::call)?;
    reader.rest.trim().is_empty().then_some(reader.out)
}

struct Reader<'a> {
    rest: &'a str,
    out: String,
}

impl<'a> Reader<'a> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn at(&mut self, next: char) -> bool {
        self.skip();
        self.rest.starts_with(next)
    }

    fn expect(&mut self, next: char) -> Option<()> {
        self.at(next).then(|| self.rest = &self.rest[next.len_utf8()..])
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    /// Items between brackets, which are written as they are.
    fn list(
        &mut self,
        open: char,
        close: char,
        mut item: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.expect(open)?;
        self.out.push(open);
        self.items(close, &mut item)?;
        self.out.push(close);
        Some(())
    }

    fn items(&mut self, close: char, item: &mut dyn FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.at(close) {
            return self.expect(close);
        }
        loop {
            item(self)?;
            if self.at(close) {
                return self.expect(close);
            }
            self.expect(',')?;
            self.out.push_str(", ");
        }
    }

    fn name(&mut self) -> Option<&'a str> {
        self.skip();
        let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let length = self.rest.find(|c| !inner(c)).unwrap_or(self.rest.len());
        let starts = self.rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        starts.then(|| self.take(length))
    }

    fn call(&mut self) -> Option<()> {
        let name = self.name()?;
        self.out.push_str("{\"name\": ");
        quote(name, &mut self.out);
        self.out.push_str(", \"arguments\": {");
        self.expect('(')?;
        self.items(')', &mut |reader| {
            let key = reader.name()?;
            quote(key, &mut reader.out);
            reader.out.push_str(": ");
            reader.expect('=')?;
            reader.value(DEPTH)
        })?;
        self.out.push_str("}}");
        Some(())
    }

    fn value(&mut self, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        if self.at('[') {
            return self.list('[', ']', |reader| reader.value(depth));
        }
        if self.at('{') {
            return self.list('{', '}', |reader| {
                reader.string()?;
                reader.expect(':')?;
                reader.out.push_str(": ");
                reader.value(depth)
            });
        }
        if self.at('"') || self.at('\'') {
            return self.string();
        }
        let ends = |c: char| matches!(c, ',' | ')' | ']' | '}') || c.is_whitespace();
        let length = self.rest.find(ends).unwrap_or(self.rest.len());
        let word = match self.take(length) {
            "True" | "true" => "true",
            "False" | "false" => "false",
            "None" | "null" => "null",
            number if is_number(number) => number,
            _ => return None,
        };
        self.out.push_str(word);
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        self.skip();
        let mark = self.rest.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        loop {
            let (at, next) = characters.next()?;
            match next {
                _ if next == mark => {
                    self.take(at + 1);
                    quote(&text, &mut self.out);
                    return Some(());
                }
                '\\' => {
                    let (at, escape) = characters.next()?;
                    if escape == 'u' {
                        let (character, length) = unicode(&self.rest[at - 1..])?;
                        text.push(character);
                        characters.nth(length - 3)?;
                    } else {
                        text.push(plain(escape)?);
                    }
                }
                '\n' | '\r' => return None,
                _ => text.push(next),
            }
        }
    }
}

fn plain(escape: char) -> Option<char> {
    Some(match escape {
        '\\' | '\'' | '"' | '/' => escape,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        _ => return None,
    })
}

/// The character of `\uXXXX`, or of a pair of them, and how many bytes spell it.
fn unicode(text: &str) -> Option<(char, usize)> {
    let unit = |from: usize| {
        let digits = text.get(from..from + 6)?.strip_prefix("\\u")?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(0)?;
    let units: &[u16] = match unit(6) {
        Some(second) if (0xd800..0xdc00).contains(&first) => &[first, second],
        _ => &[first],
    };
    let character = char::decode_utf16(units.iter().copied()).next()?.ok()?;
    Some((character, units.len() * 6))
}

#[cfg(test)]
mod tests {
    use super::call_list;

    #[test]
    fn lists_of_calls_are_read() {
        for (text, expected) in [
            ("[]", Some("[]")),
            (" [ now( ) ] ", Some(r#"[{"name": "now", "arguments": {}}]"#)),
            (
                "[f(a=1, b='x\\'\\u00e9\\ud83d\\ude00', c=[True, None, {'k': -1.50e3}]), g.h-i(d=\"\")]",
                Some(
                    "[{\"name\": \"f\", \"arguments\": {\"a\": 1, \"b\": \"x'é😀\", \"c\": [true, null, {\"k\": \
                     -1.50e3}]}}, {\"name\": \"g.h-i\", \"arguments\": {\"d\": \"\"}}]",
                ),
            ),
            ("[f(1)]", None),
            ("[f(a=x)]", None),
            ("[f(a='x]", None),
            ("[f(a='\\q')]", None),
            ("[f(a='\\ud83d')]", None),
            ("[f()] more", None),
            ("[f(a=1,)]", None),
            ("f()", None),
        ] {
            assert_eq!(call_list(text).as_deref(), expected, "{text}");
        }
        assert_eq!(call_list(&format!("[f(a={})]", "[".repeat(100_000))), None);
    }
}
