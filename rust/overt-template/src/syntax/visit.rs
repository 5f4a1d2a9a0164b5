//! Walks over trees.

use super::ast::{Expr, Kind, Node, Signature, Stmt};

/// Calls `each` with every expression directly inside one.
pub(crate) fn children<'a>(expr: &'a Expr, each: &mut dyn FnMut(&'a Expr)) {
    match &expr.node {
        Node::Const(_) | Node::Name(_) => {}
        Node::Tuple(items)
        | Node::List(items)
        | Node::Concat(items)
        | Node::And(items)
        | Node::Or(items) => items.iter().for_each(each),
        Node::Dict(pairs) => pairs.iter().for_each(|(key, value)| {
            each(key);
            each(value);
        }),
        Node::Attr(value, _) | Node::Unary(_, value) => each(value),
        Node::Item(value, key) => {
            each(value);
            each(key);
        }
        Node::Slice(value, bounds) => {
            each(value);
            bounds.iter().flatten().for_each(|bound| each(bound));
        }
        Node::Call(value, args) | Node::Test(value, _, args) => {
            each(value);
            args.all().for_each(each);
        }
        Node::Filter(value, _, args) => {
            value.iter().for_each(|value| each(value));
            args.all().for_each(each);
        }
        Node::Math(first, rest) | Node::Compare(first, rest) => {
            each(first);
            rest.iter().for_each(|(_, expr)| each(expr));
        }
        Node::Cond { test, value, other } => {
            each(test);
            each(value);
            other.iter().for_each(|other| each(other));
        }
    }
}

/// Calls `each` with an expression and all inside it.
pub(crate) fn within<'a>(expr: &'a Expr, each: &mut dyn FnMut(&'a Expr)) {
    each(expr);
    children(expr, &mut |child| within(child, each));
}

/// Calls `exprs` with every expression directly in a statement, `bodies` with its bodies.
pub(crate) fn parts<'a>(
    stmt: &'a Stmt,
    exprs: &mut dyn FnMut(&'a Expr),
    bodies: &mut dyn FnMut(&'a [Stmt]),
) {
    let defaults = |signature: &'a Signature, exprs: &mut dyn FnMut(&'a Expr)| {
        signature.defaults.iter().for_each(exprs);
    };
    match &stmt.kind {
        Kind::Text(_) | Kind::Break | Kind::Continue => {}
        Kind::Print(value) | Kind::Set(_, value) | Kind::Load(value, _) => exprs(value),
        Kind::If(branches, otherwise) => {
            for (test, body) in branches {
                exprs(test);
                bodies(body);
            }
            bodies(otherwise);
        }
        Kind::For(parts) => {
            exprs(&parts.iterated);
            parts.test.iter().for_each(exprs);
            bodies(&parts.body);
            bodies(&parts.otherwise);
        }
        Kind::SetBlock(_, filter, body) => {
            filter.iter().for_each(exprs);
            bodies(body);
        }
        Kind::With(assigned, body) => {
            assigned.iter().for_each(|(_, value)| exprs(value));
            bodies(body);
        }
        Kind::Macro(_, signature, body) => {
            defaults(signature, exprs);
            bodies(body);
        }
        Kind::CallBlock(call, signature, body) => {
            exprs(call);
            defaults(signature, exprs);
            bodies(body);
        }
        Kind::FilterBlock(filter, body) => {
            exprs(filter);
            bodies(body);
        }
        Kind::Scope(body) | Kind::Block(_, body) => bodies(body),
    }
}

/// Calls `each` with every statement of a body and of the bodies in it.
pub(crate) fn statements<'a>(body: &'a [Stmt], each: &mut dyn FnMut(&'a Stmt)) {
    for stmt in body {
        each(stmt);
        parts(stmt, &mut |_| {}, &mut |inner| statements(inner, each));
    }
}

/// Calls `each` with every expression in a body, nested ones too.
pub(crate) fn expressions<'a>(body: &'a [Stmt], each: &mut dyn FnMut(&'a Expr)) {
    statements(body, &mut |stmt| parts(stmt, &mut |expr| within(expr, each), &mut |_| {}));
}

/// True where an expression reads the variable.
pub(crate) fn mentions_in(expr: &Expr, name: &str) -> bool {
    let mut found = false;
    within(expr, &mut |expr| found |= matches!(&expr.node, Node::Name(other) if other == name));
    found
}

/// True where a body reads the variable.
pub(crate) fn mentions(body: &[Stmt], name: &str) -> bool {
    let mut found = false;
    expressions(body, &mut |expr| {
        found |= matches!(&expr.node, Node::Name(other) if other == name)
    });
    found
}
