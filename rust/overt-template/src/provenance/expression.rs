//! Rewrites a template's expressions so that its decisions see text without marks.
//!
//! The operands of comparisons and the keys in brackets pass through a filter that takes marks off; the
//! operands of arithmetic through one that turns marked numbers into numbers. Everything else that looks
//! into text is a filter, a test or a method.

use crate::source::{find_close, find_endraw, find_open, skip_string, tag_name};

/// Filter that takes the marks off a value.
pub(crate) const PLAIN: &str = "overt_plain";
/// Filter that takes the marks off a number and leaves other values alone.
pub(crate) const NUMBER: &str = "overt_number";

/// The source with its expressions rewritten. It must have been brought into the engine's form before.
pub(crate) fn rewrite(source: &str) -> String {
    let mut out = String::with_capacity(source.len() * 2);
    let mut rest = source;
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
        if tag.starts_with("{#") {
            out.push_str(tag);
            continue;
        }
        out.push_str(&tag[..2]);
        out.push_str(&inside(&tag[2..length - 2]));
        out.push_str(&tag[length - 2..]);
        if tag.starts_with("{%") && tag_name(tag) == "raw" {
            let end = find_endraw(rest).unwrap_or(rest.len());
            out.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    out.push_str(rest);
    out
}

/// The inside of a tag, rewritten; the marks `-` and `+` at its ends stay there.
fn inside(body: &str) -> String {
    let lead = usize::from(body.starts_with(['-', '+']));
    let trail = usize::from(body.len() > lead && body.ends_with(['-', '+']));
    let expression = &body[lead..body.len() - trail];
    let mut rewrite = Rewrite { tokens: tokens(expression), at: 0, inserts: Vec::new() };
    // A closing bracket without an opening one: the engine has refused such a template already.
    while rewrite.at < rewrite.tokens.len() {
        rewrite.group(Group::Plain);
        rewrite.at += 1;
    }
    // Stable: at the same place, what was closed first stays first.
    rewrite.inserts.sort_by_key(|insert| insert.0);
    let mut out = body[..lead].to_owned();
    let mut done = 0;
    for (at, text) in rewrite.inserts {
        out.push_str(&expression[done..at]);
        out.push_str(&text);
        done = at;
    }
    out.push_str(&expression[done..]);
    out.push_str(&body[body.len() - trail..]);
    out
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Word,
    Literal,
    Operator,
    /// A bracket and all that it encloses.
    Brackets,
}

#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    kind: Kind,
    text: &'a str,
    start: usize,
    end: usize,
}

impl Token<'_> {
    fn is_operand(&self) -> bool {
        match self.kind {
            Kind::Word => !is_keyword(self.text),
            Kind::Literal | Kind::Brackets => true,
            Kind::Operator => false,
        }
    }

    fn is_comparison(&self) -> bool {
        matches!(self.text, "==" | "!=" | "<" | "<=" | ">" | ">=" | "in")
            && self.kind != Kind::Literal
    }

    /// True of what no operand of a comparison reaches across.
    fn is_boundary(&self) -> bool {
        match self.kind {
            Kind::Operator => matches!(self.text, "," | ":" | "=") || self.is_comparison(),
            Kind::Word => {
                matches!(
                    self.text,
                    "and" | "or" | "not" | "if" | "else" | "elif" | "in" | "recursive"
                )
            }
            _ => false,
        }
    }
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "and" | "or" | "not" | "if" | "else" | "elif" | "in" | "is" | "recursive" | "set" | "for"
    )
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            quote @ (b'"' | b'\'') => {
                at = skip_string(bytes, at, quote) + 1;
                Kind::Literal
            }
            byte if is_word(byte) => {
                let number = byte.is_ascii_digit();
                while at < bytes.len() && (is_word(bytes[at]) || (number && bytes[at] == b'.')) {
                    at += 1;
                }
                if number { Kind::Literal } else { Kind::Word }
            }
            _ => {
                let two = matches!(
                    bytes.get(at..at + 2),
                    Some(b"==" | b"!=" | b"<=" | b">=" | b"//" | b"**")
                );
                at += if two { 2 } else { 1 };
                Kind::Operator
            }
        };
        tokens.push(Token { kind, text: &text[start..at], start, end: at });
    }
    tokens
}

