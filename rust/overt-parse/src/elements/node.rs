//! A value of elements, and the JSON that the schema makes of it.

use std::collections::HashMap;

use serde_json::Value;

use crate::core::typed::{Type, items, property, quote};

/// An element: text, or elements in it.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) children: Vec<Node>,
}

impl Node {
    pub(super) fn new(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    /// Writes it as JSON of `schema`. `open`: the output was cut off in its last element, so it is not closed.
    pub(super) fn write(&self, on: Page<'_>, schema: Option<&Value>, open: bool, out: &mut String) {
        let kind = schema.map_or_else(Type::any, |schema| Type::of(on.root, schema));
        if self.children.is_empty() {
            return match self.text.trim().is_empty() && !kind.string {
                _ if open => kind.write_cut(&self.text, out),
                true if kind.array => out.push_str("[]"),
                true if kind.object => out.push_str("{}"),
                _ => kind.write(&self.text, out),
            };
        }
        let list = match (kind.array, kind.object) {
            (true, false) => true,
            (false, true) => false,
            _ => self.children.iter().all(|child| child.name == on.item),
        };
        if !list {
            return self.write_object(on, schema, open, out);
        }
        let items = schema.and_then(|schema| items(on.root, schema));
        let children: Vec<&Self> = self.children.iter().collect();
        write_list(&children, &self.text, on, items, open, out);
    }

    fn write_object(&self, on: Page<'_>, schema: Option<&Value>, open: bool, out: &mut String) {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut members: Vec<Vec<&Self>> = Vec::new();
        for child in &self.children {
            let place = *places.entry(&child.name).or_insert(members.len());
            match members.get_mut(place) {
                Some(member) => member.push(child),
                None => members.push(vec![child]),
            }
        }
        // Text beside elements has no name of its own.
        let text = Some(self.text.as_str()).filter(|text| !text.trim().is_empty());
        let last = self.children.last().and_then(|child| places.get(child.name.as_str()));
        let open_last = open && text.is_none() && last == members.len().checked_sub(1).as_ref();
        out.push('{');
        for (at, member) in members.iter().enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            let name = member.first().map_or("", |child| &child.name);
            quote(name, out);
            out.push_str(": ");
            let schema = schema.and_then(|schema| property(on.root, schema, name));
            let open = open_last && at + 1 == members.len();
            match member.as_slice() {
                [one] => one.write(on, schema, open, out),
                several => {
                    let items = schema.and_then(|schema| items(on.root, schema));
                    write_list(several, "", on, items, open, out);
                }
            }
        }
        if let Some(text) = text {
            out.push_str(", \"$text\": ");
            quote(text, out);
        }
        if !open {
            out.push('}');
        }
    }
}

/// What is the same for all of a value's elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page<'a> {
    /// What the schemas' references point into.
    pub(super) root: &'a Value,
    /// The name of a list's elements where no schema tells.
    pub(super) item: &'a str,
}

fn write_list(
    children: &[&Node],
    text: &str,
    on: Page<'_>,
    schema: Option<&Value>,
    open: bool,
    out: &mut String,
) {
    let beside = !text.trim().is_empty();
    out.push('[');
    for (at, child) in children.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        child.write(on, schema, open && !beside && at + 1 == children.len(), out);
    }
    if beside {
        out.push_str(", ");
        quote(text, out);
    }
    if !open {
        out.push(']');
    }
}
