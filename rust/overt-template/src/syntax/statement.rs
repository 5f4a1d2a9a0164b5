//! Statements.

use super::Fault;
use super::ast::{Const, Expr, For, Kind, Node, Signature, Stmt, Target};
use super::expression::{Parser, describe};
use super::token::{Tok, Token};

/// Blocks inside each other.
const MAX_BLOCKS: u16 = 64;

/// Reads all statements of a template.
pub(super) fn template(tokens: Vec<Token>) -> Result<Vec<Stmt>, Fault> {
    let mut parser = Parser::new(tokens);
    let (body, _) = parser.body(&[])?;
    Ok(body)
}

impl Parser {
    /// Statements up to a tag among `ends`, whose name is read and given; to the end without any.
    fn body(&mut self, ends: &[&str]) -> Result<(Vec<Stmt>, String), Fault> {
        self.blocks += 1;
        if self.blocks > MAX_BLOCKS {
            return self.fail(format!("blocks are nested deeper than {MAX_BLOCKS}"));
        }
        let mut body = Vec::new();
        let end = loop {
            let line = self.line();
            match self.next() {
                Tok::Text(text) => body.push(Stmt { line, kind: Kind::Text(text) }),
                Tok::PrintStart => {
                    let value = self.tuple(true, None)?;
                    if !matches!(self.peek(), Tok::PrintEnd) {
                        return self.unexpected("}}");
                    }
                    self.next();
                    body.push(Stmt { line, kind: Kind::Print(value) });
                }
                Tok::BlockStart => {
                    let Tok::Name(name) = self.peek() else {
                        return self.unexpected("a tag's name");
                    };
                    if ends.contains(&name.as_str()) {
                        break self.expect_name()?;
                    }
                    self.statement(&mut body)?;
                    self.end_tag()?;
                }
                Tok::Eof if ends.is_empty() => break String::new(),
                Tok::Eof => {
                    return self
                        .fail(format!("the template ends where {} is missing", ends.join(" or ")));
                }
                other => return self.fail(format!("unexpected {}", describe(&other))),
            }
        };
        self.blocks -= 1;
        Ok((body, end))
    }

    fn end_tag(&mut self) -> Result<(), Fault> {
        if !matches!(self.peek(), Tok::BlockEnd) {
            return self.unexpected("%}");
        }
        self.next();
        Ok(())
    }

    /// The body of a block tag: closes its opening tag, and reads up to one of `ends`.
    fn block(&mut self, ends: &[&str]) -> Result<(Vec<Stmt>, String), Fault> {
        self.skip_op(":");
        self.end_tag()?;
        self.body(ends)
    }

    /// A body that becomes a function: loops around it do not reach in.
    fn function_body(&mut self, end: &str) -> Result<Vec<Stmt>, Fault> {
        let outer = std::mem::replace(&mut self.in_loop, false);
        let (body, _) = self.block(&[end])?;
        self.in_loop = outer;
        Ok(body)
    }

    fn statement(&mut self, out: &mut Vec<Stmt>) -> Result<(), Fault> {
        let line = self.line();
        let name = self.expect_name()?;
        let kind = match name.as_str() {
            "if" => self.condition()?,
            "for" => self.iteration()?,
            "set" => self.assignment()?,
            "with" => self.with()?,
            "macro" => {
                let name = self.expect_name()?;
                let signature = self.signature()?;
                Kind::Macro(name, signature, self.function_body("endmacro")?)
            }
            "call" => {
                let signature =
                    if self.is_op("(") { self.signature()? } else { Signature::default() };
                let call = self.expression()?;
                if !matches!(call.node, Node::Call(..)) {
                    return Err(Fault::new(line, "call must be followed by a call"));
                }
                Kind::CallBlock(call, signature, self.function_body("endcall")?)
            }
            "filter" => {
                let mut filter = self.filter(None)?;
                while self.skip_op("|") {
                    filter = self.filter(Some(filter))?;
                }
                let (body, _) = self.block(&["endfilter"])?;
                Kind::FilterBlock(filter, body)
            }
            "generation" => Kind::Scope(self.function_body("endgeneration")?),
            "autoescape" => {
                let value = self.expression()?;
                if !matches!(value.node, Node::Const(Const::Bool(false))) {
                    return Err(Fault::new(
                        line,
                        "autoescape is not supported: prompts are not HTML",
                    ));
                }
                let (body, _) = self.block(&["endautoescape"])?;
                Kind::Scope(body)
            }
            "block" => {
                let name = self.expect_name()?;
                let _ = self.skip_word("scoped");
                let _ = self.skip_word("required");
                let body = self.function_body("endblock")?;
                self.skip_word(&name);
                Kind::Block(name, body)
            }
            "extends" | "include" | "import" | "from" => self.loading(&name)?,
            "print" => {
                while !matches!(self.peek(), Tok::BlockEnd) {
                    out.push(Stmt { line: self.line(), kind: Kind::Print(self.expression()?) });
                    if !matches!(self.peek(), Tok::BlockEnd) {
                        self.expect_op(",")?;
                    }
                }
                return Ok(());
            }
            "break" | "continue" if !self.in_loop => {
                return Err(Fault::new(line, format!("{name} stands outside of a loop")));
            }
            "break" => Kind::Break,
            "continue" => Kind::Continue,
            _ => return Err(Fault::new(line, format!("unknown tag {name}"))),
        };
        out.push(Stmt { line, kind });
        Ok(())
    }

