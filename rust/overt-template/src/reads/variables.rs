//! Names that a template takes from outside.

use std::collections::BTreeSet;

use crate::syntax::ast::{Expr, Kind, Node, Signature, Stmt, Target};
use crate::syntax::visit;

/// What every template finds.
const GIVEN: [&str; 9] = [
    "range",
    "dict",
    "namespace",
    "cycler",
    "joiner",
    "lipsum",
    "raise_exception",
    "strftime_now",
    "self",
];

/// The names, sorted.
pub(super) fn variables(tree: &[Stmt]) -> Vec<String> {
    let mut reader = Reader { scopes: Vec::new(), macros: Vec::new(), outside: BTreeSet::new() };
    reader.scoped(&[], tree);
    reader.outside.into_iter().filter(|name| !GIVEN.contains(&name.as_str())).collect()
}

struct Reader<'a> {
    /// Names that are surely assigned, by scope.
    scopes: Vec<BTreeSet<String>>,
    /// Macros by scope: they run after what follows them there.
    macros: Vec<Vec<(&'a Signature, &'a [Stmt])>>,
    outside: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    fn assign(&mut self, name: &str) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned());
        }
    }

    fn target(&mut self, target: &Target) {
        match target {
            Target::Name(name) => self.assign(name),
            Target::Attr(name, _) => self.read(name),
            Target::Tuple(items) => items.iter().for_each(|item| self.target(item)),
        }
    }

    fn read(&mut self, name: &str) {
        if !self.scopes.iter().any(|scope| scope.contains(name)) {
            self.outside.insert(name.to_owned());
        }
    }

    fn expr(&mut self, expr: &Expr) {
        visit::within(expr, &mut |expr| {
            if let Node::Name(name) = &expr.node {
                self.read(name);
            }
        });
    }

    fn body(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            self.statement(stmt);
        }
    }

    /// A body in a scope that begins with some names.
    fn scoped(&mut self, names: &[&str], body: &'a [Stmt]) {
        self.scopes.push(names.iter().map(|name| (*name).to_owned()).collect());
        self.macros.push(Vec::new());
        self.body(body);
        for (signature, body) in self.macros.pop().unwrap_or_default() {
            self.function(signature, body);
        }
        self.scopes.pop();
    }

    fn function(&mut self, signature: &'a Signature, body: &'a [Stmt]) {
        let mut names: Vec<&str> = signature.names.iter().map(String::as_str).collect();
        names.extend(["caller", "varargs", "kwargs"]);
        self.scopes.push(names.iter().map(|name| (*name).to_owned()).collect());
        signature.defaults.iter().for_each(|value| self.expr(value));
        self.scopes.pop();
        self.scoped(&names, body);
    }

    fn statement(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            Kind::Text(_) | Kind::Break | Kind::Continue => {}
            Kind::Print(value) => self.expr(value),
            Kind::Set(target, value) => {
                self.expr(value);
                self.target(target);
            }
            Kind::If(branches, otherwise) => self.branches(branches, otherwise),
            Kind::For(parts) => {
                self.expr(&parts.iterated);
                let mut names = Vec::new();
                parts.target.names(&mut names);
                if let Some(test) = &parts.test {
                    self.scopes.push(names.iter().map(|name| (*name).to_owned()).collect());
                    self.expr(test);
                    self.scopes.pop();
                }
                names.push("loop");
                self.scoped(&names, &parts.body);
                self.scoped(&[], &parts.otherwise);
            }
            Kind::SetBlock(target, filter, body) => {
                filter.iter().for_each(|filter| self.expr(filter));
                self.scoped(&[], body);
                self.target(target);
            }
            Kind::With(assigned, body) => {
                assigned.iter().for_each(|(_, value)| self.expr(value));
                let mut names = Vec::new();
                assigned.iter().for_each(|(target, _)| target.names(&mut names));
                self.scoped(&names, body);
            }
            Kind::Macro(name, signature, body) => {
                self.assign(name);
                if let Some(macros) = self.macros.last_mut() {
                    macros.push((signature, body));
                }
            }
            Kind::CallBlock(call, signature, body) => {
                self.expr(call);
                self.function(signature, body);
            }
            Kind::FilterBlock(filter, body) => {
                self.expr(filter);
                self.scoped(&[], body);
            }
            Kind::Scope(body) | Kind::Block(_, body) => self.scoped(&[], body),
            Kind::Load(value, names) => {
                self.expr(value);
                names.iter().for_each(|name| self.assign(name));
            }
        }
    }

    /// Assigned is what every branch assigns, the missing one too.
    fn branches(&mut self, branches: &'a [(Expr, Vec<Stmt>)], otherwise: &'a [Stmt]) {
        let before = self.scopes.last().cloned().unwrap_or_default();
        let mut common: Option<BTreeSet<String>> = None;
        let bodies = branches.iter().map(|(test, body)| (Some(test), body.as_slice()));
        for (test, body) in bodies.chain([(None, otherwise)]) {
            test.iter().for_each(|test| self.expr(test));
            self.body(body);
            let after =
                self.scopes.last_mut().map(|scope| std::mem::replace(scope, before.clone()));
            let after = after.unwrap_or_default();
            common = Some(match common {
                Some(common) => common.intersection(&after).cloned().collect(),
                None => after,
            });
        }
        if let (Some(scope), Some(common)) = (self.scopes.last_mut(), common) {
            *scope = common;
        }
    }
}
