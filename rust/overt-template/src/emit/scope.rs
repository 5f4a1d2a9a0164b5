//! Which names a scope must begin with as undefined.
//!
//! jinja2 decides for each scope of a template, before it runs, where a name comes from. A name that
//! the scope only assigns is the scope's own from its start: what stands inside, before the
//! assignment, finds it undefined, even where the request gives a value of that name. The engine
//! would look it up outside. A name that is known outside begins with the value it has there, which the
//! engine forgets where macros are involved.

use std::collections::{HashMap, HashSet};

use crate::syntax::ast::{Expr, Kind, Node, Stmt, Target};
use crate::syntax::visit;

#[derive(Clone, Copy, PartialEq)]
enum Origin {
    /// Looked up outside.
    Outside,
    /// Undefined until it is assigned.
    Own,
}

/// A scope while it is read.
#[derive(Clone)]
struct Scope<'a> {
    names: HashMap<&'a str, Origin>,
    stored: HashSet<&'a str>,
    /// Names that inner scopes read before this one assigns them.
    early: HashSet<&'a str>,
    outer: &'a [HashSet<String>],
}

/// How a scope begins.
pub(super) struct Start {
    /// Names of its own.
    pub(super) names: HashSet<String>,
    /// Names that are undefined at first.
    pub(super) blank: Vec<String>,
    /// Names that begin with the value they have outside, each time anew.
    pub(super) copied: Vec<String>,
}

/// How the scope of a body begins, which has `parameters` and reads `loaded` before all else.
pub(super) fn scope(
    parameters: &[&str],
    loaded: &[&Expr],
    body: &[Stmt],
    outer: &[HashSet<String>],
) -> Start {
    let mut scope = Scope {
        names: parameters.iter().map(|name| (*name, Origin::Outside)).collect(),
        stored: HashSet::new(),
        early: HashSet::new(),
        outer,
    };
    loaded.iter().for_each(|expr| scope.expr(expr));
    scope.body(body);
    let mut early: Vec<&str> = scope.early.intersection(&scope.stored).copied().collect();
    early.sort_unstable();
    let names = |wanted: Origin| {
        early
            .iter()
            .filter(|name| scope.names.get(*name) == Some(&wanted) && !parameters.contains(name))
            .map(|name| (*name).to_owned())
            .collect()
    };
    let (blank, copied) = (names(Origin::Own), names(Origin::Outside));
    let names = scope.names.keys().map(|name| (*name).to_owned()).collect();
    Start { names, blank, copied }
}

impl<'a> Scope<'a> {
    fn is_outer(&self, name: &str) -> bool {
        self.outer.iter().any(|names| names.contains(name))
    }

    fn load(&mut self, name: &'a str) {
        if !self.is_outer(name) {
            self.names.entry(name).or_insert(Origin::Outside);
        }
    }

    fn store(&mut self, name: &'a str) {
        self.stored.insert(name);
        let origin = if self.is_outer(name) { Origin::Outside } else { Origin::Own };
        self.names.entry(name).or_insert(origin);
    }

    fn target(&mut self, target: &'a Target) {
        match target {
            Target::Name(name) => self.store(name),
            Target::Attr(name, _) => self.load(name),
            Target::Tuple(items) => items.iter().for_each(|item| self.target(item)),
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        visit::within(expr, &mut |expr| {
            if let Node::Name(name) = &expr.node {
                self.load(name);
            }
        });
    }

    /// A scope inside: all that it reads, it reads here.
    fn inner(&mut self, body: &'a [Stmt]) {
        visit::expressions(body, &mut |expr| {
            if let Node::Name(name) = &expr.node
                && !self.stored.contains(name.as_str())
            {
                self.early.insert(name);
            }
        });
    }

    fn body(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            self.statement(stmt);
        }
    }

    fn statement(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            Kind::Text(_) | Kind::Break | Kind::Continue => {}
            Kind::Print(value) => self.expr(value),
            Kind::Load(value, names) => {
                self.expr(value);
                names.iter().for_each(|name| self.store(name));
            }
            Kind::If(branches, otherwise) => self.branches(branches, otherwise),
            Kind::Set(target, value) => {
                self.expr(value);
                self.target(target);
            }
            Kind::SetBlock(target, _, body) => {
                self.inner(body);
                self.target(target);
            }
            Kind::For(parts) => {
                self.expr(&parts.iterated);
                if let Some(test) = &parts.test {
                    self.early_expr(test);
                }
                self.inner(&parts.body);
                self.inner(&parts.otherwise);
            }
            Kind::With(assigned, body) => {
                assigned.iter().for_each(|(_, value)| self.expr(value));
                self.inner(body);
            }
            Kind::Macro(name, signature, body) => {
                signature.defaults.iter().for_each(|value| self.early_expr(value));
                self.inner(body);
                self.store(name);
            }
            Kind::CallBlock(call, _, body) => {
                self.expr(call);
                self.inner(body);
            }
            Kind::FilterBlock(filter, body) => {
                self.expr(filter);
                self.inner(body);
            }
            Kind::Scope(body) | Kind::Block(_, body) => self.inner(body),
        }
    }

    fn early_expr(&mut self, expr: &'a Expr) {
        visit::within(expr, &mut |expr| {
            if let Node::Name(name) = &expr.node
                && !self.stored.contains(name.as_str())
            {
                self.early.insert(name);
            }
        });
    }

    /// What only some branches assign is looked up outside where it was not.
    fn branches(&mut self, branches: &'a [(Expr, Vec<Stmt>)], otherwise: &'a [Stmt]) {
        let Some(((first, body), others)) = branches.split_first() else { return };
        self.expr(first);
        let read = |read: &mut dyn FnMut(&mut Self)| {
            let mut inner = self.clone();
            read(&mut inner);
            inner
        };
        let parts = [
            read(&mut |scope| scope.body(body)),
            read(&mut |scope| {
                for (test, body) in others {
                    scope.branches_of(test, body);
                }
            }),
            read(&mut |scope| scope.body(otherwise)),
        ];
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for part in &parts {
            for name in part.stored.difference(&self.stored) {
                *counts.entry(name).or_default() += 1;
            }
        }
        for part in parts {
            self.names.extend(part.names);
            self.stored.extend(part.stored);
            self.early.extend(part.early);
        }
        for (name, count) in counts {
            if count < 3 {
                self.names.insert(name, Origin::Outside);
            }
        }
    }

    /// A branch behind the first is an `if` of its own.
    fn branches_of(&mut self, test: &'a Expr, body: &'a [Stmt]) {
        self.expr(test);
        let mut inner = self.clone();
        inner.body(body);
        for name in inner.stored.difference(&self.stored) {
            inner.names.insert(name, Origin::Outside);
        }
        self.names.extend(inner.names);
        self.stored.extend(inner.stored);
        self.early.extend(inner.early);
    }
}
