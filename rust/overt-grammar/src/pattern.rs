//! Regular expressions as clients write them.

use regex_syntax::ast::{Ast, parse::Parser};
use regex_syntax::hir::{Hir, HirKind};

/// Checks a regular expression and takes away anchors at its ends, which say nothing where the whole text must match.
/// Gives the expression and whether it matches empty text.
///
/// # Errors
/// What is wrong, as the end of a sentence.
pub(crate) fn whole(regex: &str, most_bytes: usize) -> Result<(String, bool), String> {
    checked(regex, most_bytes)?;
    let ast = Parser::new().parse(regex).map_err(|error| said(error.kind()))?;
    let mut cuts = Vec::new();
    cut_anchors(&ast, true, true, &mut cuts);
    cuts.sort_unstable();
    let mut kept = String::with_capacity(regex.len());
    let mut at = 0;
    for (start, end) in cuts {
        kept.push_str(&regex[at..start]);
        at = end;
    }
    kept.push_str(&regex[at..]);
    let hir = regex_syntax::parse(&kept).map_err(|error| error.to_string())?;
    if has_look(&hir) {
        return Err(
            "anchors and word boundaries (^, $, \\b) are only supported at its two ends".to_owned()
        );
    }
    Ok((kept, hir.properties().minimum_len() == Some(0)))
}

/// What any regular expression must be.
pub(crate) fn checked(regex: &str, most_bytes: usize) -> Result<(), String> {
    if regex.len() > most_bytes {
        return Err(format!("it has {} bytes; at most {most_bytes} are allowed", regex.len()));
    }
    if regex.contains('\0') {
        return Err("it holds a NUL character".to_owned());
    }
    let mut parser = regex_syntax::ParserBuilder::new().nest_limit(100).build();
    parser.parse(regex).map(|_| ()).map_err(|error| match error {
        regex_syntax::Error::Parse(error) => said(error.kind()),
        other => other.to_string(),
    })
}

fn said(kind: &dyn std::fmt::Display) -> String {
    format!("{kind} (Rust's regex syntax is supported: no look-around, no back references)")
}

/// Spans of `^` at the start and `$` at the end of the whole, on every path.
fn cut_anchors(ast: &Ast, starts: bool, ends: bool, cuts: &mut Vec<(usize, usize)>) {
    use regex_syntax::ast::AssertionKind::{EndLine, EndText, StartLine, StartText};
    match ast {
        Ast::Assertion(assertion) => {
            let at_edge = match assertion.kind {
                StartLine | StartText => starts,
                EndLine | EndText => ends,
                _ => false,
            };
            if at_edge {
                cuts.push((assertion.span.start.offset, assertion.span.end.offset));
            }
        }
        Ast::Group(group) => cut_anchors(&group.ast, starts, ends, cuts),
        Ast::Alternation(parts) => {
            for part in &parts.asts {
                cut_anchors(part, starts, ends, cuts);
            }
        }
        Ast::Concat(parts) => {
            let last = parts.asts.len().saturating_sub(1);
            for (at, part) in parts.asts.iter().enumerate() {
                cut_anchors(part, starts && at == 0, ends && at == last, cuts);
            }
        }
        _ => {}
    }
}

fn has_look(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Look(_) => true,
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => false,
        HirKind::Repetition(repetition) => has_look(&repetition.sub),
        HirKind::Capture(capture) => has_look(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(has_look),
    }
}