    fn condition(&mut self) -> Result<Kind, Fault> {
        let mut branches = Vec::new();
        loop {
            let test = self.tuple(false, None)?;
            let (body, end) = self.block(&["elif", "else", "endif"])?;
            branches.push((test, body));
            match end.as_str() {
                "elif" if branches.len() >= MAX_BLOCKS.into() => {
                    return self.fail(format!("more than {MAX_BLOCKS} branches of one if"));
                }
                "elif" => {}
                "else" => {
                    let (otherwise, _) = self.block(&["endif"])?;
                    return Ok(Kind::If(branches, otherwise));
                }
                _ => return Ok(Kind::If(branches, Vec::new())),
            }
        }
    }

    fn iteration(&mut self) -> Result<Kind, Fault> {
        let target = self.target(false, Some("in"))?;
        let mut names = Vec::new();
        target.names(&mut names);
        if names.contains(&"loop") {
            return self.fail("loop cannot be the variable of a loop");
        }
        if !self.skip_word("in") {
            return self.unexpected("in");
        }
        let iterated = self.tuple(false, Some("recursive"))?;
        let test = if self.skip_word("if") { Some(self.expression()?) } else { None };
        let recursive = self.skip_word("recursive");
        let outer = std::mem::replace(&mut self.in_loop, true);
        let (body, end) = self.block(&["endfor", "else"])?;
        self.in_loop = outer;
        let otherwise = if end == "else" { self.block(&["endfor"])?.0 } else { Vec::new() };
        Ok(Kind::For(Box::new(For { target, iterated, test, recursive, body, otherwise })))
    }

    fn assignment(&mut self) -> Result<Kind, Fault> {
        let target = self.target(true, None)?;
        if self.skip_op("=") {
            return Ok(Kind::Set(target, self.tuple(true, None)?));
        }
        let mut filter: Option<Expr> = None;
        while self.skip_op("|") {
            filter = Some(self.filter(filter)?);
        }
        let (body, _) = self.block(&["endset"])?;
        Ok(Kind::SetBlock(target, filter, body))
    }

    fn with(&mut self) -> Result<Kind, Fault> {
        let mut assigned: Vec<(Target, Expr)> = Vec::new();
        while !matches!(self.peek(), Tok::BlockEnd) {
            if !assigned.is_empty() {
                self.expect_op(",")?;
            }
            let name = self.target(false, None)?;
            self.expect_op("=")?;
            assigned.push((name, self.expression()?));
        }
        let (body, _) = self.block(&["endwith"])?;
        Ok(Kind::With(assigned, body))
    }

    fn signature(&mut self) -> Result<Signature, Fault> {
        let mut signature = Signature::default();
        self.expect_op("(")?;
        while !self.is_op(")") {
            if !signature.names.is_empty() {
                self.expect_op(",")?;
            }
            let name = self.expect_name()?;
            if signature.names.contains(&name) {
                return self.fail(format!("two parameters have the name {name}"));
            }
            signature.names.push(name);
            if self.skip_op("=") {
                signature.defaults.push(self.expression()?);
            } else if !signature.defaults.is_empty() {
                return self.fail("a parameter without default follows one with a default");
            }
        }
        self.expect_op(")")?;
        Ok(signature)
    }

    fn loading(&mut self, tag: &str) -> Result<Kind, Fault> {
        let template = self.expression()?;
        let mut names = Vec::new();
        match tag {
            "include" if self.skip_word("ignore") && !self.skip_word("missing") => {
                return self.unexpected("missing");
            }
            "import" => {
                if !self.skip_word("as") {
                    return self.unexpected("as");
                }
                names.push(self.expect_name()?);
            }
            "from" => {
                if !self.skip_word("import") {
                    return self.unexpected("import");
                }
                loop {
                    if self.is_word("with") || self.is_word("without") {
                        break;
                    }
                    let mut name = self.expect_name()?;
                    if self.skip_word("as") {
                        name = self.expect_name()?;
                    }
                    names.push(name);
                    if !self.skip_op(",") {
                        break;
                    }
                }
            }
            _ => {}
        }
        if (self.skip_word("with") || self.skip_word("without")) && !self.skip_word("context") {
            return self.unexpected("context");
        }
        Ok(Kind::Load(template, names))
    }
}
