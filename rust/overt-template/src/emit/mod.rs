//! The tree as source for the engine underneath.
//!
//! Whatever that engine does otherwise than jinja2 is written as a filter or a test of this crate:
//! operators, attributes that are also methods, what a `for` iterates. Lines keep their numbers, so
//! that errors name them.

mod expression;
mod function;
mod iteration;
mod operator;
mod scope;

use std::collections::{HashMap, HashSet};

use crate::syntax::Fault;
use crate::syntax::ast::{Expr, Kind, Node, Stmt, Target};
use crate::syntax::visit;

/// Filters after which a text may be marked as safe, so that joining it escapes the other side.
const MARKING: [&str; 4] = ["safe", "escape", "e", "forceescape"];

pub(crate) struct Emitter {
    out: String,
    line: u32,
    /// Blocks around whose text becomes a value.
    captured: usize,
    /// Loops around, within one macro.
    loops: usize,
    /// Inside an `if`: unknown names fail only when they are reached.
    soft: bool,
    /// The template marks text as safe somewhere.
    marks: bool,
    /// Values may carry marks of their origin, which the engine's own operators know nothing of.
    traced: bool,
    /// Macros by name: their parameters, and the index of the first with a default.
    macros: HashMap<String, (Vec<String>, usize)>,
    /// Names of the scopes around, the one being written last.
    known: Vec<HashSet<String>>,
    /// Names of its blocks.
    blocks: HashSet<String>,
    /// Names that were made up: of loops that need a flag of their own, of values on their way.
    flags: usize,
}

/// Source for the engine; `traced` where values may carry marks of their origin.
pub(crate) fn emit(body: &[Stmt], traced: bool) -> Result<String, Fault> {
    let mut marks = false;
    visit::expressions(body, &mut |expr| {
        marks |= matches!(&expr.node, Node::Filter(_, name, _) if MARKING.contains(&name.as_str()));
    });
    let mut macros = HashMap::new();
    visit::statements(body, &mut |stmt| {
        let (name, signature) = match &stmt.kind {
            Kind::Macro(name, signature, _) => (name.as_str(), signature),
            Kind::CallBlock(_, signature, _) => ("caller", signature),
            _ => return,
        };
        if !signature.defaults.is_empty() {
            macros.insert(name.to_owned(), (signature.names.clone(), signature.first_default()));
        }
    });
    let mut emitter = Emitter {
        out: String::new(),
        line: 1,
        captured: 0,
        loops: 0,
        soft: false,
        marks,
        traced,
        macros,
        known: Vec::new(),
        blocks: HashSet::new(),
        flags: 0,
    };
    emitter.tag("if none|o_begin");
    emitter.tag("endif");
    emitter.scoped(&[], &[], body, false)?;
    Ok(emitter.out)
}

impl Emitter {
    fn write(&mut self, text: &str) {
        self.line = self.line.saturating_add(newlines(text));
        self.out.push_str(text);
    }

    /// Goes to a line of the source; only inside tags, where a newline means nothing.
    fn reach(&mut self, line: u32) {
        while self.line < line {
            self.write("\n");
        }
    }

    fn open(&mut self, tag: &str, line: u32) {
        self.write("{% ");
        self.reach(line);
        self.write(tag);
    }

    fn close(&mut self) {
        self.write(" %}");
    }

    fn tag(&mut self, tag: &str) {
        self.write("{% ");
        self.write(tag);
        self.close();
    }

    fn body(&mut self, body: &[Stmt]) -> Result<(), Fault> {
        body.iter().try_for_each(|stmt| self.statement(stmt))
    }

    /// A body that jinja2 gives a scope, and the engine does not.
    fn enclosed(&mut self, loaded: &[&Expr], body: &[Stmt]) -> Result<(), Fault> {
        let assigns = assigns(body);
        if assigns {
            self.tag("with");
        }
        self.scoped(&[], loaded, body, false)?;
        if assigns {
            self.tag("endwith");
        }
        Ok(())
    }

