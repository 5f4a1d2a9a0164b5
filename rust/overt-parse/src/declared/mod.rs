//! Formats that a checkpoint declares: the `response_template` of its tokenizer's configuration.
//!
//! A declaration names the parts of an answer (`content`, `reasoning_content` or `thinking`, `tool_calls`), each with
//! what it opens and closes with and how its content is written. What stands in no named part belongs to the one
//! that has no opening, or is text.
//!
//! - Text and reasoning go out as they come. So do calls whose content is plain JSON with the name and the arguments
//!   side by side, or with the name in the opening; JSON then ends where its value ends, not at a closing text within
//!   a string. Calls in any other content are read once their region is whole.
//! - A region that turns out not to hold what was declared is text, delimiters and all.
//! - Arguments of elements and lines are typed by the tool's schema; where that says nothing by `value_parser`.
//! - Of a part that comes twice both are said, with `join` between them.

mod calls;
mod content;
mod delimiter;
mod load;
mod reader;
mod source;
mod stream;
mod write;

use std::sync::Arc;

use overt_rule::Grammar;
use serde_json::Value;

use crate::core::calls::Ids;
use crate::core::thinking::{EndedByCall, Start, Thinking};
use crate::format::{Dialect, Format, Many, Reader, Reading, Written};
use crate::{Tool, leak};
use load::{Declaration, Role};

/// Parser names that stand for the checkpoint's own declaration.
pub const DECLARED: &[&str] = &["hf", "response_template", "beam"];

/// The format that a `response_template` declares. It lives as long as the process: one checkpoint has one.
///
/// # Errors
///
/// Says which part of the template is not known, not valid, or cannot be read from a stream.
pub fn declared(template: &Value) -> Result<&'static Format, String> {
    let declaration = load::declaration(template)?;
    let thinking = thinking(&declaration);
    let calls: &'static Declared = Box::leak(Box::new(Declared(Arc::new(declaration))));
    Ok(Box::leak(Box::new(Format {
        name: "response_template",
        tool_names: DECLARED,
        reasoning_names: DECLARED,
        thinking,
        calls: Some(calls),
        framed: true,
        answer: None,
        ids: Ids::Plain,
        tokens: &[],
        signs: &[],
    })))
}

#[derive(Debug)]
struct Declared(Arc<Declaration>);

impl Dialect for Declared {
    fn engine(&self) -> &'static str {
        "declared"
    }

    fn reader(&self, options: &Reading) -> Box<dyn Reader> {
        Box::new(reader::Declared::new(Arc::clone(&self.0), options))
    }

    fn openers(&self) -> &[&'static str] {
        self.0.openers
    }

    fn write(&self, calls: &[Written<'_>], out: &mut String) {
        write::write(&self.0, calls, out);
    }

    fn grammar(&self, tools: &[&Tool], many: Many) -> Grammar {
        write::grammar(&self.0, tools, many)
    }
}

/// The markers of reasoning, where they are fixed texts.
fn thinking(declaration: &Declaration) -> Option<Thinking> {
    let field = declaration.fields.iter().find(|field| matches!(field.role, Role::Reasoning))?;
    let keep = |texts: &[String]| -> &'static [&'static str] {
        let kept: Vec<&'static str> = texts.iter().cloned().map(leak::keep).collect();
        Box::leak(kept.into_boxed_slice())
    };
    let open = field.open.as_ref().map_or(&[][..], |open| keep(&open.literals));
    let close = keep(&field.close.as_ref()?.literals);
    if close.is_empty() {
        return None;
    }
    let start = if field.open.is_none() { Start::Thinking } else { Start::Answer };
    Some(Thinking {
        open,
        close,
        start,
        ended_by_call: EndedByCall::Never,
        answer: &[],
        kept: false,
    })
}
