//! Words and lines of a text.

use crate::syntax::is_space;

/// Splits at runs of white space, at most `limit` times, from the left or the right.
pub(crate) fn split_blank(content: &str, limit: usize, from_right: bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let trim = |rest| match from_right {
        true => str::trim_end_matches(rest, is_space),
        false => str::trim_start_matches(rest, is_space),
    };
    let mut rest = trim(content);
    while !rest.is_empty() {
        let cut = match from_right {
            true => rest
                .rfind(is_space)
                .map(|at| at + rest[at..].chars().next().map_or(1, char::len_utf8)),
            false => rest.find(is_space),
        };
        // What the limit leaves over keeps the white space at its far side.
        let Some(at) = cut.filter(|_| parts.len() < limit) else {
            parts.push(rest);
            break;
        };
        let (left, right) = rest.split_at(at);
        parts.push(if from_right { right } else { left });
        rest = trim(if from_right { left } else { right });
    }
    if from_right {
        parts.reverse();
    }
    parts
}

/// Lines, with or without what ends them; no line follows the last end.
pub(crate) fn lines(content: &str, keep: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut chars = content.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends = matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        );
        if !ends {
            continue;
        }
        let mut next = at + c.len_utf8();
        if c == '\r' && chars.next_if(|next| next.1 == '\n').is_some() {
            next += 1;
        }
        lines.push(&content[start..if keep { next } else { at }]);
        start = next;
    }
    if start < content.len() {
        lines.push(&content[start..]);
    }
    lines
}
