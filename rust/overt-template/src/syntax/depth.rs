//! How deep a tree is.

use super::ast::{Expr, Node};

/// Nodes on the longest way down from a node's children.
pub(super) fn deepest(node: &Node) -> u16 {
    let of =
        |items: &mut dyn Iterator<Item = &Expr>| items.map(|expr| expr.depth).max().unwrap_or(0);
    match node {
        Node::Const(_) | Node::Name(_) => 0,
        Node::Tuple(items)
        | Node::List(items)
        | Node::Concat(items)
        | Node::And(items)
        | Node::Or(items) => of(&mut items.iter()),
        Node::Dict(pairs) => of(&mut pairs.iter().flat_map(|(key, value)| [key, value])),
        Node::Attr(value, _) | Node::Unary(_, value) => value.depth,
        Node::Item(value, key) => value.depth.max(key.depth),
        Node::Slice(value, bounds) => {
            of(&mut bounds.iter().flatten().map(AsRef::as_ref)).max(value.depth)
        }
        Node::Call(value, args) | Node::Test(value, _, args) => {
            of(&mut args.all()).max(value.depth)
        }
        Node::Filter(value, _, args) => {
            of(&mut args.all()).max(value.as_ref().map_or(0, |value| value.depth))
        }
        Node::Math(first, rest) | Node::Compare(first, rest) => {
            of(&mut rest.iter().map(|(_, expr)| expr)).max(first.depth)
        }
        Node::Cond { test, value, other } => {
            test.depth.max(value.depth).max(other.as_ref().map_or(0, |other| other.depth))
        }
    }
}
