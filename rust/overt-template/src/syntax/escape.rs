//! Escapes in string literals, as Python reads them.

use std::iter::Peekable;
use std::str::Chars;

/// The text that a literal stands for.
pub(super) fn unescape(literal: &str) -> Result<String, String> {
    if !literal.contains('\\') {
        return Ok(literal.to_owned());
    }
    let mut out = String::with_capacity(literal.len());
    let mut chars = literal.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('\n') => {}
            Some(c @ ('\\' | '\'' | '"')) => out.push(c),
            Some('a') => out.push('\u{7}'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('v') => out.push('\u{b}'),
            Some('x') => out.push(hexadecimal(&mut chars, 'x', 2)?),
            Some('u') => out.push(hexadecimal(&mut chars, 'u', 4)?),
            Some('U') => out.push(hexadecimal(&mut chars, 'U', 8)?),
            Some('N') => return Err("\\N{…} is not supported: write the character".to_owned()),
            Some(c @ '0'..='7') => {
                let mut code = c.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    match chars.peek().and_then(|c| c.to_digit(8)) {
                        Some(digit) => code = code * 8 + digit,
                        None => break,
                    }
                    chars.next();
                }
                out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            Some(c) => out.extend(['\\', c]),
            None => return Err("a text ends in \\".to_owned()),
        }
    }
    Ok(out)
}

fn hexadecimal(chars: &mut Peekable<Chars>, kind: char, digits: u32) -> Result<char, String> {
    let mut code = 0u32;
    for _ in 0..digits {
        match chars.next().and_then(|c| c.to_digit(16)) {
            Some(digit) => code = code.wrapping_mul(16).wrapping_add(digit),
            None => {
                return Err(format!("\\{kind} must be followed by {digits} hexadecimal digits"));
            }
        }
    }
    char::from_u32(code).ok_or_else(|| format!("\\{kind} with {code:x} is no character"))
}