/// What brackets mean to what they enclose.
#[derive(Clone, Copy, PartialEq)]
enum Group {
    Plain,
    /// `x[…]`: a key, or the bounds of a slice.
    Index,
    /// `loop.changed(…)`: what is compared with the turn before.
    Changed,
}

struct Rewrite<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    inserts: Vec<(usize, String)>,
}

impl<'a> Rewrite<'a> {
    /// Rewrites up to the closing bracket, at which it stops, or to the end.
    fn group(&mut self, group: Group) {
        let mut level: Vec<Token<'a>> = Vec::new();
        while let Some(token) = self.tokens.get(self.at).copied() {
            match token.text {
                ")" | "]" | "}" if token.kind == Kind::Operator => break,
                "(" | "[" | "{" if token.kind == Kind::Operator => {
                    let inner = match (token.text, level.last()) {
                        ("[", Some(before)) if before.is_operand() => Group::Index,
                        ("(", Some(before)) if before.text == "changed" => Group::Changed,
                        _ => Group::Plain,
                    };
                    self.at += 1;
                    self.group(inner);
                    let end = self.tokens.get(self.at).map_or(token.end, |close| close.end);
                    level.push(Token { kind: Kind::Brackets, end, ..token });
                }
                _ => level.push(token),
            }
            self.at += 1;
        }
        self.level(&level, group);
    }

