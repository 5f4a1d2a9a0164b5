//! `wordwrap`: lines broken at a width.

use minijinja::Error;
use minijinja::value::Value;

use super::Call;
use crate::budget;
use crate::error::invalid;
use crate::methods;
use crate::python::{expect_int, expect_text, refused};

/// Line breaks are at these alone, not at every space.
fn is_blank(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ')
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_letter(c: char) -> bool {
    is_word(c) && !c.is_ascii_digit()
}

/// `x|wordwrap(width=79, break_long_words=True, wrapstring=None, break_on_hyphens=True)`.
pub(super) fn wordwrap(call: Call) -> Result<Value, Error> {
    let names = ["width", "break_long_words", "wrapstring", "break_on_hyphens"];
    let (state, value, [width, breaks, wrap, hyphens]) = call.given(names)?;
    let width = width.map_or(Ok(79), |width| expect_int("wordwrap: the width", &width))?;
    let breaks = breaks.is_none_or(|flag| flag.is_true());
    let hyphens = hyphens.is_none_or(|flag| flag.is_true());
    let wrap = wrap.filter(|wrap| !wrap.is_none()).unwrap_or_else(|| Value::from("\n"));
    let wrap = expect_text("wordwrap: the end of lines", &wrap)?;
    let Some(text) = value.as_str() else { return Err(refused("wordwrap", value)) };
    let Ok(width) = usize::try_from(width) else {
        return Err(invalid("wordwrap: the width must be at least 1"));
    };
    let mut out: Vec<String> = Vec::new();
    for line in methods::lines(text, false) {
        if width == 0 {
            return Err(invalid("wordwrap: the width must be at least 1"));
        }
        state.consume_fuel(line.len() as u64)?;
        let chars: Vec<char> = line.chars().collect();
        let lines = wrapped(chunks(&chars, hyphens), width, breaks, hyphens);
        let length = line.len() + lines.len() * (wrap.len() + 24);
        budget::make(state, length)?;
        out.push(lines.join(wrap));
    }
    Ok(Value::from(out.join(wrap)))
}

/// Runs of blanks, and words, cut behind hyphens.
fn chunks(chars: &[char], hyphens: bool) -> Vec<&[char]> {
    let mut chunks = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let blank = is_blank(chars[at]);
        let end =
            chars[at..].iter().position(|c| is_blank(*c) != blank).map_or(chars.len(), |n| at + n);
        if blank || !hyphens {
            chunks.push(&chars[at..end]);
        } else {
            pieces(&chars[at..end], &mut chunks);
        }
        at = end;
    }
    chunks
}

/// Cuts a word behind hyphens between letters, and around dashes.
fn pieces<'c>(word: &'c [char], out: &mut Vec<&'c [char]>) {
    let mut start = 0;
    let mut at = 0;
    while at < word.len() {
        if word[at] != '-' {
            at += 1;
            continue;
        }
        let run = word[at..].iter().take_while(|c| **c == '-').count();
        let before = at.checked_sub(1).map(|index| word[index]);
        let after = word.get(at + run).copied();
        if run >= 2
            && before.is_some_and(|c| {
                is_word(c) || matches!(c, '!' | '"' | '\'' | '&' | '.' | ',' | '?')
            })
            && after.is_some_and(is_word)
        {
            out.push(&word[start..at]);
            out.push(&word[at..at + run]);
            start = at + run;
        } else if run == 1
            && at >= 2
            && is_letter(word[at - 1])
            && at - start >= 2
            && is_letter(word[at - 2])
            && after.is_some_and(is_letter)
            && word.get(at + 2).copied().is_some_and(is_letter)
        {
            out.push(&word[start..=at]);
            start = at + 1;
        }
        at += run;
    }
    if start < word.len() {
        out.push(&word[start..]);
    }
}

fn is_all_blank(chunk: &[char]) -> bool {
    chunk.iter().all(|c| crate::syntax::is_space(*c))
}

fn wrapped(chunks: Vec<&[char]>, width: usize, breaks: bool, hyphens: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut rest: Vec<&[char]> = chunks.into_iter().rev().collect();
    while !rest.is_empty() {
        let mut line: Vec<&[char]> = Vec::new();
        let mut length = 0;
        if !lines.is_empty() && rest.last().is_some_and(|chunk| is_all_blank(chunk)) {
            rest.pop();
        }
        while let Some(chunk) = rest.pop_if(|chunk| length + chunk.len() <= width) {
            length += chunk.len();
            line.push(chunk);
        }
        if let Some(chunk) = rest.pop_if(|chunk| chunk.len() > width) {
            let room = width - length;
            if breaks {
                let mut cut = room;
                if hyphens && chunk.len() > room {
                    let hyphen = chunk[..room].iter().rposition(|c| *c == '-');
                    if let Some(at) =
                        hyphen.filter(|at| *at > 0 && chunk[..*at].iter().any(|c| *c != '-'))
                    {
                        cut = at + 1;
                    }
                }
                let (head, tail) = chunk.split_at(cut);
                line.push(head);
                rest.push(tail);
            } else if line.is_empty() {
                line.push(chunk);
            } else {
                rest.push(chunk);
            }
        }
        if line.last().is_some_and(|chunk| is_all_blank(chunk)) {
            line.pop();
        }
        if !line.is_empty() {
            lines.push(line.concat().into_iter().collect());
        }
    }
    lines
}
