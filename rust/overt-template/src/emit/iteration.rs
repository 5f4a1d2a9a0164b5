//! Loops.

use super::{Emitter, shape};
use crate::syntax::Fault;
use crate::syntax::ast::{For, Kind, Stmt, Target};
use crate::syntax::visit;

impl Emitter {
    pub(super) fn iteration(&mut self, parts: &For, line: u32) -> Result<(), Fault> {
        // After `break` or `continue` in the first round, jinja2 goes on to `else`.
        let flag = (!parts.otherwise.is_empty() && leaves(&parts.body)).then(|| {
            self.flags += 1;
            format!("overt_first_{}", self.flags)
        });
        if let Some(flag) = &flag {
            self.tag(&format!("set {flag} = none|o_flag"));
        }
        self.open("for ", line);
        // Its targets are names.
        let _ = self.target(&parts.target);
        self.write(" in ");
        self.expr(&parts.iterated)?;
        match &parts.target {
            Target::Tuple(_) => {
                let shape = shape(&parts.target);
                self.write(&format!("|o_iterate_unpacked({shape})"));
            }
            _ => self.write("|o_iterate"),
        }
        // Without `loop`, items are tested as they come up, after the body of the one before.
        let inner_test = parts.test.as_ref().filter(|test| {
            !parts.recursive
                && !visit::mentions_in(test, "loop")
                && parts.otherwise.is_empty()
                && !visit::mentions(&parts.body, "loop")
        });
        if let (Some(test), None) = (&parts.test, inner_test) {
            self.write(" if ");
            self.expr(test)?;
        }
        if parts.recursive {
            self.write(" recursive");
        }
        self.close();
        self.loops += 1;
        if let Some(test) = inner_test {
            self.write("{% if ");
            self.expr(test)?;
            self.close();
        }
        let mut names = vec!["loop"];
        parts.target.names(&mut names);
        self.scoped(&names, &[], &parts.body, has_macro(&parts.body))?;
        if inner_test.is_some() {
            self.tag("endif");
        }
        self.loops -= 1;
        match flag {
            Some(flag) => {
                self.tag(&format!("if {flag}|o_put(\"first\", false)"));
                self.tag("endif");
                self.tag("endfor");
                self.tag(&format!("if {flag}.first"));
                self.enclosed(&[], &parts.otherwise)?;
                self.tag("endif");
            }
            None => {
                if !parts.otherwise.is_empty() {
                    self.tag("else");
                    self.enclosed(&[], &parts.otherwise)?;
                }
                self.tag("endfor");
            }
        }
        Ok(())
    }
}

/// True where a body defines a macro.
fn has_macro(body: &[Stmt]) -> bool {
    let mut found = false;
    visit::statements(body, &mut |stmt| {
        found |= matches!(stmt.kind, Kind::Macro(..) | Kind::CallBlock(..));
    });
    found
}

/// True where a loop's body leaves a round early.
fn leaves(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        Kind::Break | Kind::Continue => true,
        Kind::For(_) | Kind::Macro(..) | Kind::CallBlock(..) => false,
        _ => {
            let mut found = false;
            visit::parts(stmt, &mut |_| {}, &mut |inner| found |= leaves(inner));
            found
        }
    })
}
