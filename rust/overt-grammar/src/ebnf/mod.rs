//! EBNF as GBNF and xgrammar write it, into rule trees.
//!
//! `name ::= ...` defines a rule; the output is `root`. A rule is made of "text" or 'text', classes such as `[a-z]`
//! and `[^"\n]`, `.` (any character), names, groups in parentheses, alternatives with `|`, and after any of them `*`,
//! `+`, `?`, `{m}`, `{m,}`, `{,n}` or `{m,n}`. `#` begins a comment.

mod scan;

use std::collections::HashSet;

use overt_rule::{Grammar, Rule};

use scan::{Fault, Scanner, Token};

/// Groups inside groups.
const DEEPEST: usize = 60;
/// How often something may have to repeat.
const MOST_REPEATS: u32 = 10_000;

/// Whether a grammar is written in EBNF rather than in Lark.
pub(crate) fn looks_like(text: &str) -> bool {
    let defines = |line: &str| {
        line.split_once("::=").is_some_and(|(name, _)| {
            let name = name.trim();
            !name.is_empty()
                && name.chars().all(|char| char.is_alphanumeric() || "_-.".contains(char))
        })
    };
    text.lines().any(|line| defines(line.trim_start()))
        // A name may stand on a line of its own.
        || (text.contains("::=") && text.lines().any(|line| line.trim_start().starts_with("::=")))
}

/// Reads a grammar.
///
/// # Errors
/// A sentence with line and column, both from 1.
pub(crate) fn read(text: &str, most_rules: usize) -> Result<Grammar, String> {
    let tokens = Scanner::new(text).all().map_err(|fault| fault.to_string())?;
    let mut parser = Parser { tokens, at: 0, depth: 0, most_rules, used: Vec::new() };
    parser.grammar().map_err(|fault| fault.to_string())
}

struct Parser {
    tokens: Vec<(Token, usize, usize)>,
    at: usize,
    depth: usize,
    most_rules: usize,
    /// Names that rules refer to, and where.
    used: Vec<(String, usize, usize)>,
}

impl Parser {
    fn grammar(&mut self) -> Result<Grammar, Fault> {
        let mut rules: Vec<(String, Rule)> = Vec::new();
        let mut names = HashSet::new();
        while let Some(token) = self.peek().cloned() {
            let (line, column) = self.place();
            let Token::Name(name) = token else {
                return Err(self.fault("expected the name of a rule"));
            };
            self.at += 1;
            if self.peek() != Some(&Token::Defines) {
                return Err(self.fault(format!("expected ::= after {name}")));
            }
            self.at += 1;
            let rule = self.alternatives()?;
            if !names.insert(name.clone()) {
                return Err(Fault::new(line, column, format!("rule {name} is defined twice")));
            }
            rules.push((name, rule));
            if rules.len() > self.most_rules {
                return Err(Fault::new(
                    line,
                    column,
                    format!("more than {} rules", self.most_rules),
                ));
            }
        }
        if let Some((name, line, column)) =
            self.used.iter().find(|(name, _, _)| !names.contains(name))
        {
            return Err(Fault::new(*line, *column, format!("there is no rule {name}")));
        }
        if !names.contains("root") {
            return Err(Fault::new(
                1,
                1,
                "there is no rule root, which the output must be".to_owned(),
            ));
        }
        Ok(Grammar { start: Rule::named("root"), rules })
    }

    fn alternatives(&mut self) -> Result<Rule, Fault> {
        let mut options = vec![self.sequence()?];
        while self.peek() == Some(&Token::Or) {
            self.at += 1;
            options.push(self.sequence()?);
        }
        Ok(if options.len() == 1 { options.remove(0) } else { Rule::Any(options) })
    }

    fn sequence(&mut self) -> Result<Rule, Fault> {
        let mut parts = Vec::new();
        loop {
            let part = match self.peek().cloned() {
                Some(Token::Text(text)) => Rule::Text(text),
                Some(Token::Class(class)) => Rule::Pattern(class),
                Some(Token::Name(name)) => {
                    // The name of the next rule ends this one.
                    if self
                        .tokens
                        .get(self.at + 1)
                        .is_some_and(|(token, _, _)| *token == Token::Defines)
                    {
                        break;
                    }
                    let (line, column) = self.place();
                    self.used.push((name.clone(), line, column));
                    Rule::Named(name)
                }
                Some(Token::Open) => {
                    self.depth += 1;
                    if self.depth > DEEPEST {
                        return Err(
                            self.fault(format!("groups are nested more than {DEEPEST} deep"))
                        );
                    }
                    self.at += 1;
                    let group = self.alternatives()?;
                    self.depth -= 1;
                    if self.peek() != Some(&Token::Close) {
                        return Err(self.fault("expected )"));
                    }
                    group
                }
                _ => break,
            };
            self.at += 1;
            let part = self.repeated(part)?;
            parts.push(part);
        }
        match self.peek() {
            None | Some(Token::Or | Token::Close | Token::Name(_)) => {}
            Some(_) => return Err(self.fault("expected text, a class, a name or a group")),
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Rule::Seq(parts) })
    }

    fn repeated(&mut self, part: Rule) -> Result<Rule, Fault> {
        let mut part = part;
        let mut layers = 0;
        while let Some(Token::Times(min, max)) = self.peek().cloned() {
            if max.is_some_and(|max| max < min) {
                return Err(self.fault("the second number is below the first"));
            }
            if max.unwrap_or(min) > MOST_REPEATS {
                return Err(self.fault(format!("at most {MOST_REPEATS} repeats are allowed")));
            }
            layers += 1;
            if layers > 4 {
                return Err(self.fault("more than 4 repeats of repeats"));
            }
            self.at += 1;
            part = if (min, max) == (0, Some(1)) { part.maybe() } else { part.many(min, max) };
        }
        Ok(part)
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _, _)| token)
    }

    fn place(&self) -> (usize, usize) {
        let end = || self.tokens.last().map_or((1, 1), |(_, line, column)| (*line, *column));
        self.tokens.get(self.at).map_or_else(end, |(_, line, column)| (*line, *column))
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        let (line, column) = self.place();
        Fault::new(line, column, message.into())
    }
}
