//! What calls and filters read of messages, and what they pass on.

use super::flow::{Flow, Is};
use crate::syntax::ast::{Args, Const, Expr, Node, Target};

/// Filters whose result is made of the value's own items.
const PASSING: [&str; 16] = [
    "list",
    "reverse",
    "sort",
    "unique",
    "select",
    "selectattr",
    "reject",
    "rejectattr",
    "default",
    "d",
    "first",
    "last",
    "random",
    "min",
    "max",
    "items",
];
/// Filters that say something of a value and show nothing of what it holds.
const SILENT: [&str; 2] = ["length", "count"];

impl Flow {
    /// `item in container`.
    pub(super) fn contained(&mut self, item: &Expr, container: Is) {
        if container.message {
            match &item.node {
                Node::Const(Const::Str(name)) => self.key(container, name),
                _ => self.computed(container, item),
            }
        }
    }

    pub(super) fn call(&mut self, callee: &Expr, args: &Args) -> Is {
        match &callee.node {
            Node::Name(name) => match name.as_str() {
                "namespace" | "dict" => {
                    for (attribute, value) in &args.named {
                        let is = self.expr(value);
                        self.target(&Target::Attr(String::new(), attribute.clone()), is);
                    }
                    let is = self.exprs(&args.positional);
                    let rest =
                        self.exprs(args.rest.iter().chain(&args.rest_named).map(AsRef::as_ref));
                    Is { holder: is.or(rest).any(), ..Is::NONE }
                }
                name if self.macros.contains_key(name) => self.macro_call(name, args),
                "loop" => {
                    // Its argument is gone through as the loop's own list.
                    let is = self.exprs(args.all());
                    self.shown(is);
                    Is::NONE
                }
                _ => {
                    let is = self.exprs(args.all());
                    self.shown(is);
                    is
                }
            },
            Node::Attr(value, method) => {
                let is = self.expr(value);
                self.method(is, value, method, args)
            }
            _ => {
                let is = self.expr(callee);
                let args = self.exprs(args.all());
                self.shown(is.or(args));
                is
            }
        }
    }

    fn macro_call(&mut self, name: &str, args: &Args) -> Is {
        let names = self.macros.get(name).cloned().unwrap_or_default();
        for (index, value) in args.positional.iter().enumerate() {
            let is = self.expr(value);
            match names.get(index) {
                Some(name) => self.bind(name, is),
                None => self.shown(is),
            }
        }
        for (name, value) in &args.named {
            let is = self.expr(value);
            self.bind(name, is);
        }
        let rest = self.exprs(args.rest.iter().chain(&args.rest_named).map(AsRef::as_ref));
        self.shown(rest);
        Is::NONE
    }

    fn method(&mut self, is: Is, value: &Expr, method: &str, args: &Args) -> Is {
        let given = self.exprs(args.all());
        match method {
            "get" => match args.positional.first().map(|key| &key.node) {
                Some(Node::Const(Const::Str(name))) => self.key(self.named(value, is), name),
                _ => {
                    if let Some(key) = args.positional.first() {
                        self.computed(is, key);
                    }
                }
            },
            // Keys and values of a message, all of them.
            "items" | "keys" | "values" | "copy" => {
                self.shown(Is { list: false, holder: false, ..self.named(value, is) });
            }
            // What a namespace or a mapping holds may be a macro.
            _ if self.macros.contains_key(method) => {
                self.macro_call(method, args);
            }
            _ => self.shown(given),
        }
        let inside = if is.holder { is.item().or(is) } else { Is::NONE };
        inside.or(if method == "get" { given } else { Is::NONE })
    }

    pub(super) fn filter(&mut self, value: Option<&Expr>, name: &str, args: &Args) -> Is {
        let is = value.map_or(Is::NONE, |value| self.expr(value));
        let given = self.exprs(args.all());
        self.paths(is, name, args);
        if SILENT.contains(&name) {
            return Is::NONE;
        }
        match name {
            "default" | "d" => return is.or(given),
            "first" | "last" | "random" | "min" | "max" => return self.iterated(is),
            "map" | "sum" | "join" if args.named.iter().any(|(name, _)| name == "attribute") => {
                return Is { holder: is.holder, ..Is::NONE };
            }
            "attr" => {
                match args.positional.first().map(|key| &key.node) {
                    Some(Node::Const(Const::Str(key))) => self.key(is, key),
                    Some(_) => self.keys.extend(is.any().then(|| "\0".to_owned())),
                    None => {}
                }
                return Is::NONE;
            }
            "batch" | "slice" | "groupby" => return Is { holder: is.any(), ..Is::NONE },
            _ => {}
        }
        if PASSING.contains(&name) {
            // Of a message itself, these go through its keys.
            self.all |= is.message;
            return is;
        }
        self.shown(is);
        Is::NONE
    }

    /// Filters that read an attribute of each item.
    fn paths(&mut self, is: Is, filter: &str, args: &Args) {
        let positional = match filter {
            "selectattr" | "rejectattr" | "groupby" => Some(0),
            "join" | "unique" | "min" | "max" => Some(1),
            "sort" => Some(2),
            "sum" => Some(0),
            _ => None,
        };
        let by_name =
            args.named.iter().find(|(name, _)| name == "attribute").map(|(_, value)| value);
        let path = by_name.or_else(|| positional.and_then(|index| args.positional.get(index)));
        let item = is.item().or(is);
        match path.map(|path| &path.node) {
            Some(Node::Const(Const::Str(paths))) if item.any() => {
                for path in paths.split(',') {
                    for part in path.split('.') {
                        self.keys.insert(part.to_owned());
                    }
                }
            }
            Some(Node::Const(_)) | None => {}
            Some(_) => self.keys.extend(item.any().then(|| "\0".to_owned())),
        }
    }
}
