//! Operators: the engine's own where it has Python's, a filter or a test of this crate elsewhere.

use super::Emitter;
use super::expression::is_short;
use crate::syntax::Fault;
use crate::syntax::ast::{Const, Expr, Node, Op, Unary};

/// What is known of a value before it exists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// A literal text.
    Literal,
    /// A float, or an integer of at most so many bits.
    Number(u32),
    Nothing,
}

impl Emitter {
    fn known(&self, expr: &Expr) -> Known {
        match &expr.node {
            Node::Const(Const::Str(_)) => Known::Literal,
            Node::Const(Const::Int(number)) => Known::Number(u128::BITS - number.leading_zeros()),
            Node::Const(Const::Float(_)) => Known::Number(0),
            Node::Filter(Some(_), name, _) if matches!(name.as_str(), "length" | "count") => {
                Known::Number(usize::BITS)
            }
            Node::Attr(value, name)
                if self.loops > 0
                    && matches!(&value.node, Node::Name(name) if name == "loop")
                    && matches!(
                        name.as_str(),
                        "index"
                            | "index0"
                            | "length"
                            | "revindex"
                            | "revindex0"
                            | "depth"
                            | "depth0"
                    ) =>
            {
                Known::Number(usize::BITS)
            }
            Node::Unary(Unary::Neg, value) => match self.known(value) {
                Known::Number(bits) => Known::Number(bits),
                _ => Known::Nothing,
            },
            Node::Math(first, rest) => rest
                .iter()
                .fold(self.known(first), |left, (op, value)| self.result(left, *op, value)),
            _ => Known::Nothing,
        }
    }

    /// What is known of a result. Beyond the bits that an integer may have here, the engine's own operators go on.
    fn result(&self, left: Known, op: Op, right: &Expr) -> Known {
        let (Known::Number(left), Known::Number(right)) = (left, self.known(right)) else {
            return Known::Nothing;
        };
        let bits = match op {
            Op::Add | Op::Sub => left.max(right) + 1,
            Op::Mul => left + right,
            Op::FloorDiv => left + 1,
            Op::Mod => right,
            Op::Div => 0,
            _ => return Known::Nothing,
        };
        if bits < i128::BITS - 1 { Known::Number(bits) } else { Known::Nothing }
    }

    pub(super) fn unary(&mut self, op: Unary, value: &Expr) -> Result<(), Fault> {
        match (op, &value.node) {
            (Unary::Not, _) => {
                self.write("(not ");
                self.expr(value)?;
                self.write(")");
            }
            (Unary::Neg, Node::Const(Const::Int(_) | Const::Float(_))) => {
                self.write("(-");
                self.expr(value)?;
                self.write(")");
            }
            _ => {
                self.expr(value)?;
                self.write(if op == Unary::Neg { "|o_neg" } else { "|o_pos" });
            }
        }
        Ok(())
    }

    pub(super) fn math(&mut self, first: &Expr, rest: &[(Op, Expr)]) -> Result<(), Fault> {
        let mut left = self.known(first);
        // What the engine's own operators do as Python does stays an operator, in brackets.
        let natives: Vec<bool> = rest
            .iter()
            .map(|(op, value)| {
                let literal = left == Known::Literal || self.known(value) == Known::Literal;
                let result = self.result(left, *op, value);
                left = result;
                match op {
                    Op::Add if literal => !self.marks,
                    Op::Add | Op::Sub | Op::Mul | Op::Mod => matches!(result, Known::Number(_)),
                    _ => false,
                }
            })
            .collect();
        for _ in natives.iter().filter(|native| **native) {
            self.write("(");
        }
        self.expr(first)?;
        for ((op, value), native) in rest.iter().zip(natives) {
            let (sign, name) = match op {
                Op::Add => (" + ", "o_add"),
                Op::Sub => (" - ", "o_sub"),
                Op::Mul => (" * ", "o_mul"),
                Op::Div => (" / ", "o_div"),
                Op::FloorDiv => (" // ", "o_floordiv"),
                Op::Mod => (" % ", "o_mod"),
                _ => (" ** ", "o_pow"),
            };
            if native {
                self.write(sign);
                self.expr(value)?;
                self.write(")");
            } else {
                self.write(&format!("|{name}("));
                self.expr(value)?;
                self.write(")");
            }
        }
        Ok(())
    }

    pub(super) fn compare(&mut self, first: &Expr, rest: &[(Op, Expr)]) -> Result<(), Fault> {
        if let [(op, value)] = rest {
            return self.comparison(first, *op, value);
        }
        let simple = rest[..rest.len() - 1].iter().all(|(_, value)| is_simple(value));
        if !simple {
            // Each value is made once.
            self.expr(first)?;
            self.write("|o_compare(");
            for (op, value) in rest {
                self.string(test_name(*op));
                self.write(", ");
                self.expr(value)?;
                self.write(", ");
            }
            self.write(")");
            return Ok(());
        }
        self.write("(");
        let mut left = first;
        for (index, (op, value)) in rest.iter().enumerate() {
            self.write(if index > 0 { " and " } else { "" });
            self.comparison(left, *op, value)?;
            left = value;
        }
        self.write(")");
        Ok(())
    }

    fn comparison(&mut self, left: &Expr, op: Op, right: &Expr) -> Result<(), Fault> {
        let number = |expr: &Expr| matches!(self.known(expr), Known::Number(_));
        let numbers = number(left) && number(right);
        let constant = |expr: &Expr| match &expr.node {
            Node::Const(Const::Str(text)) => is_short(text),
            Node::Const(_) => true,
            _ => false,
        };
        let literal = !self.traced && (constant(left) || constant(right));
        let sign = match op {
            Op::Eq if literal => Some(" == "),
            Op::Ne if literal => Some(" != "),
            Op::Lt if numbers => Some(" < "),
            Op::Le if numbers => Some(" <= "),
            Op::Gt if numbers => Some(" > "),
            Op::Ge if numbers => Some(" >= "),
            _ => None,
        };
        self.write("(");
        self.expr(left)?;
        match sign {
            Some(sign) => {
                self.write(sign);
                self.expr(right)?;
            }
            None => {
                self.write(&format!(" is o_{}(", test_name(op)));
                self.expr(right)?;
                self.write(")");
            }
        }
        self.write(")");
        Ok(())
    }
}

/// Cheap to write twice.
fn is_simple(expr: &Expr) -> bool {
    match &expr.node {
        Node::Const(_) | Node::Name(_) => true,
        Node::Attr(value, _) => is_simple(value),
        _ => false,
    }
}

fn test_name(op: Op) -> &'static str {
    match op {
        Op::Eq => "eq",
        Op::Ne => "ne",
        Op::Lt => "lt",
        Op::Le => "le",
        Op::Gt => "gt",
        Op::Ge => "ge",
        Op::NotIn => "notin",
        _ => "in",
    }
}
