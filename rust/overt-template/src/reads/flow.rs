//! Keys of messages that a template may read: where messages flow to, and what is read of them there.
//!
//! A name stands for whatever is assigned to it anywhere: coarse, and never too little.

use std::collections::{BTreeSet, HashMap};

use crate::syntax::ast::{Const, Expr, For, Kind, Node, Op, Stmt, Target};
use crate::syntax::visit;

/// What a value may be: any of these at once.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Is {
    /// A list of messages.
    pub(super) list: bool,
    /// A message.
    pub(super) message: bool,
    /// Something that holds either, at any depth.
    pub(super) holder: bool,
}

impl Is {
    pub(super) const NONE: Self = Self { list: false, message: false, holder: false };
    const LIST: Self = Self { list: true, ..Self::NONE };

    pub(super) fn or(self, other: Self) -> Self {
        Self {
            list: self.list || other.list,
            message: self.message || other.message,
            holder: self.holder || other.holder,
        }
    }

    pub(super) fn any(self) -> bool {
        self.list || self.message || self.holder
    }

    /// An item of it.
    pub(super) fn item(self) -> Self {
        Self { list: self.holder, message: self.list || self.holder, holder: self.holder }
    }

    /// A container of it.
    fn held(self) -> Self {
        Self { list: self.message, message: false, holder: self.list || self.holder }
    }
}

/// Variables that the server fills and that hold no messages.
const FILLED: [&str; 2] = ["tools", "documents"];

#[derive(Default)]
pub(super) struct Flow {
    pub(super) names: HashMap<String, Is>,
    /// Attributes of namespaces.
    pub(super) attributes: HashMap<String, Is>,
    /// Parameters of macros.
    pub(super) macros: HashMap<String, Vec<String>>,
    pub(super) keys: BTreeSet<String>,
    pub(super) all: bool,
    changed: bool,
    /// Every name that is assigned anywhere is known.
    settled: bool,
}

/// The keys, and whether every key may be read.
pub(super) fn keys(tree: &[Stmt]) -> (BTreeSet<String>, bool) {
    let mut flow = Flow::default();
    flow.names.insert("messages".to_owned(), Is::LIST);
    visit::statements(tree, &mut |stmt| {
        let (name, signature) = match &stmt.kind {
            Kind::Macro(name, signature, _) => (name.as_str(), signature),
            Kind::CallBlock(_, signature, _) => ("caller", signature),
            _ => return,
        };
        flow.macros.entry(name.to_owned()).or_default().extend(signature.names.iter().cloned());
        signature.names.iter().for_each(|name| flow.bind(name, Is::NONE));
    });
    // What flows only grows, so that this ends.
    loop {
        flow.changed = false;
        flow.body(tree);
        if flow.settled && !flow.changed {
            break;
        }
        flow.settled = !flow.changed;
    }
    if flow.keys.contains("\0") {
        // A key that is computed may be any text that the template spells.
        visit::expressions(tree, &mut |expr| {
            if let Node::Const(Const::Str(text)) = &expr.node {
                flow.keys.insert(text.clone());
            }
        });
    }
    (flow.keys, flow.all)
}

impl Flow {
    pub(super) fn bind(&mut self, name: &str, is: Is) {
        let known = self.names.entry(name.to_owned()).or_default();
        let joined = known.or(is);
        self.changed |= joined != *known;
        *known = joined;
    }

    pub(super) fn target(&mut self, target: &Target, is: Is) {
        match target {
            Target::Name(name) => self.bind(name, is),
            Target::Attr(_, attribute) => {
                let known = self.attributes.entry(attribute.clone()).or_default();
                let joined = known.or(is);
                self.changed |= joined != *known;
                *known = joined;
            }
            Target::Tuple(items) => items.iter().for_each(|item| self.target(item, is.item())),
        }
    }

    /// Going through a message gives its keys.
    pub(super) fn iterated(&mut self, is: Is) -> Is {
        self.all |= is.message;
        is.item()
    }

