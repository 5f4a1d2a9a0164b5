//! Source to tokens, white space control included.

use super::escape::unescape;
use super::{Fault, is_space};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tok {
    Text(String),
    PrintStart,
    PrintEnd,
    BlockStart,
    BlockEnd,
    Name(String),
    Str(String),
    Int(u128),
    Float(f64),
    Op(&'static str),
    Eof,
}

#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) line: u32,
    pub(super) tok: Tok,
}

/// Longest first.
const OPERATORS: [&str; 26] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}",
    ">", "<", "=", ".", ":", "|", ",", ";",
];

/// Tokens up to [`Tok::Eof`].
pub(super) fn tokens(source: &str) -> Result<Vec<Token>, Fault> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let source = source.strip_suffix('\n').unwrap_or(&source);
    let mut lexer =
        Lexer { source, at: 0, line: 1, counted: 0, line_starting: true, out: Vec::new() };
    lexer.run()?;
    Ok(lexer.out)
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
    /// Line of the byte `counted`.
    line: u32,
    counted: usize,
    /// What was read last ended a line.
    line_starting: bool,
    out: Vec<Token>,
}

#[derive(Clone, Copy, PartialEq)]
enum Opening {
    Comment,
    Block,
    Print,
    Raw,
}

impl<'a> Lexer<'a> {
    fn run(&mut self) -> Result<(), Fault> {
        loop {
            let rest = self.rest();
            let Some(start) = find_open(rest) else {
                self.text(rest);
                self.at = self.source.len();
                break;
            };
            let text = &rest[..start];
            let opened = &rest[start..];
            let (opening, length, sign) = opening(opened);
            let kept = self.stripped(text, sign, opening == Opening::Print);
            self.text(kept);
            self.advance(start + length);
            match opening {
                Opening::Comment => self.comment()?,
                Opening::Raw => self.raw()?,
                Opening::Block | Opening::Print => self.tag(opening == Opening::Print)?,
            }
        }
        let line = self.line_at(self.at);
        self.out.push(Token { line, tok: Tok::Eof });
        Ok(())
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn advance(&mut self, bytes: usize) {
        self.line_starting = self.rest()[..bytes].ends_with('\n');
        self.at += bytes;
    }

    fn line_at(&mut self, at: usize) -> u32 {
        let newlines = self.source[self.counted..at].bytes().filter(|byte| *byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX));
        self.counted = at;
        self.line
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            let line = self.line_at(self.at);
            self.out.push(Token { line, tok: Tok::Text(text.to_owned()) });
        }
    }

    /// The text before a tag, without the white space that the tag takes.
    fn stripped(&self, text: &'a str, sign: Option<char>, print: bool) -> &'a str {
        match sign {
            Some('-') => text.trim_end_matches(is_space),
            None if !print => {
                let line = text.rfind('\n').map_or(0, |at| at + 1);
                let alone = line > 0 || self.line_starting;
                if alone && text[line..].chars().all(is_space) { &text[..line] } else { text }
            }
            _ => text,
        }
    }

    fn comment(&mut self) -> Result<(), Fault> {
        let Some(end) = self.rest().find("#}") else {
            return Err(Fault::new(self.line_at(self.at), "a comment is not closed by #}"));
        };
        let sign = self.rest()[..end].chars().next_back();
        self.advance(end);
        self.close(sign, true);
        Ok(())
    }

    /// Reads the two characters that close a tag, and the white space that goes with them.
    fn close(&mut self, sign: Option<char>, trims: bool) {
        let after = &self.rest()[2..];
        let spaces = match sign {
            Some('-') => after.len() - after.trim_start_matches(is_space).len(),
            Some('+') => 0,
            _ => usize::from(trims && after.starts_with('\n')),
        };
        self.advance(2 + spaces);
    }

    fn raw(&mut self) -> Result<(), Fault> {
        let rest = self.rest();
        let mut from = 0;
        while let Some(found) = rest[from..].find("{%") {
            let start = from + found;
            from = start + 2;
            let sign = rest[from..].chars().next().filter(|c| matches!(c, '-' | '+'));
            let inside = &rest[from + usize::from(sign.is_some())..];
            let Some(after) = inside.trim_start_matches(is_space).strip_prefix("endraw") else {
                continue;
            };
            let after = after.trim_start_matches(is_space);
            let end_sign = after.chars().next().filter(|c| matches!(c, '-' | '+'));
            if !after[usize::from(end_sign.is_some())..].starts_with("%}") {
                continue;
            }
            let kept = self.stripped(&rest[..start], sign, false);
            self.text(kept);
            let end = rest.len() - after.len() + usize::from(end_sign.is_some());
            self.advance(end);
            self.close(end_sign, true);
            return Ok(());
        }
        Err(Fault::new(self.line_at(self.at), "a raw block is not closed by {% endraw %}"))
    }

    fn push(&mut self, at: usize, tok: Tok) {
        let line = self.line_at(at);
        self.out.push(Token { line, tok });
    }

    fn tag(&mut self, print: bool) -> Result<(), Fault> {
        let (start, end, close) = if print {
            (Tok::PrintStart, Tok::PrintEnd, "}}")
        } else {
            (Tok::BlockStart, Tok::BlockEnd, "%}")
        };
        self.push(self.at, start);
        let mut brackets: Vec<&str> = Vec::new();
        loop {
            let rest = self.rest();
            let Some(first) = rest.chars().next() else { return Ok(()) };
            if brackets.is_empty() {
                let sign = Some(first).filter(|c| *c == '-' || (*c == '+' && !print));
                if rest[usize::from(sign.is_some())..].starts_with(close) {
                    self.push(self.at, end);
                    self.advance(usize::from(sign.is_some()));
                    self.close(sign, !print);
                    return Ok(());
                }
            }
            if is_space(first) {
                self.advance(first.len_utf8());
                continue;
            }
            let (length, tok) = self.token(rest, first)?;
            if let Tok::Op(op) = tok {
                self.balance(&mut brackets, op)?;
            }
            self.push(self.at, tok);
            self.advance(length);
        }
    }

    fn balance(&mut self, brackets: &mut Vec<&'static str>, op: &'static str) -> Result<(), Fault> {
        match op {
            "{" => brackets.push("}"),
            "(" => brackets.push(")"),
            "[" => brackets.push("]"),
            "}" | ")" | "]" => match brackets.pop() {
                Some(expected) if expected == op => {}
                Some(expected) => {
                    let line = self.line_at(self.at);
                    return Err(Fault::new(line, format!("unexpected {op}, expected {expected}")));
                }
                None => {
                    return Err(Fault::new(self.line_at(self.at), format!("unexpected {op}")));
                }
            },
            _ => {}
        }
        Ok(())
    }

    fn token(&mut self, rest: &'a str, first: char) -> Result<(usize, Tok), Fault> {
        if first.is_ascii_digit() {
            let after_dot = self.source[..self.at].ends_with('.');
            return number(rest, after_dot)
                .map_err(|message| Fault::new(self.line_at(self.at), message));
        }
        if first.is_alphanumeric() || first == '_' {
            let word: &str = &rest
                [..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())];
            return Ok((word.len(), Tok::Name(word.to_owned())));
        }
        if matches!(first, '"' | '\'') {
            let Some(end) = closing_quote(rest, first) else {
                return Err(Fault::new(self.line_at(self.at), "a text is not closed"));
            };
            let text = unescape(&rest[1..end])
                .map_err(|message| Fault::new(self.line_at(self.at), message))?;
            return Ok((end + 1, Tok::Str(text)));
        }
        match OPERATORS.iter().find(|op| rest.starts_with(**op)) {
            Some(op) => Ok((op.len(), Tok::Op(op))),
            None => {
                Err(Fault::new(self.line_at(self.at), format!("unexpected character {first:?}")))
            }
        }
    }
}

