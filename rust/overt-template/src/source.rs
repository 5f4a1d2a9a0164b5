//! From a template's source to source for the engine.

use crate::emit;
use crate::error::TemplateError;
use crate::syntax::{self, ast::Stmt};

/// The tree of a template, and its source as the engine should read it.
///
/// # Errors
/// [`TemplateError::Syntax`] where jinja2 would not compile it either.
pub(crate) fn read(source: &str) -> Result<(Vec<Stmt>, String), TemplateError> {
    let tree = syntax::parse(source)?;
    let emitted = emit::emit(&tree, false)?;
    Ok((tree, emitted))
}

/// The source for an engine whose values may be marked.
///
/// # Errors
/// As [`read`].
pub(crate) fn traced(source: &str) -> Result<String, TemplateError> {
    Ok(emit::emit(&syntax::parse(source)?, true)?)
}