    /// The value shows as a whole.
    pub(super) fn shown(&mut self, is: Is) {
        self.all |= is.any();
    }

    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.statement(stmt);
        }
    }

    fn statement(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            Kind::Text(_) | Kind::Break | Kind::Continue => {}
            Kind::Print(value) => {
                let is = self.expr(value);
                self.shown(is);
            }
            Kind::Set(target, value) => {
                let is = self.expr(value);
                self.target(target, is);
            }
            Kind::For(parts) => self.iteration(parts),
            Kind::With(assigned, body) => {
                for (target, value) in assigned {
                    let is = self.expr(value);
                    self.target(target, is);
                }
                self.body(body);
            }
            Kind::Macro(_, signature, body) => {
                for (name, default) in
                    signature.names.iter().skip(signature.first_default()).zip(&signature.defaults)
                {
                    let is = self.expr(default);
                    self.bind(name, is);
                }
                self.body(body);
            }
            _ => {
                let mut inner: Vec<&Expr> = Vec::new();
                let mut bodies: Vec<&[Stmt]> = Vec::new();
                visit::parts(stmt, &mut |expr| inner.push(expr), &mut |body| bodies.push(body));
                for expr in inner {
                    self.expr(expr);
                }
                for body in bodies {
                    self.body(body);
                }
            }
        }
    }

    fn iteration(&mut self, parts: &For) {
        let is = self.expr(&parts.iterated);
        let item = self.iterated(is);
        self.target(&parts.target, item);
        // Of a recursive loop, what is passed to it is iterated as well.
        parts.test.iter().for_each(|test| {
            self.expr(test);
        });
        if !is.any() {
            self.body(&parts.body);
        } else {
            self.bind_loop(item);
            self.body(&parts.body);
        }
        self.body(&parts.otherwise);
    }

    /// `loop.previtem` and `loop.nextitem` are items.
    fn bind_loop(&mut self, item: Is) {
        for name in ["previtem", "nextitem"] {
            let known = self.attributes.entry(name.to_owned()).or_default();
            let joined = known.or(item);
            self.changed |= joined != *known;
            *known = joined;
        }
    }

    pub(super) fn exprs<'a>(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) -> Is {
        exprs.into_iter().fold(Is::NONE, |is, expr| is.or(self.expr(expr)))
    }

    /// What an expression may give; notes the keys that it reads.
    pub(super) fn expr(&mut self, expr: &Expr) -> Is {
        match &expr.node {
            Node::Const(_) => Is::NONE,
            Node::Name(name) => self.names.get(name).copied().unwrap_or_default(),
            Node::Tuple(items) | Node::List(items) => self.exprs(items).held(),
            Node::Dict(pairs) => {
                let keys = self.exprs(pairs.iter().map(|(key, _)| key));
                let is = self.exprs(pairs.iter().map(|(_, value)| value)).or(keys);
                Is { holder: is.any(), ..Is::NONE }
            }
            Node::Attr(value, name) => {
                let is = self.expr(value);
                self.key(self.named(value, is), name);
                self.attribute(is, name)
            }
            Node::Item(value, key) => {
                self.expr(key);
                let is = self.expr(value);
                match &key.node {
                    Node::Const(Const::Str(name)) => {
                        self.key(self.named(value, is), name);
                        self.attribute(is, name)
                    }
                    Node::Const(_) => is.item(),
                    _ => {
                        self.computed(is, key);
                        is.item()
                    }
                }
            }
            Node::Slice(value, bounds) => {
                bounds.iter().flatten().for_each(|bound| {
                    self.expr(bound);
                });
                self.expr(value)
            }
            Node::Call(callee, args) => self.call(callee, args),
            Node::Filter(value, name, args) => self.filter(value.as_deref(), name, args),
            Node::Test(value, name, args) => {
                let is = self.expr(value);
                let arg = self.exprs(args.all());
                if name == "in" {
                    self.contained(value, arg);
                } else if matches!(name.as_str(), "lower" | "upper") {
                    self.shown(is);
                }
                Is::NONE
            }
            Node::Unary(_, value) => {
                self.expr(value);
                Is::NONE
            }
            Node::Math(first, rest) => {
                let mut is = self.expr(first);
                for (_, value) in rest {
                    is = is.or(self.expr(value));
                }
                // Texts are filled with values, lists are joined.
                let fills = rest.iter().any(|(op, _)| *op == Op::Mod);
                if fills || is.message {
                    self.shown(is);
                }
                is
            }
            Node::Concat(items) => {
                let is = self.exprs(items);
                self.shown(is);
                Is::NONE
            }
            Node::Compare(first, rest) => {
                // Comparing whole messages finds one among them; it shows nothing of their keys.
                let mut left = &**first;
                self.expr(left);
                for (op, value) in rest {
                    let is = self.expr(value);
                    if matches!(op, Op::In | Op::NotIn) {
                        self.contained(left, is);
                    }
                    left = value;
                }
                Is::NONE
            }
            Node::And(items) | Node::Or(items) => self.exprs(items),
            Node::Cond { test, value, other } => {
                self.expr(test);
                let is = self.expr(value);
                other.iter().fold(is, |is, other| is.or(self.expr(other)))
            }
        }
    }

    /// What a value may be besides: a name that the template takes from outside may be a message.
    pub(super) fn named(&self, value: &Expr, is: Is) -> Is {
        let outside = self.settled
            && matches!(&value.node, Node::Name(name)
                if !self.names.contains_key(name) && !FILLED.contains(&name.as_str()));
        Is { message: is.message || outside, ..is }
    }

    /// A key of a message is read.
    pub(super) fn key(&mut self, is: Is, name: &str) {
        if is.message || is.holder {
            self.keys.insert(name.to_owned());
        }
    }

    /// A key that is not spelled where it is read.
    pub(super) fn computed(&mut self, is: Is, key: &Expr) {
        if is.message || (is.holder && !is_index(key)) {
            self.keys.insert("\0".to_owned());
        }
    }

    fn attribute(&mut self, is: Is, name: &str) -> Is {
        let stored = self.attributes.get(name).copied().unwrap_or_default();
        let inside = if is.holder { is.item().or(is) } else { Is::NONE };
        stored.or(inside)
    }
}

/// A key that can only be a number.
fn is_index(key: &Expr) -> bool {
    match &key.node {
        Node::Const(Const::Int(_)) => true,
        Node::Attr(value, name) => {
            matches!(&value.node, Node::Name(name) if name == "loop") && name.contains("index")
        }
        Node::Filter(_, name, _) => matches!(name.as_str(), "length" | "count"),
        Node::Unary(_, value) => is_index(value),
        Node::Math(first, rest) => is_index(first) || rest.iter().any(|(_, value)| is_index(value)),
        _ => false,
    }
}