fn find_open(text: &str) -> Option<usize> {
    text.as_bytes()
        .windows(2)
        .position(|pair| pair[0] == b'{' && matches!(pair[1], b'{' | b'%' | b'#'))
}

/// What a tag opens, the length of its opening, and its mark of white space.
fn opening(text: &str) -> (Opening, usize, Option<char>) {
    let sign = text[2..].chars().next().filter(|c| matches!(c, '-' | '+'));
    let length = 2 + usize::from(sign.is_some());
    match text.as_bytes()[1] {
        b'#' => return (Opening::Comment, length, sign),
        b'{' => return (Opening::Print, length, sign),
        _ => {}
    }
    let inside = text[length..].trim_start_matches(is_space);
    if let Some(after) = inside.strip_prefix("raw") {
        let after = after.trim_start_matches(is_space);
        let at = text.len() - after.len();
        if after.starts_with("%}") {
            return (Opening::Raw, at + 2, sign);
        }
        if let Some(after) = after.strip_prefix("-%}") {
            return (Opening::Raw, text.len() - after.trim_start_matches(is_space).len(), sign);
        }
    }
    (Opening::Block, length, sign)
}

fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().skip(1).find_map(|(at, c)| {
        if escaped {
            escaped = false;
            return None;
        }
        escaped = c == '\\';
        (c == quote).then_some(at)
    })
}

/// Length of `digits(_digits)*`.
fn digits(text: &str, radix: u32) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |byte: &u8| (*byte as char).is_digit(radix);
    let mut at = 0;
    while at < bytes.len() {
        let next = usize::from(at > 0 && bytes[at] == b'_');
        if bytes.get(at + next).is_some_and(is_digit) {
            at += next + 1;
        } else {
            break;
        }
    }
    at
}

fn number(text: &str, after_dot: bool) -> Result<(usize, Tok), String> {
    let whole = digits(text, 10);
    let mut end = whole;
    if !after_dot {
        if text[end..].starts_with('.') {
            let fraction = digits(&text[end + 1..], 10);
            end += if fraction > 0 { fraction + 1 } else { 0 };
        }
        if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let power = digits(&exponent[sign..], 10);
            end += if power > 0 { 1 + sign + power } else { 0 };
        }
    }
    if end > whole {
        return match text[..end].replace('_', "").parse() {
            Ok(number) => Ok((end, Tok::Float(number))),
            Err(_) => Err(format!("{} is no number", &text[..end])),
        };
    }
    let prefixed = [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)]
        .into_iter()
        .find_map(|(prefix, radix)| {
            let rest = text.strip_prefix(prefix)?;
            let skip = usize::from(rest.starts_with('_'));
            let length = digits(&rest[skip..], radix);
            (length > 0).then_some((2 + skip, 2 + skip + length, radix))
        });
    let (start, end, radix) = prefixed.unwrap_or_else(|| {
        // A leading zero stands alone: what follows is another number.
        let zeros = text[..whole].find(|c| !matches!(c, '0' | '_')).unwrap_or(whole);
        let end =
            if text.starts_with('0') { text[..zeros].trim_end_matches('_').len() } else { whole };
        (0, end, 10)
    });
    match u128::from_str_radix(&text[start..end].replace('_', ""), radix) {
        Ok(number) if number <= i128::MAX.unsigned_abs() => Ok((end, Tok::Int(number))),
        _ => Err(format!("{} is too large: at most 127 bits", &text[..end])),
    }
}
