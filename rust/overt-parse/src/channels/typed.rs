//! Arguments that are written one by one: their object is put together as their values come.

use crate::core::typed::{Type, escape, quote};
use crate::format::Said;

/// The object of a call's arguments.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    any: bool,
}

impl Fields {
    /// The next argument's name.
    pub(crate) fn key(&mut self, name: &str, said: &mut Said<'_>) {
        let mut text = String::from(if self.any { ", " } else { "{" });
        quote(name, &mut text);
        text.push_str(": ");
        said.arguments(&text);
        self.any = true;
    }

    /// The object ends.
    pub(crate) fn close(&mut self, said: &mut Said<'_>) {
        if std::mem::take(&mut self.any) {
            said.arguments("}");
        }
    }
}

/// One argument's value: a text goes out as it comes, anything else once it is whole.
#[derive(Debug)]
pub(crate) struct Value {
    kind: Type,
    text: String,
}

impl Value {
    pub(crate) fn new(kind: Type, said: &mut Said<'_>) -> Self {
        if kind.is_text() {
            said.arguments("\"");
        }
        Self { kind, text: String::new() }
    }

    /// More of it.
    pub(crate) fn push(&mut self, text: &str, said: &mut Said<'_>) {
        if self.kind.is_text() {
            let mut escaped = String::with_capacity(text.len());
            escape(text, &mut escaped);
            said.arguments(&escaped);
        } else {
            self.text.push_str(text);
        }
    }

    /// Its end has come; or the output's end has, and it is left as it stands (not `whole`).
    pub(crate) fn close(self, whole: bool, said: &mut Said<'_>) {
        if self.kind.is_text() {
            if whole {
                said.arguments("\"");
            }
            return;
        }
        let mut text = String::new();
        if whole {
            self.kind.write(&self.text, &mut text);
        } else {
            self.kind.write_cut(&self.text, &mut text);
        }
        said.arguments(&text);
    }
}
