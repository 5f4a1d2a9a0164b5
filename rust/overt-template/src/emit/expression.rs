//! Expressions, each written as an atom with what follows it: filters may be appended anywhere.

use super::Emitter;
use crate::registry;
use crate::syntax::Fault;
use crate::syntax::ast::{Args, Const, Expr, Node};

impl Emitter {
    /// A string literal.
    pub(super) fn string(&mut self, text: &str) {
        let mut out = String::with_capacity(text.len() + 2);
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                c => out.push(c),
            }
        }
        out.push('"');
        self.write(&out);
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> Result<(), Fault> {
        self.reach(expr_line(expr));
        match &expr.node {
            Node::Const(value) => self.constant(value),
            Node::Name(name) => self.write(name),
            Node::Tuple(items) => {
                self.sequence("(", items, ")")?;
                self.sealed(items);
            }
            Node::List(items) => {
                self.sequence("[", items, "]")?;
                self.sealed(items);
            }
            Node::Dict(pairs) => {
                self.write("{");
                for (key, value) in pairs {
                    self.expr(key)?;
                    self.write(if is_constant(key) { ": " } else { "|o_key: " });
                    self.expr(value)?;
                    self.write(", ");
                }
                self.write("}");
                if !pairs.iter().all(|(key, value)| is_constant(key) && is_constant(value)) {
                    self.write("|o_sealed");
                }
            }
            Node::Attr(value, name) => self.attribute(value, name)?,
            Node::Item(value, key) => self.item(value, key)?,
            Node::Slice(value, bounds) => {
                self.expr(value)?;
                self.write("|o_slice(");
                for bound in bounds {
                    match bound {
                        Some(bound) => self.expr(bound)?,
                        None => self.write("none"),
                    }
                    self.write(", ");
                }
                self.write(")");
            }
            Node::Call(callee, args) => self.call(callee, args)?,
            Node::Filter(value, name, args) => self.filter(value.as_deref(), name, args)?,
            Node::Test(value, name, args) => self.test(value, name, args)?,
            Node::Unary(op, value) => self.unary(*op, value)?,
            Node::Math(first, rest) => self.math(first, rest)?,
            Node::Concat(items) => {
                if let Some((first, rest)) = items.split_first() {
                    self.expr(first)?;
                    self.write("|o_concat(");
                    self.list(rest)?;
                    self.write(")");
                }
            }
            Node::Compare(first, rest) => self.compare(first, rest)?,
            Node::And(items) => self.joined(items, " and ")?,
            Node::Or(items) => self.joined(items, " or ")?,
            Node::Cond { test, value, other } => {
                let soft = std::mem::replace(&mut self.soft, true);
                self.write("(");
                self.expr(value)?;
                self.write(" if ");
                self.expr(test)?;
                self.write(" else ");
                match other {
                    Some(other) => self.expr(other)?,
                    None => self.write("none|o_undefined"),
                }
                self.write(")");
                self.soft = soft;
            }
        }
        Ok(())
    }

    fn constant(&mut self, value: &Const) {
        match value {
            Const::None => self.write("none"),
            Const::Bool(value) => self.write(if *value { "true" } else { "false" }),
            Const::Int(number) => self.write(&number.to_string()),
            Const::Float(number) if number.is_infinite() => self.write("(none|o_infinite)"),
            Const::Float(number) => self.write(&format!("{number:?}")),
            Const::Str(text) => self.string(text),
        }
    }

    fn list(&mut self, items: &[Expr]) -> Result<(), Fault> {
        for item in items {
            self.expr(item)?;
            self.write(", ");
        }
        Ok(())
    }

    fn sequence(&mut self, open: &str, items: &[Expr], close: &str) -> Result<(), Fault> {
        self.write(open);
        self.list(items)?;
        self.write(close);
        Ok(())
    }

    /// A container of values: its depth is bounded where it is made.
    fn sealed(&mut self, items: &[Expr]) {
        if !items.iter().all(is_constant) {
            self.write("|o_sealed");
        }
    }

    fn joined(&mut self, items: &[Expr], word: &str) -> Result<(), Fault> {
        self.write("(");
        for (index, item) in items.iter().enumerate() {
            self.write(if index > 0 { word } else { "" });
            self.expr(item)?;
        }
        self.write(")");
        Ok(())
    }

    fn is_loop(&self, value: &Expr) -> bool {
        self.loops > 0 && matches!(&value.node, Node::Name(name) if name == "loop")
    }

    /// True where a name is an item's and nothing else's: the engine's own lookup will do.
    fn is_plain(&self, value: &Expr, name: &str) -> bool {
        self.is_loop(value) || (!registry::is_attribute(name) && is_short(name))
    }

    /// A value that a dot or a bracket may follow.
    fn base(&mut self, value: &Expr) -> Result<(), Fault> {
        let bare = match &value.node {
            Node::Name(_) => true,
            Node::Attr(value, name) => self.is_plain(value, name),
            Node::Item(_, key) => is_plain_key(key),
            _ => false,
        };
        self.write(if bare { "" } else { "(" });
        self.expr(value)?;
        self.write(if bare { "" } else { ")" });
        Ok(())
    }

    fn attribute(&mut self, value: &Expr, name: &str) -> Result<(), Fault> {
        if self.is_plain(value, name) {
            self.base(value)?;
            self.write(".");
            self.write(name);
        } else {
            self.expr(value)?;
            self.write("|o_attr(");
            self.string(name);
            self.write(")");
        }
        Ok(())
    }

    fn item(&mut self, value: &Expr, key: &Expr) -> Result<(), Fault> {
        let plain = is_plain_key(key);
        if plain {
            self.base(value)?
        } else {
            self.expr(value)?
        }
        self.write(if plain { "[" } else { "|o_item(" });
        self.expr(key)?;
        self.write(if plain { "]" } else { ")" });
        Ok(())
    }

    fn arguments(&mut self, args: &Args) -> Result<(), Fault> {
        self.marked_arguments(args, None)
    }

    /// Arguments; those of parameters with a default carry a mark where they are undefined.
    fn marked_arguments(&mut self, args: &Args, callee: Option<&str>) -> Result<(), Fault> {
        let spec = callee.and_then(|name| self.macros.get(name)).cloned();
        let has_default = |index: Option<usize>| {
            spec.as_ref().is_some_and(|(_, first)| index.is_some_and(|index| index >= *first))
        };
        for (index, arg) in args.positional.iter().enumerate() {
            self.expr(arg)?;
            if has_default(Some(index)) && !is_constant(arg) {
                self.write("|o_given");
            }
            self.write(", ");
        }
        if let Some(rest) = &args.rest {
            self.write("*(");
            self.expr(rest)?;
            self.write("|o_arguments), ");
        }
        for (name, arg) in &args.named {
            self.write(name);
            self.write("=");
            self.expr(arg)?;
            let index =
                spec.as_ref().and_then(|(names, _)| names.iter().position(|other| other == name));
            if has_default(index) && !is_constant(arg) {
                self.write("|o_given");
            }
            self.write(", ");
        }
        if let Some(rest) = &args.rest_named {
            self.write("**(");
            self.expr(rest)?;
            self.write("|o_keywords), ");
        }
        Ok(())
    }

    fn call(&mut self, callee: &Expr, args: &Args) -> Result<(), Fault> {
        match &callee.node {
            Node::Name(name) if name == "loop" && self.loops > 0 => {
                self.write("loop(");
                for arg in &args.positional {
                    self.expr(arg)?;
                    self.write("|o_iterate, ");
                }
                self.write(")");
            }
            Node::Name(name) => {
                self.write(name);
                self.write("(");
                self.marked_arguments(args, Some(name))?;
                self.write(")");
            }
            Node::Attr(value, name) => {
                self.expr(value)?;
                self.write("|o_call(");
                self.string(name);
                self.write(", ");
                self.arguments(args)?;
                self.write(")");
            }
            _ => {
                self.expr(callee)?;
                self.write("|o_invoke(");
                self.arguments(args)?;
                self.write(")");
            }
        }
        Ok(())
    }

    /// The call of a call block, which the engine wants to see as a call.
    pub(super) fn block_call(&mut self, call: &Expr) -> Result<(), Fault> {
        let Node::Call(callee, args) = &call.node else { return Ok(()) };
        self.reach(call.line);
        match &callee.node {
            Node::Name(_) => self.call(callee, args),
            _ => {
                self.write("overt_invoke(");
                self.expr(callee)?;
                self.write(", ");
                self.arguments(args)?;
                self.write(")");
                Ok(())
            }
        }
    }

    fn filter(&mut self, value: Option<&Expr>, name: &str, args: &Args) -> Result<(), Fault> {
        if let Some(value) = value {
            self.expr(value)?;
            self.write("|");
        }
        if registry::is_filter(name) {
            self.write(&format!("f_{name}("));
        } else if self.soft {
            self.write("o_unknown_filter(");
            self.string(name);
            self.write(", ");
        } else {
            return Err(Fault::new(self.line, format!("unknown filter {name}")));
        }
        self.arguments(args)?;
        self.write(")");
        Ok(())
    }

    fn test(&mut self, value: &Expr, name: &str, args: &Args) -> Result<(), Fault> {
        self.write("(");
        self.expr(value)?;
        if registry::is_test(name) {
            self.write(&format!(" is t_{name}("));
        } else if self.soft {
            self.write("|o_unknown_test(");
            self.string(name);
            self.write(", ");
        } else {
            return Err(Fault::new(self.line, format!("unknown test {name}")));
        }
        self.arguments(args)?;
        self.write("))");
        Ok(())
    }
}

/// The line where an expression begins.
fn expr_line(expr: &Expr) -> u32 {
    match &expr.node {
        // Its own line is that of the word `if`, behind the value.
        Node::Cond { .. } => 0,
        _ => expr.line,
    }
}

/// A key that the engine's own lookup finds as Python does.
fn is_plain_key(key: &Expr) -> bool {
    match &key.node {
        Node::Const(Const::Str(name)) => !registry::is_attribute(name) && is_short(name),
        // Far into a text, the engine would count characters for nothing.
        Node::Const(Const::Int(index)) => *index < 16,
        _ => false,
    }
}

/// A text that the engine's own operators may look into: they count steps, not bytes.
pub(super) fn is_short(text: &str) -> bool {
    text.len() <= 64
}

fn is_constant(expr: &Expr) -> bool {
    match &expr.node {
        Node::Const(_) => true,
        Node::Unary(_, value) => is_constant(value),
        _ => false,
    }
}
