//! The tokens of EBNF.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Defines,
    Text(String),
    /// A regular expression of one character.
    Class(String),
    Open,
    Close,
    Or,
    Times(u32, Option<u32>),
}

/// What is wrong with a grammar, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub(super) struct Fault {
    line: usize,
    column: usize,
    message: String,
}

impl Fault {
    pub(super) fn new(line: usize, column: usize, message: String) -> Self {
        Self { line, column, message }
    }
}

pub(super) struct Scanner<'a> {
    chars: Peekable<Chars<'a>>,
    line: usize,
    column: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { chars: text.chars().peekable(), line: 1, column: 1 }
    }

    /// All tokens, each with its line and column.
    pub(super) fn all(mut self) -> Result<Vec<(Token, usize, usize)>, Fault> {
        let mut tokens = Vec::new();
        loop {
            while self.chars.peek().is_some_and(|char| char.is_whitespace()) {
                self.next();
            }
            let (line, column) = (self.line, self.column);
            let Some(char) = self.next() else { return Ok(tokens) };
            let token = match char {
                '#' => {
                    while self.chars.peek().is_some_and(|char| *char != '\n') {
                        self.next();
                    }
                    continue;
                }
                '"' | '\'' => self.text(char)?,
                '[' => self.class()?,
                '.' => Token::Class("(?s:.)".to_owned()),
                '(' if self.chars.peek() == Some(&'?') => {
                    return Err(self.fault("look-ahead is not supported"));
                }
                '(' => Token::Open,
                ')' => Token::Close,
                '|' => Token::Or,
                '*' => Token::Times(0, None),
                '+' => Token::Times(1, None),
                '?' => Token::Times(0, Some(1)),
                '{' => self.times()?,
                ':' => {
                    for expected in [':', '='] {
                        if self.next() != Some(expected) {
                            return Err(Fault::new(line, column, "expected ::=".to_owned()));
                        }
                    }
                    Token::Defines
                }
                char if char.is_alphabetic() || char == '_' => self.name(char),
                char => return Err(Fault::new(line, column, format!("unexpected {char:?}"))),
            };
            tokens.push((token, line, column));
        }
    }

    fn next(&mut self) -> Option<char> {
        let char = self.chars.next()?;
        if char == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(char)
    }

    fn fault(&self, message: &str) -> Fault {
        Fault::new(self.line, self.column, message.to_owned())
    }

    fn name(&mut self, first: char) -> Token {
        let mut name = String::from(first);
        while let Some(char) =
            self.chars.peek().copied().filter(|char| char.is_alphanumeric() || "_-".contains(*char))
        {
            name.push(char);
            self.next();
        }
        Token::Name(name)
    }

    fn text(&mut self, quote: char) -> Result<Token, Fault> {
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Err(self.fault("the text is not closed")),
                Some('\n') => {
                    return Err(self.fault("a text ends on the line it begins; write \\n"));
                }
                Some('\\') => text.push(self.escaped()?),
                Some(char) if char == quote => return Ok(Token::Text(text)),
                Some(char) => text.push(char),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, Fault> {
        let digits = match self.next() {
            Some('n') => return Ok('\n'),
            Some('r') => return Ok('\r'),
            Some('t') => return Ok('\t'),
            Some('f') => return Ok('\u{c}'),
            Some('b') => return Ok('\u{8}'),
            Some('v') => return Ok('\u{b}'),
            Some('0') => return Ok('\0'),
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            Some(char) if !char.is_alphanumeric() => return Ok(char),
            _ => return Err(self.fault("unknown escape; these are known: \\n \\r \\t \\f \\b \\v \\0 \\x \\u \\U and signs")),
        };
        let mut code = 0;
        for _ in 0..digits {
            let digit = self.next().and_then(|char| char.to_digit(16));
            let Some(digit) = digit else {
                return Err(self.fault(&format!("expected {digits} hexadecimal digits")));
            };
            code = code * 16 + digit;
        }
        char::from_u32(code).ok_or_else(|| self.fault("this escape stands for no character"))
    }

    /// A class after its opening bracket, as a regular expression.
    fn class(&mut self) -> Result<Token, Fault> {
        let mut out = String::from("[");
        if self.chars.peek() == Some(&'^') {
            self.next();
            out.push('^');
        }
        let mut any = false;
        loop {
            let low = match self.next() {
                None => return Err(self.fault("the class is not closed")),
                Some(']') if any => break,
                Some(']') => return Err(self.fault("the class is empty")),
                Some('\\') => self.escaped()?,
                Some(char) => char,
            };
            any = true;
            if self.chars.peek() != Some(&'-') {
                push(&mut out, low);
                continue;
            }
            self.next();
            if self.chars.peek() == Some(&']') {
                push(&mut out, low);
                push(&mut out, '-');
                continue;
            }
            let high = match self.next() {
                None => return Err(self.fault("the class is not closed")),
                Some('\\') => self.escaped()?,
                Some(char) => char,
            };
            if high < low {
                return Err(self.fault(&format!("the range {low:?} to {high:?} runs backwards")));
            }
            push(&mut out, low);
            out.push('-');
            push(&mut out, high);
        }
        out.push(']');
        Ok(Token::Class(out))
    }

    fn times(&mut self) -> Result<Token, Fault> {
        let wrong = "expected {m}, {m,}, {,n} or {m,n}";
        let min = self.number()?;
        self.spaces();
        let max = match self.next() {
            Some('}') => match min {
                Some(min) => return Ok(Token::Times(min, Some(min))),
                None => return Err(self.fault(wrong)),
            },
            Some(',') => self.number()?,
            _ => return Err(self.fault(wrong)),
        };
        self.spaces();
        if self.next() != Some('}') || (min.is_none() && max.is_none()) {
            return Err(self.fault(wrong));
        }
        Ok(Token::Times(min.unwrap_or(0), max))
    }

    fn number(&mut self) -> Result<Option<u32>, Fault> {
        self.spaces();
        let mut number: Option<u32> = None;
        while let Some(digit) = self.chars.peek().and_then(|char| char.to_digit(10)) {
            self.next();
            let next =
                number.unwrap_or(0).checked_mul(10).and_then(|number| number.checked_add(digit));
            number = Some(next.ok_or_else(|| self.fault("the number is too large"))?);
        }
        Ok(number)
    }

    fn spaces(&mut self) {
        while self.chars.peek().is_some_and(|char| char.is_whitespace()) {
            self.next();
        }
    }
}

fn push(class: &mut String, char: char) {
    // Writing to a string cannot fail.
    let _ = write!(class, "\\u{{{:x}}}", u32::from(char));
}
