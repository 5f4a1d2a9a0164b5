//! Macros, and the bodies of call blocks.

use super::Emitter;
use crate::syntax::Fault;
use crate::syntax::ast::{Expr, Signature, Stmt};
use crate::syntax::visit;

impl Emitter {
    pub(super) fn parameters(&mut self, signature: &Signature, more: &[&str]) {
        self.write("(");
        for (index, name) in signature.names.iter().enumerate() {
            self.write(if index > 0 { ", " } else { "" });
            self.write(name);
            self.write(if index >= signature.first_default() { "=none|o_missing" } else { "" });
        }
        for name in more {
            self.write(if self.out.ends_with('(') { "" } else { ", " });
            self.write(name);
            self.write("=none");
        }
        self.write(")");
    }

    /// The body of a macro or a call block, after its parameters.
    pub(super) fn function(&mut self, signature: &Signature, body: &[Stmt]) -> Result<(), Fault> {
        let loops = std::mem::replace(&mut self.loops, 0);
        self.tag("if none|o_enter");
        self.tag("endif");
        if visit::mentions(body, "caller") && !signature.names.iter().any(|name| name == "caller") {
            // The engine passes it on only where it finds the name outside of macros inside.
            self.tag("if caller is t_none()");
            self.tag("endif");
        }
        // In their order: a default may read the parameters before it.
        for (name, default) in
            signature.names.iter().skip(signature.first_default()).zip(&signature.defaults)
        {
            self.tag(&format!("if {name} is o_missing"));
            self.open(&format!("set {name} = "), default.line);
            self.expr(default)?;
            self.close();
            self.tag("else");
            self.tag(&format!("set {name} = {name}|o_taken"));
            self.tag("endif");
        }
        let mut names: Vec<&str> = signature.names.iter().map(String::as_str).collect();
        names.extend(["caller", "varargs", "kwargs"]);
        let defaults: Vec<&Expr> = signature.defaults.iter().collect();
        self.captured += 1;
        self.scoped(&names, &defaults, body, true)?;
        self.captured -= 1;
        self.loops = loops;
        Ok(())
    }

    pub(super) fn macro_(
        &mut self,
        name: &str,
        signature: &Signature,
        body: &[Stmt],
        line: u32,
    ) -> Result<(), Fault> {
        let takes = |special: &str| {
            !signature.names.iter().any(|name| name == special) && visit::mentions(body, special)
        };
        let (varargs, kwargs) = (takes("varargs"), takes("kwargs"));
        let mut more = Vec::new();
        if varargs || kwargs {
            more.extend(["varargs", "kwargs"]);
        }
        self.open(&format!("macro {name}"), line);
        self.parameters(signature, &more);
        self.close();
        self.function(signature, body)?;
        self.tag("endmacro");
        if !more.is_empty() {
            self.write("{% set ");
            self.write(name);
            let caller = takes("caller");
            self.write(&format!(" = {name}|o_variadic({varargs}, {kwargs}, {caller}, ["));
            for name in &signature.names {
                self.string(name);
                self.write(", ");
            }
            self.write("])");
            self.close();
        }
        Ok(())
    }
}
