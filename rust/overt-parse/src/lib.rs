//! Streaming parsers: reasoning, text and tool calls as ordered events.
//!
//! A [`Format`] of the registry builds one [`Parser`] a choice. It is pushed pieces of output and says
//! [`Events`]; the events joined do not depend on where the pieces were cut.

mod call;
mod events;
mod hermes;
mod plain;
mod registry;
mod value;

pub use events::{Event, Events};
pub use plain::Plain;
pub use registry::{Format, find, formats, names, plain};

/// A piece of a choice's output: decoded text, or one special token's spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Valid UTF-8; characters are never cut.
    pub text: &'a str,
    /// True when this is exactly one special token: a marker, or else shown only if the request asked for it.
    pub special: bool,
}

/// One object a choice. The events do not depend on where the pieces were cut.
pub trait Parser: Send {
    /// Reads a piece; each byte is looked at once.
    fn push(&mut self, piece: Piece<'_>, out: &mut Events);
    /// The output has ended: says what was held back. Prose is never lost; a call cut short is ended as it stands.
    fn finish(&mut self, out: &mut Events);
    /// How many tool calls have begun.
    fn tool_calls(&self) -> u32;
}
