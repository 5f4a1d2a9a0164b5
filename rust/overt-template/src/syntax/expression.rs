//! Expressions, with jinja2's precedence.

use super::Fault;
use super::ast::{Expr, Node, Op, Unary};
use super::depth;
use super::token::{Tok, Token};

/// Nodes on the way down into one expression.
pub(super) const MAX_DEPTH: u16 = 96;
/// Operands of one chain of operators.
const MAX_OPERANDS: usize = 400;

pub(super) struct Parser {
    tokens: Vec<Token>,
    at: usize,
    pub(super) nested: u16,
    /// Blocks open around the statement being read.
    pub(super) blocks: u16,
    /// Inside a loop of the same function: `break` is allowed.
    pub(super) in_loop: bool,
}

impl Parser {
    pub(super) fn new(tokens: Vec<Token>) -> Self {
        Self { tokens, at: 0, nested: 0, blocks: 0, in_loop: false }
    }

    pub(super) fn peek(&self) -> &Tok {
        &self.tokens[self.at].tok
    }

    pub(super) fn peek_second(&self) -> &Tok {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].tok
    }

    pub(super) fn line(&self) -> u32 {
        self.tokens[self.at].line
    }

    pub(super) fn next(&mut self) -> Tok {
        let tok = self.tokens[self.at].tok.clone();
        // The last token is the end, and stays.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        tok
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::new(self.line(), message))
    }

    pub(super) fn unexpected<T>(&self, expected: &str) -> Result<T, Fault> {
        self.fail(format!("expected {expected}, found {}", describe(self.peek())))
    }

    pub(super) fn is_op(&self, op: &str) -> bool {
        matches!(self.peek(), Tok::Op(found) if *found == op)
    }

    pub(super) fn skip_op(&mut self, op: &str) -> bool {
        let found = self.is_op(op);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn expect_op(&mut self, op: &str) -> Result<(), Fault> {
        if self.skip_op(op) { Ok(()) } else { self.unexpected(op) }
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Tok::Name(found) if found == word)
    }

    pub(super) fn skip_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn expect_name(&mut self) -> Result<String, Fault> {
        match self.peek() {
            Tok::Name(_) => match self.next() {
                Tok::Name(name) => Ok(name),
                _ => self.unexpected("a name"),
            },
            _ => self.unexpected("a name"),
        }
    }

    pub(super) fn make(&self, line: u32, node: Node) -> Result<Expr, Fault> {
        let depth = 1 + depth::deepest(&node);
        if depth > MAX_DEPTH {
            return Err(Fault::new(
                line,
                format!("an expression is nested deeper than {MAX_DEPTH}"),
            ));
        }
        Ok(Expr { line, depth, node })
    }

    /// An expression, or several that a comma joins to a tuple; `ends` is the word that may follow a comma.
    pub(super) fn tuple(&mut self, condition: bool, ends: Option<&str>) -> Result<Expr, Fault> {
        let line = self.line();
        let mut items = Vec::new();
        let mut is_tuple = false;
        loop {
            let ended = matches!(self.peek(), Tok::PrintEnd | Tok::BlockEnd)
                || self.is_op(")")
                || ends.is_some_and(|word| self.is_word(word));
            if ended {
                break;
            }
            items.push(if condition { self.expression()? } else { self.or()? });
            if !self.skip_op(",") {
                break;
            }
            is_tuple = true;
        }
        match (is_tuple, items.pop()) {
            (false, Some(only)) => Ok(only),
            (false, None) => self.unexpected("an expression"),
            (true, last) => {
                items.extend(last);
                self.make(line, Node::Tuple(items))
            }
        }
    }

    pub(super) fn expression(&mut self) -> Result<Expr, Fault> {
        self.nested += 1;
        let parsed = if self.nested > MAX_DEPTH {
            self.fail(format!("an expression is nested deeper than {MAX_DEPTH}"))
        } else {
            self.conditional()
        };
        self.nested -= 1;
        parsed
    }

    fn conditional(&mut self) -> Result<Expr, Fault> {
        let mut value = self.or()?;
        while self.is_word("if") {
            let line = self.line();
            self.next();
            let test = Box::new(self.or()?);
            let other =
                if self.skip_word("else") { Some(Box::new(self.expression()?)) } else { None };
            value = self.make(line, Node::Cond { test, value: Box::new(value), other })?;
        }
        Ok(value)
    }

    /// `first`, or `first SEPARATOR next …` as one node.
    fn chain(
        &mut self,
        word: &str,
        next: fn(&mut Self) -> Result<Expr, Fault>,
        join: fn(Vec<Expr>) -> Node,
    ) -> Result<Expr, Fault> {
        let line = self.line();
        let first = next(self)?;
        let is_separator = |parser: &Self| parser.is_word(word) || parser.is_op(word);
        if !is_separator(self) {
            return Ok(first);
        }
        let mut items = vec![first];
        while is_separator(self) {
            self.next();
            items.push(next(self)?);
            self.bounded(items.len())?;
        }
        self.make(line, join(items))
    }

    fn bounded(&self, operands: usize) -> Result<(), Fault> {
        if operands > MAX_OPERANDS {
            return self.fail(format!("more than {MAX_OPERANDS} operands in one expression"));
        }
        Ok(())
    }

    pub(super) fn or(&mut self) -> Result<Expr, Fault> {
        self.chain("or", Self::and, Node::Or)
    }

    fn and(&mut self) -> Result<Expr, Fault> {
        self.chain("and", Self::not, Node::And)
    }

    fn not(&mut self) -> Result<Expr, Fault> {
        let line = self.line();
        let mut count = 0u16;
        while self.skip_word("not") {
            count += 1;
            if count > MAX_DEPTH {
                return self.fail(format!("an expression is nested deeper than {MAX_DEPTH}"));
            }
        }
        let mut value = self.compare()?;
        for _ in 0..count {
            value = self.make(line, Node::Unary(Unary::Not, Box::new(value)))?;
        }
        Ok(value)
    }

    fn compare(&mut self) -> Result<Expr, Fault> {
        let line = self.line();
        let first = self.sum()?;
        let mut rest = Vec::new();
        loop {
            let op = match self.peek() {
                Tok::Op("==") => Op::Eq,
                Tok::Op("!=") => Op::Ne,
                Tok::Op("<") => Op::Lt,
                Tok::Op("<=") => Op::Le,
                Tok::Op(">") => Op::Gt,
                Tok::Op(">=") => Op::Ge,
                Tok::Name(word) if word == "in" => Op::In,
                Tok::Name(word) if word == "not" => match self.peek_second() {
                    Tok::Name(word) if word == "in" => {
                        self.next();
                        Op::NotIn
                    }
                    _ => break,
                },
                _ => break,
            };
            self.next();
            rest.push((op, self.sum()?));
            self.bounded(rest.len())?;
        }
        if rest.is_empty() {
            return Ok(first);
        }
        self.make(line, Node::Compare(Box::new(first), rest))
    }

    fn math(
        &mut self,
        ops: &[(&str, Op)],
        next: fn(&mut Self) -> Result<Expr, Fault>,
    ) -> Result<Expr, Fault> {
        let line = self.line();
        let first = next(self)?;
        let mut rest = Vec::new();
        while let Some((_, op)) = ops.iter().find(|(text, _)| self.is_op(text)) {
            self.next();
            rest.push((*op, next(self)?));
            self.bounded(rest.len())?;
        }
        if rest.is_empty() {
            return Ok(first);
        }
        self.make(line, Node::Math(Box::new(first), rest))
    }

    fn sum(&mut self) -> Result<Expr, Fault> {
        self.math(&[("+", Op::Add), ("-", Op::Sub)], Self::concat)
    }

    fn concat(&mut self) -> Result<Expr, Fault> {
        self.chain("~", Self::product, Node::Concat)
    }

    fn product(&mut self) -> Result<Expr, Fault> {
        let ops = [("*", Op::Mul), ("/", Op::Div), ("//", Op::FloorDiv), ("%", Op::Mod)];
        self.math(&ops, Self::power)
    }

    fn power(&mut self) -> Result<Expr, Fault> {
        self.math(&[("**", Op::Pow)], |parser| parser.unary(true))
    }

    fn unary(&mut self, filters: bool) -> Result<Expr, Fault> {
        let line = self.line();
        let op = if self.is_op("-") {
            Some(Unary::Neg)
        } else if self.is_op("+") {
            Some(Unary::Pos)
        } else {
            None
        };
        let mut value = match op {
            Some(op) => {
                self.next();
                self.nested += 1;
                if self.nested > MAX_DEPTH {
                    return self.fail(format!("an expression is nested deeper than {MAX_DEPTH}"));
                }
                let inner = self.unary(false)?;
                self.nested -= 1;
                self.make(line, Node::Unary(op, Box::new(inner)))?
            }
            None => self.primary()?,
        };
        loop {
            let line = self.line();
            value = match self.peek() {
                Tok::Op("." | "[") => self.subscript(value)?,
                Tok::Op("(") => {
                    let args = self.args()?;
                    self.make(line, Node::Call(Box::new(value), args))?
                }
                _ => break,
            };
        }
        if !filters {
            return Ok(value);
        }
        loop {
            let line = self.line();
            value = match self.peek() {
                Tok::Op("|") => {
                    self.next();
                    self.filter(Some(value))?
                }
                Tok::Op("(") => {
                    let args = self.args()?;
                    self.make(line, Node::Call(Box::new(value), args))?
                }
                Tok::Name(word) if word == "is" => self.test(value)?,
                _ => break,
            };
        }
        Ok(value)
    }
}

pub(super) fn describe(tok: &Tok) -> String {
    match tok {
        Tok::Text(_) => "text".to_owned(),
        Tok::PrintStart => "{{".to_owned(),
        Tok::PrintEnd => "}}".to_owned(),
        Tok::BlockStart => "{%".to_owned(),
        Tok::BlockEnd => "%}".to_owned(),
        Tok::Name(name) => name.clone(),
        Tok::Str(text) => format!("{text:?}"),
        Tok::Int(number) => number.to_string(),
        Tok::Float(number) => number.to_string(),
        Tok::Op(op) => (*op).to_owned(),
        Tok::Eof => "the end of the template".to_owned(),
    }
}
