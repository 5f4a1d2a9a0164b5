//! The parts of expressions: literals, brackets, what follows a dot, arguments, filters, tests, targets.

use super::Fault;
use super::ast::{Args, Const, Expr, Node, Target, Unary};
use super::expression::{MAX_DEPTH, Parser};
use super::token::Tok;

/// Where a slice begins and ends, and its step.
type Bounds = [Option<Box<Expr>>; 3];

impl Parser {
    pub(super) fn primary(&mut self) -> Result<Expr, Fault> {
        let line = self.line();
        let node = match self.peek() {
            Tok::Name(_) => match self.expect_name()?.as_str() {
                "true" | "True" => Node::Const(Const::Bool(true)),
                "false" | "False" => Node::Const(Const::Bool(false)),
                "none" | "None" => Node::Const(Const::None),
                name => Node::Name(name.to_owned()),
            },
            Tok::Str(_) => {
                let mut text = String::new();
                while let Tok::Str(part) = self.peek() {
                    text.push_str(part);
                    self.next();
                }
                Node::Const(Const::Str(text))
            }
            Tok::Int(number) => {
                let number = *number;
                self.next();
                Node::Const(Const::Int(number))
            }
            Tok::Float(number) => {
                let number = *number;
                self.next();
                Node::Const(Const::Float(number))
            }
            Tok::Op("(") => return self.parenthesised(),
            Tok::Op("[") => {
                self.next();
                Node::List(self.items("]")?)
            }
            Tok::Op("{") => {
                self.next();
                Node::Dict(self.pairs()?)
            }
            _ => return self.unexpected("an expression"),
        };
        self.make(line, node)
    }

    fn parenthesised(&mut self) -> Result<Expr, Fault> {
        let line = self.line();
        self.next();
        if self.skip_op(")") {
            return self.make(line, Node::Tuple(Vec::new()));
        }
        self.nested += 1;
        if self.nested > MAX_DEPTH {
            return self.fail(format!("an expression is nested deeper than {MAX_DEPTH}"));
        }
        let value = self.tuple(true, None)?;
        self.nested -= 1;
        self.expect_op(")")?;
        Ok(value)
    }

    fn items(&mut self, close: &str) -> Result<Vec<Expr>, Fault> {
        let mut items = Vec::new();
        while !self.is_op(close) {
            if !items.is_empty() {
                self.expect_op(",")?;
            }
            if self.is_op(close) {
                break;
            }
            items.push(self.expression()?);
        }
        self.expect_op(close)?;
        Ok(items)
    }

    fn pairs(&mut self) -> Result<Vec<(Expr, Expr)>, Fault> {
        let mut pairs = Vec::new();
        while !self.is_op("}") {
            if !pairs.is_empty() {
                self.expect_op(",")?;
            }
            if self.is_op("}") {
                break;
            }
            let key = self.expression()?;
            self.expect_op(":")?;
            pairs.push((key, self.expression()?));
        }
        self.expect_op("}")?;
        Ok(pairs)
    }

    pub(super) fn subscript(&mut self, value: Expr) -> Result<Expr, Fault> {
        let line = self.line();
        let value = Box::new(value);
        if self.skip_op(".") {
            return match self.next() {
                Tok::Name(name) => self.make(line, Node::Attr(value, name)),
                Tok::Int(index) => {
                    let index = self.make(line, Node::Const(Const::Int(index)))?;
                    self.make(line, Node::Item(value, Box::new(index)))
                }
                _ => Err(Fault::new(line, "expected a name or a number after .")),
            };
        }
        self.next();
        let mut keys = Vec::new();
        while !self.is_op("]") {
            if !keys.is_empty() {
                self.expect_op(",")?;
            }
            if let Some(bounds) = self.subscribed(&mut keys)? {
                // A slice among several keys is no key of anything that a template can hold.
                if !keys.is_empty() || !self.is_op("]") {
                    return self.fail("a slice must stand alone in its brackets");
                }
                self.next();
                return self.make(line, Node::Slice(value, bounds));
            }
        }
        self.next();
        let key = match (keys.len(), keys.pop()) {
            (1, Some(key)) => key,
            (_, last) => {
                keys.extend(last);
                self.make(line, Node::Tuple(keys))?
            }
        };
        self.make(line, Node::Item(value, Box::new(key)))
    }

    /// Pushes a key, or gives the bounds of a slice.
    fn subscribed(&mut self, keys: &mut Vec<Expr>) -> Result<Option<Bounds>, Fault> {
        let start = if self.is_op(":") { None } else { Some(self.expression()?) };
        if !self.skip_op(":") {
            keys.extend(start);
            return Ok(None);
        }
        let bound = |parser: &mut Self| {
            if parser.is_op(":") || parser.is_op("]") || parser.is_op(",") {
                return Ok(None);
            }
            parser.expression().map(|bound| Some(Box::new(bound)))
        };
        let stop = bound(self)?;
        let step = if self.skip_op(":") { bound(self)? } else { None };
        Ok(Some([start.map(Box::new), stop, step]))
    }

