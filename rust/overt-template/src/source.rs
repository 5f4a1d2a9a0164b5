//! Rewrites a template's source where minijinja reads Jinja differently. Lines keep their numbers.
//!
//! - CR LF and CR become LF, as jinja2 does before it reads anything;
//! - `generation` blocks, which only mark spans, become scopes of the same extent;
//! - the newline after `{% raw %}` is kept;
//! - what a `for` iterates passes through a filter that iterates as Python does.

/// Name of the filter that [`rewrite`] puts around the iterated expression.
pub(crate) const ITERATE: &str = "overt_iterate";

/// The source as minijinja should read it. Malformed tags are left for the engine to report.
pub(crate) fn rewrite(source: &str) -> String {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let mut out = String::with_capacity(source.len() + 64);
    let mut rest = source.as_str();
    while let Some(start) = find_open(rest) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let length = match rest.as_bytes().get(1) {
            Some(b'#') => rest.find("#}").map(|end| end + 2),
            Some(b'{') => find_close(rest, "}}"),
            _ => find_close(rest, "%}"),
        };
        let Some(length) = length else { break };
        let tag = &rest[..length];
        rest = &rest[length..];
        if !tag.starts_with("{%") {
            out.push_str(tag);
            continue;
        }
        match tag_name(tag) {
            "generation" => replace_name(tag, "generation", "with", &mut out),
            "endgeneration" => replace_name(tag, "endgeneration", "endwith", &mut out),
            "for" => wrap_iterated(tag, &mut out),
            "raw" => {
                out.push_str(&keep_newline(tag));
                // Nothing inside is a tag.
                let end = find_endraw(rest).unwrap_or(rest.len());
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            }
            _ => out.push_str(tag),
        }
    }
    out.push_str(rest);
    out
}

pub(crate) fn find_open(text: &str) -> Option<usize> {
    text.as_bytes()
        .windows(2)
        .position(|pair| pair[0] == b'{' && matches!(pair[1], b'{' | b'%' | b'#'))
}

/// Length of the tag that `text` begins with: strings are skipped, brackets are balanced.
pub(crate) fn find_close(text: &str, close: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut at = 2;
    while at < bytes.len() {
        if depth == 0 && bytes[at..].starts_with(close.as_bytes()) {
            return Some(at + close.len());
        }
        match bytes[at] {
            quote @ (b'"' | b'\'') => at = skip_string(bytes, at, quote),
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Index of the closing quote, or of the last byte.
pub(crate) fn skip_string(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len() - 1)
}

/// The inside of a block tag, without whitespace marks.
fn inside(tag: &str) -> &str {
    let body = tag.strip_prefix("{%").and_then(|body| body.strip_suffix("%}")).unwrap_or_default();
    let body = body.strip_prefix(['-', '+']).unwrap_or(body);
    body.strip_suffix(['-', '+']).unwrap_or(body)
}

pub(crate) fn tag_name(tag: &str) -> &str {
    let body = inside(tag).trim_start();
    let end = body.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(body.len());
    &body[..end]
}

fn replace_name(tag: &str, from: &str, to: &str, out: &mut String) {
    if inside(tag).trim() == from {
        out.push_str(&tag.replacen(from, to, 1));
    } else {
        out.push_str(tag);
    }
}

/// `{% raw %}` to `{% raw +%}`: trim_blocks would eat the newline that jinja2 keeps.
fn keep_newline(tag: &str) -> String {
    match tag.strip_suffix("%}") {
        Some(body) if !body.ends_with(['-', '+']) => format!("{body}+%}}"),
        _ => tag.to_owned(),
    }
}

pub(crate) fn find_endraw(text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = text[from..].find("{%") {
        let start = from + found;
        let end = text[start..].find("%}").map_or(text.len(), |end| start + end + 2);
        if tag_name(&text[start..end]) == "endraw" {
            return Some(start);
        }
        from = start + 2;
    }
    None
}

/// `{% for x in EXPR if … %}` to `{% for x in (EXPR)|overt_iterate if … %}`.
fn wrap_iterated(tag: &str, out: &mut String) {
    let words = top_level_words(tag);
    let Some(start) = words.iter().find(|word| word.1 == "in").map(|word| word.0 + 2) else {
        return out.push_str(tag);
    };
    let body_end = tag.len() - 2 - usize::from(tag[..tag.len() - 2].ends_with(['-', '+']));
    let end = words
        .iter()
        .find(|word| word.0 > start && matches!(word.1, "if" | "recursive"))
        .map_or(body_end, |word| word.0);
    let expression = &tag[start..end.max(start)];
    let iterated = expression.trim();
    let lead = expression.len() - expression.trim_start().len();
    let trail = expression.len() - expression.trim_end().len();
    if iterated.is_empty() {
        return out.push_str(tag);
    }
    out.push_str(&tag[..start + lead]);
    out.push('(');
    out.push_str(iterated);
    out.push_str(")|");
    out.push_str(ITERATE);
    out.push_str(&tag[end - trail..]);
}

/// Words of a tag outside strings and brackets, with their offsets; attribute names are no words.
fn top_level_words(tag: &str) -> Vec<(usize, &str)> {
    let bytes = tag.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let mut words = Vec::new();
    let mut depth = 0usize;
    let mut at = 2;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'"' | b'\'') => at = skip_string(bytes, at, quote),
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            byte if is_word(byte) => {
                let start = at;
                while at < bytes.len() && is_word(bytes[at]) {
                    at += 1;
                }
                if depth == 0 && bytes[start - 1] != b'.' {
                    words.push((start, &tag[start..at]));
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::rewrite;
    use proptest::prelude::*;

    #[test]
    fn generation_becomes_a_scope() {
        assert_eq!(
            rewrite("{%- generation -%}a{% endgeneration %}{% generation_x %}"),
            "{%- with -%}a{% endwith %}{% generation_x %}"
        );
    }

    #[test]
    fn iterated_expressions_are_wrapped() {
        let cases = [
            ("{% for m in messages %}", "{% for m in (messages)|overt_iterate %}"),
            (
                "{%- for k, v in d.items() if v -%}",
                "{%- for k, v in (d.items())|overt_iterate if v -%}",
            ),
            (
                "{% for x in a['in if'] recursive %}",
                "{% for x in (a['in if'])|overt_iterate recursive %}",
            ),
            ("{%for x in (1 if y else 2)%}", "{%for x in ((1 if y else 2))|overt_iterate%}"),
            ("{% for x in a.if %}", "{% for x in (a.if)|overt_iterate %}"),
            ("{% for x %}", "{% for x %}"),
        ];
        for (source, expected) in cases {
            assert_eq!(rewrite(source), expected);
        }
    }

    #[test]
    fn strings_comments_and_raw_are_left_alone() {
        for source in [
            "{{ '{% generation %}' }}",
            "{# {% generation %} #}x",
            "{{ {'a': {'b': \"}}\"}} }}{% set x = '%}' %}",
        ] {
            assert_eq!(rewrite(source), source);
        }
        assert_eq!(
            rewrite("{% raw %}\n{% generation %}{% endraw %}\r\n"),
            "{% raw +%}\n{% generation %}{% endraw %}\n"
        );
    }

    proptest! {
        #[test]
        fn lines_keep_their_numbers(source in "([{}%#'\"\\\\ \n-]|for x in a|raw|endraw|generation|é){0,40}") {
            let rewritten = rewrite(&source);
            prop_assert_eq!(source.matches('\n').count(), rewritten.matches('\n').count());
        }
    }
}
