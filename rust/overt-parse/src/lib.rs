//! Streaming parsers: reasoning, text and tool calls as ordered events.
//!
//! A [`Format`] describes how a family of models writes; a [`Parser`] of it is pushed pieces of one choice's
//! output and says [`Events`], which joined do not depend on where the pieces were cut.

mod braces;
mod channels;
mod core;
mod declared;
mod described;
pub mod detect;
mod elements;
#[doc(hidden)]
pub mod faulty;
mod format;
mod formats;
mod json;
mod leak;
mod pairs;
mod parser;
mod plain;
mod pythonic;
mod registry;
mod rules;
mod tags;
mod tools;

pub use core::calls::Ids;
pub use core::events::{Event, Events};
pub use core::thinking::{EndedByCall, Start, Thinking};
pub use declared::{DECLARED, declared};
pub use described::described;
pub use detect::{Detected, check, detect};
pub use format::{Answer, Format, Many, Written};
pub use parser::{Choice, Options, Parser};
pub use registry::{formats, reasoning_format, register, tool_format};
pub use tools::{Tool, Tools};

/// A piece of a choice's output: decoded text, or one special token's spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Valid UTF-8; characters are never cut.
    pub text: &'a str,
    /// True when this is exactly one special token: a marker, or else shown only if the request asked for it.
    pub special: bool,
}