    pub(super) fn args(&mut self) -> Result<Args, Fault> {
        self.expect_op("(")?;
        let mut args = Args::default();
        let mut first = true;
        while !self.is_op(")") {
            if !first {
                self.expect_op(",")?;
                if self.is_op(")") {
                    break;
                }
            }
            first = false;
            let named = matches!(self.peek_second(), Tok::Op("="));
            let allowed = if self.skip_op("*") {
                let allowed = args.rest.is_none() && args.rest_named.is_none();
                args.rest = Some(Box::new(self.expression()?));
                allowed
            } else if self.skip_op("**") {
                let allowed = args.rest_named.is_none();
                args.rest_named = Some(Box::new(self.expression()?));
                allowed
            } else if let (Tok::Name(name), true) = (self.peek(), named) {
                let name = name.clone();
                self.next();
                self.next();
                let twice = args.named.iter().any(|(other, _)| *other == name);
                args.named.push((name, self.expression()?));
                args.rest_named.is_none() && !twice
            } else {
                args.positional.push(self.expression()?);
                args.rest.is_none() && args.rest_named.is_none() && args.named.is_empty()
            };
            if !allowed {
                return self.fail("the arguments of a call are in the wrong order or given twice");
            }
        }
        self.expect_op(")")?;
        Ok(args)
    }

    /// A filter's name and arguments, after `|`.
    pub(super) fn filter(&mut self, value: Option<Expr>) -> Result<Expr, Fault> {
        let line = self.line();
        let name = self.dotted_name()?;
        let args = if self.is_op("(") { self.args()? } else { Args::default() };
        self.make(line, Node::Filter(value.map(Box::new), name, args))
    }

    fn dotted_name(&mut self) -> Result<String, Fault> {
        let mut name = self.expect_name()?;
        while self.skip_op(".") {
            name = format!("{name}.{}", self.expect_name()?);
        }
        Ok(name)
    }

    pub(super) fn test(&mut self, value: Expr) -> Result<Expr, Fault> {
        let line = self.line();
        self.next();
        let negated = self.skip_word("not");
        let name = self.dotted_name()?;
        let mut args = Args::default();
        match self.peek() {
            Tok::Op("(") => args = self.args()?,
            Tok::Name(word) if matches!(word.as_str(), "else" | "or" | "and") => {}
            Tok::Name(word) if word == "is" => {
                return self.fail("tests cannot be chained: write `a is b and a is c`");
            }
            Tok::Name(_) | Tok::Str(_) | Tok::Int(_) | Tok::Float(_) | Tok::Op("[" | "{") => {
                let mut arg = self.primary()?;
                loop {
                    let line = self.line();
                    arg = match self.peek() {
                        Tok::Op("." | "[") => self.subscript(arg)?,
                        Tok::Op("(") => {
                            let args = self.args()?;
                            self.make(line, Node::Call(Box::new(arg), args))?
                        }
                        _ => break,
                    };
                }
                args.positional.push(arg);
            }
            _ => {}
        }
        let test = self.make(line, Node::Test(Box::new(value), name, args))?;
        if negated { self.make(line, Node::Unary(Unary::Not, Box::new(test))) } else { Ok(test) }
    }

    /// What `set`, `for` or `with` assigns to; `ends` is the word after it.
    pub(super) fn target(&mut self, namespaces: bool, ends: Option<&str>) -> Result<Target, Fault> {
        let mut items = Vec::new();
        let mut is_tuple = false;
        loop {
            let ended = matches!(self.peek(), Tok::BlockEnd | Tok::PrintEnd)
                || self.is_op(")")
                || ends.is_some_and(|word| self.is_word(word));
            if ended {
                break;
            }
            items.push(self.single_target(namespaces)?);
            if !self.skip_op(",") {
                break;
            }
            is_tuple = true;
        }
        match (is_tuple, items.pop()) {
            (false, Some(only)) => Ok(only),
            (false, None) => self.unexpected("a name to assign to"),
            (true, last) => {
                items.extend(last);
                Ok(Target::Tuple(items))
            }
        }
    }

    fn single_target(&mut self, namespaces: bool) -> Result<Target, Fault> {
        if self.skip_op("(") {
            self.nested += 1;
            if self.nested > MAX_DEPTH {
                return self.fail(format!("an expression is nested deeper than {MAX_DEPTH}"));
            }
            let inner = self.target(false, None)?;
            self.nested -= 1;
            self.expect_op(")")?;
            return Ok(inner);
        }
        let name = self.expect_name()?;
        if matches!(name.as_str(), "true" | "True" | "false" | "False" | "none" | "None") {
            return self.fail(format!("{name} cannot be assigned to"));
        }
        if namespaces && self.skip_op(".") {
            return Ok(Target::Attr(name, self.expect_name()?));
        }
        Ok(Target::Name(name))
    }
}
