//! Jinja's syntax as jinja2 reads it: source to tokens to a tree.
//!
//! The engine underneath has a grammar of its own that is near, not equal: precedence, white space
//! control, literals and what is refused at compile time follow jinja2 here.

pub(crate) mod ast;
mod depth;
mod escape;
mod expression;
mod part;
mod statement;
mod token;
pub(crate) mod visit;

use crate::error::TemplateError;

/// A fault in the source: where, and what.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) line: u32,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(line: u32, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

impl From<Fault> for TemplateError {
    fn from(fault: Fault) -> Self {
        Self::Syntax { line: fault.line as usize, message: fault.message }
    }
}

/// The tree of a template.
pub(crate) fn parse(source: &str) -> Result<Vec<ast::Stmt>, Fault> {
    statement::template(token::tokens(source)?)
}

/// White space as Python's `str.isspace` has it.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}