    /// Rewrites what stands at one depth of brackets.
    fn level(&mut self, level: &[Token<'a>], group: Group) {
        // `for x in …`: this is no comparison.
        let binds = level.first().is_some_and(|token| token.text == "for");
        let skip = if binds { level.iter().position(|token| token.text == "in") } else { None };
        let first = skip.map_or(0, |at| at + 1);
        let is_boundary = |at: &usize| {
            let token = &level[*at];
            token.is_boundary() && !(token.kind == Kind::Word && follows_is(level, *at))
        };
        let ends: Vec<usize> =
            (first..level.len()).filter(is_boundary).chain([level.len()]).collect();
        let is_slice = level.iter().any(|token| token.kind == Kind::Operator && token.text == ":");
        for (index, end) in ends.iter().copied().enumerate() {
            let before = index.checked_sub(1).map(|index| ends[index]);
            let start = before.map_or(first, |at| at + 1);
            let compared = before.is_some_and(|at| level[at].is_comparison())
                || level.get(end).is_some_and(Token::is_comparison)
                || is_not_in(level, end);
            let operand = skip_tag_name(&level[start..end]);
            self.arithmetic(operand);
            if compared || group == Group::Changed {
                self.wrap(operand, PLAIN);
            } else if group == Group::Index && is_slice {
                self.wrap(operand, NUMBER);
            }
        }
        if group == Group::Index && !is_slice {
            self.wrap(level, PLAIN);
        }
    }

    /// Wraps the operands of arithmetic in one operand of comparisons.
    fn arithmetic(&mut self, tokens: &[Token<'a>]) {
        let is_binary = |at: usize| {
            at > 0
                && tokens[at].kind == Kind::Operator
                && matches!(tokens[at].text, "+" | "-" | "*" | "/" | "//" | "%" | "**" | "~")
                && tokens[at - 1].is_operand()
        };
        let operators: Vec<usize> = (0..tokens.len()).filter(|at| is_binary(*at)).collect();
        let calculates = |at: Option<&usize>| {
            at.is_some_and(|at| tokens.get(*at).is_some_and(|token| token.text != "~"))
        };
        let mut start = 0;
        for index in 0..=operators.len() {
            let end = operators.get(index).copied().unwrap_or(tokens.len());
            let before = index.checked_sub(1).and_then(|index| operators.get(index));
            if calculates(before) || calculates(operators.get(index)) {
                self.wrap(&tokens[start..end], NUMBER);
            }
            start = end + 1;
        }
    }

    /// `(tokens)|filter`, but for what is a literal or nothing.
    fn wrap(&mut self, tokens: &[Token<'a>], filter: &str) {
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return };
        if tokens.len() == 1 && first.kind == Kind::Literal {
            return;
        }
        self.inserts.push((first.start, "((".to_owned()));
        self.inserts.push((last.end, format!(")|{filter})")));
    }
}

/// True where `level[at]` is part of a test: `x is in y`, `x is not none`.
fn follows_is(level: &[Token<'_>], at: usize) -> bool {
    let word = |back: usize| at.checked_sub(back).map_or("", |at| level[at].text);
    word(1) == "is" || (word(1) == "not" && word(2) == "is")
}

fn is_not_in(level: &[Token<'_>], at: usize) -> bool {
    let word = |at: usize| level.get(at).map_or("", |token| token.text);
    word(at) == "not" && word(at + 1) == "in"
}

/// `elif x` stays outside what is wrapped of `elif x == y`; keywords at the start are boundaries already.
fn skip_tag_name<'a, 'b>(tokens: &'b [Token<'a>]) -> &'b [Token<'a>] {
    match tokens {
        [first, second, ..]
            if first.kind == Kind::Word
                && !is_keyword(first.text)
                && second.is_operand()
                && !matches!(second.text.as_bytes().first(), Some(b'(' | b'[')) =>
        {
            &tokens[1..]
        }
        _ => tokens,
    }
}

#[cfg(test)]
mod tests {
    use super::{NUMBER, PLAIN, rewrite};
    use proptest::prelude::*;

    #[test]
    fn decisions_see_text_without_marks() {
        let p = |text: &str| format!("(({text})|overt_plain)");
        let n = |text: &str| format!("(({text})|overt_number)");
        let cases = [
            ("{{ a == 'b' }}", format!("{{{{ {} == 'b' }}}}", p("a"))),
            (
                "{%- if a.b|trim != c[0] and d -%}",
                format!("{{%- if {} != {} and d -%}}", p("a.b|trim"), p("c[0]")),
            ),
            (
                "{% elif not x in y or '</think>' not in z %}",
                format!(
                    "{{% elif not {} in {} or '</think>' not in {} %}}",
                    p("x"),
                    p("y"),
                    p("z")
                ),
            ),
            (
                "{% for x in (y)|f if x.role == r %}",
                format!("{{% for x in (y)|f if {} == {} %}}", p("x.role"), p("r")),
            ),
            (
                "{% set x = a is in [b] and a is not none %}",
                "{% set x = a is in [b] and a is not none %}".to_owned(),
            ),
            (
                "{{ m[k] ~ m['k'] ~ m[1:n] }}",
                format!("{{{{ m[{}] ~ m['k'] ~ m[1:{}] }}}}", p("k"), n("n")),
            ),
            (
                "{{ 'a' + b|f(c == 1) + -1 }}",
                format!("{{{{ 'a' + {} + {} }}}}", n(&format!("b|f({} == 1)", p("c"))), n("-1")),
            ),
            (
                "{{ x if (a ~ b) == c else [d, 'in'] }}",
                format!("{{{{ x if {} == {} else [d, 'in'] }}}}", p("(a ~ b)"), p("c")),
            ),
            (
                "{{ m[a + 1] > 2 }}",
                format!("{{{{ {} > 2 }}}}", p(&format!("m[{}]", p(&format!("{} + 1", n("a")))))),
            ),
            (
                "{{ loop.changed(a.b, c) }}",
                format!("{{{{ loop.changed({}, {}) }}}}", p("a.b"), p("c")),
            ),
            ("{{ f(a=b, c=d == e) }}", format!("{{{{ f(a=b, c={} == {}) }}}}", p("d"), p("e"))),
        ];
        for (source, expected) in cases {
            assert_eq!(rewrite(source), expected);
        }
    }

    #[test]
    fn text_comments_and_raw_are_left_alone() {
        for source in
            ["a == b", "{# a == b #}", "{% raw %}{{ a == b }}{% endraw %}", "{{ 'a == b' }}"]
        {
            assert_eq!(rewrite(source), source);
        }
    }

    proptest! {
        #[test]
        fn any_source_keeps_its_characters(source in "([{}%#'\"\\\\ \n.|,:=<+~()\\[\\]-]| in | is not | not | for x in |raw|endraw|a|1|é){0,40}") {
            let rewritten = rewrite(&source);
            let added = [PLAIN, NUMBER].map(|filter| format!(")|{filter})"));
            let rest = rewritten.replace(&added[0], "").replace(&added[1], "");
            prop_assert_eq!(rest.replace("((", ""), source.replace("((", ""));
        }
    }
}