    /// As [`enclosed`](Self::enclosed), of a body whose text becomes a value.
    fn captured_enclosed(&mut self, loaded: &[&Expr], body: &[Stmt]) -> Result<(), Fault> {
        self.captured += 1;
        let result = self.enclosed(loaded, body);
        self.captured -= 1;
        result
    }

    /// A body in a scope of its own, which begins with `parameters`, and reads `loaded` first.
    fn scoped(
        &mut self,
        parameters: &[&str],
        loaded: &[&Expr],
        body: &[Stmt],
        copies: bool,
    ) -> Result<(), Fault> {
        let start = scope::scope(parameters, loaded, body, &self.known);
        for name in start.blank {
            self.tag(&format!("set {name} = none|o_undefined"));
        }
        for name in start.copied.iter().filter(|_| copies) {
            self.tag(&format!("set {name} = {name}"));
        }
        self.known.push(start.names);
        // Unknown filters fail at once again.
        let soft = std::mem::replace(&mut self.soft, false);
        let result = self.body(body);
        self.soft = soft;
        self.known.pop();
        result
    }

    fn softly<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        let soft = std::mem::replace(&mut self.soft, true);
        let result = inner(self);
        self.soft = soft;
        result
    }

    fn text(&mut self, text: &str, line: u32) {
        let plain = self.captured == 0
            && !text.ends_with('{')
            && !["{{", "{%", "{#"].iter().any(|open| text.contains(open));
        if plain {
            self.write(text);
        } else {
            // As a value, its size is counted.
            self.write("{{ ");
            self.reach(line);
            self.string(text);
            self.write(" }}");
        }
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<(), Fault> {
        let line = stmt.line;
        match &stmt.kind {
            Kind::Text(text) => self.text(text, line),
            Kind::Print(value) => {
                self.write("{{ ");
                self.expr(value)?;
                self.write(" }}");
            }
            Kind::If(branches, otherwise) => {
                self.softly(|emitter| emitter.condition(branches, otherwise, line))?;
            }
            Kind::For(parts) => self.iteration(parts, line)?,
            Kind::Set(target, value) => self.assignment(target, value, line)?,
            Kind::SetBlock(target, filter, body) => {
                self.open("set ", line);
                let puts = self.target(target);
                if let Some(filter) = filter {
                    self.write(" | ");
                    self.expr(filter)?;
                }
                self.close();
                self.captured_enclosed(&[], body)?;
                self.tag("endset");
                self.puts(puts);
            }
            Kind::With(assigned, body) => {
                self.open("with ", line);
                if let [(target, value)] = assigned.as_slice() {
                    // Its targets are names.
                    let _ = self.target(target);
                    self.write(" = ");
                    self.expr(value)?;
                } else if !assigned.is_empty() {
                    // At once: no value sees the names that stand before it.
                    let targets = assigned.iter().map(|(target, _)| target.clone()).collect();
                    let targets = Target::Tuple(targets);
                    let _ = self.target(&targets);
                    self.write(" = (");
                    for (_, value) in assigned {
                        self.expr(value)?;
                        self.write(", ");
                    }
                    self.write(")");
                }
                self.close();
                let mut names = Vec::new();
                assigned.iter().for_each(|(target, _)| target.names(&mut names));
                self.scoped(&names, &[], body, false)?;
                self.tag("endwith");
            }
            Kind::Macro(name, signature, body) => self.macro_(name, signature, body, line)?,
            Kind::CallBlock(call, signature, body) => {
                self.open("call", line);
                self.parameters(signature, &[]);
                self.write(" ");
                self.block_call(call)?;
                self.close();
                self.function(signature, body)?;
                self.tag("endcall");
            }
            Kind::FilterBlock(filter, body) => {
                self.open("filter ", line);
                self.expr(filter)?;
                self.write("|o_printable");
                self.close();
                self.captured_enclosed(&[filter], body)?;
                self.tag("endfilter");
            }
            Kind::Scope(body) => {
                self.tag("with");
                self.scoped(&[], &[], body, false)?;
                self.tag("endwith");
            }
            Kind::Block(name, body) => {
                // Nothing extends a chat template: its blocks stand where they are.
                if !self.blocks.insert(name.clone()) {
                    return Err(Fault::new(line, format!("the block {name} is defined twice")));
                }
                self.tag("with");
                self.scoped(&[], &[], body, false)?;
                self.tag("endwith");
            }
            Kind::Load(template, names) => self.loading(template, names, line)?,
            Kind::Break => self.tag("break"),
            Kind::Continue => self.tag("continue"),
        }
        Ok(())
    }

    fn condition(
        &mut self,
        branches: &[(Expr, Vec<Stmt>)],
        otherwise: &[Stmt],
        line: u32,
    ) -> Result<(), Fault> {
        for (index, (test, body)) in branches.iter().enumerate() {
            self.open(if index == 0 { "if " } else { "elif " }, line);
            self.expr(test)?;
            self.close();
            self.body(body)?;
        }
        if !otherwise.is_empty() {
            self.tag("else");
            self.body(otherwise)?;
        }
        self.tag("endif");
        Ok(())
    }

    fn assignment(&mut self, target: &Target, value: &Expr, line: u32) -> Result<(), Fault> {
        if let Target::Attr(name, attribute) = target {
            self.open("if ", line);
            self.put(name, attribute);
            self.expr(value)?;
            self.write(") %}{% endif %}");
            return Ok(());
        }
        self.open("set ", line);
        let puts = self.target(target);
        self.write(" = ");
        self.expr(value)?;
        if let Target::Tuple(_) = target {
            self.write(&format!("|o_unpacked({})", shape(target)));
        }
        self.close();
        self.puts(puts);
        Ok(())
    }

    /// Begins to set an attribute of a namespace; the value and a bracket follow.
    fn put(&mut self, name: &str, attribute: &str) {
        let private = if attribute.starts_with('_') { "|o_private" } else { "" };
        self.write(&format!("{name}{private}|o_put(\"{attribute}\", "));
    }

    /// Sets the attributes of namespaces of which a target only held the values.
    fn puts(&mut self, puts: Vec<(String, &Target)>) {
        for (held, target) in puts {
            if let Target::Attr(name, attribute) = target {
                self.write("{% if ");
                self.put(name, attribute);
                self.write(&format!("{held}) %}}{{% endif %}}"));
            }
        }
    }

    /// Writes a target. The engine sets names only: gives a name in place of each attribute, for [`puts`](Self::puts).
    fn target<'t>(&mut self, target: &'t Target) -> Vec<(String, &'t Target)> {
        match target {
            Target::Name(name) => {
                self.write(name);
                Vec::new()
            }
            Target::Attr(..) => {
                self.flags += 1;
                let held = format!("overt_held_{}", self.flags);
                self.write(&held);
                vec![(held, target)]
            }
            Target::Tuple(items) => {
                self.write("(");
                let mut puts = Vec::new();
                for item in items {
                    puts.extend(self.target(item));
                    self.write(", ");
                }
                self.write(")");
                puts
            }
        }
    }

    fn loading(&mut self, template: &Expr, names: &[String], line: u32) -> Result<(), Fault> {
        if names.is_empty() {
            self.write("{{ ");
            self.expr(template)?;
            self.write("|o_no_loader }}");
        }
        for name in names {
            self.open("set ", line);
            self.write(name);
            self.write(" = ");
            self.expr(template)?;
            self.write("|o_no_loader");
            self.close();
        }
        Ok(())
    }
}

/// How a value is taken apart: a list for each tuple, none for each name.
fn shape(target: &Target) -> String {
    match target {
        Target::Name(_) | Target::Attr(..) => "none".to_owned(),
        Target::Tuple(items) => {
            let items: Vec<String> = items.iter().map(shape).collect();
            format!("[{}]", items.join(", "))
        }
    }
}

/// True where a body assigns names of its own scope.
fn assigns(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        Kind::Set(..) | Kind::SetBlock(..) | Kind::Macro(..) => true,
        Kind::Load(_, names) => !names.is_empty(),
        Kind::If(branches, otherwise) => {
            branches.iter().any(|(_, body)| assigns(body)) || assigns(otherwise)
        }
        _ => false,
    })
}

fn newlines(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}
