//! Regular rules as one terminal.

use std::fmt::Write;

use overt_rule::Rule;

use super::{Writer, times};
use crate::pattern;
use crate::text::{literal, quoted, slashed};

impl<'a> Writer<'a> {
    /// The expression of a regular rule inside a terminal, and whether it matches empty text. Composites get
    /// terminals of their own, since Lark nests only so deep.
    pub(super) fn regular(&mut self, rule: &'a Rule) -> Result<(String, bool), String> {
        self.depth += 1;
        if self.depth > super::DEEPEST {
            return Err("its rules are nested too deeply".to_owned());
        }
        let written = self.regular_at(rule);
        self.depth -= 1;
        written
    }

    fn regular_at(&mut self, rule: &'a Rule) -> Result<(String, bool), String> {
        match rule {
            Rule::Text(text) | Rule::Marker(text) => Ok((quoted(text), text.is_empty())),
            Rule::Pattern(regex) => {
                let (regex, empty) =
                    pattern::whole(regex, self.most_regex_bytes).map_err(|error| {
                        format!("the regular expression {} cannot be used: {error}", quoted(regex))
                    })?;
                Ok(if regex.is_empty() { (quoted(""), true) } else { (slashed(&regex), empty) })
            }
            Rule::Until(stops) => Ok((self.without(stops)?, true)),
            Rule::Both(left, right) => {
                let (left, left_empty) = self.regular(left)?;
                let (right, right_empty) = self.regular(right)?;
                Ok((self.terminal(&format!("{left} & {right}"))?, left_empty && right_empty))
            }
            Rule::Seq(rules) => {
                let mut parts = Vec::with_capacity(rules.len());
                let mut empty = true;
                for rule in rules {
                    let (part, part_empty) = self.regular(rule)?;
                    parts.push(part);
                    empty &= part_empty;
                }
                if parts.is_empty() {
                    return Ok((quoted(""), true));
                }
                Ok((self.terminal(&parts.join(" "))?, empty))
            }
            Rule::Any(rules) => {
                let mut parts = Vec::with_capacity(rules.len());
                let mut empty = false;
                for rule in rules {
                    let (part, part_empty) = self.regular(rule)?;
                    parts.push(part);
                    empty |= part_empty;
                }
                Ok((self.terminal(&parts.join(" | "))?, empty))
            }
            Rule::Maybe(rule) => {
                let (inner, _) = self.regular(rule)?;
                Ok((self.terminal(&format!("({inner})?"))?, true))
            }
            Rule::Many { rule, min, max } => {
                let times = times(*min, *max)?;
                if times.is_empty() {
                    return Ok((quoted(""), true));
                }
                let (inner, empty) = self.regular(rule)?;
                Ok((self.terminal(&format!("({inner}){times}"))?, empty || *min == 0))
            }
            Rule::Named(name) => {
                let body = self.body(name)?;
                if let Some((terminal, empty)) = self.terminals.get(name.as_str()) {
                    return Ok((terminal.clone(), *empty));
                }
                let (body, empty) = self.regular(body)?;
                let terminal = self.terminal(&body)?;
                self.terminals.insert(name.clone(), (terminal.clone(), empty));
                Ok((terminal, empty))
            }
            Rule::Json(_) => Err("JSON is not regular".to_owned()),
        }
    }

    /// Free text in which none of these strings occurs.
    fn without(&mut self, stops: &[String]) -> Result<String, String> {
        let mut stops: Vec<String> =
            stops.iter().filter(|stop| !stop.is_empty()).map(|stop| literal(stop)).collect();
        if stops.is_empty() {
            return Ok("/(?s:.*)/".to_owned());
        }
        stops.sort();
        stops.dedup();
        let has = slashed(&format!("(?s:.*)({})(?s:.*)", stops.join("|")));
        if let Some((terminal, _)) = self.terminals.get(has.as_str()) {
            return Ok(terminal.clone());
        }
        // The first half keeps the complement, which is over bytes, to valid text.
        let terminal = self.terminal(&format!("/(?s:.*)/ & ~{has}"))?;
        self.terminals.insert(has, (terminal.clone(), true));
        Ok(terminal)
    }

    /// A fresh terminal for this expression.
    pub(super) fn terminal(&mut self, text: &str) -> Result<String, String> {
        let symbol = self.symbol("T")?;
        let _ = writeln!(self.lark, "{symbol}: {text}");
        Ok(symbol)
    }
}
