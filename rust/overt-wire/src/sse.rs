//! Server-sent events.

/// Opens a frame.
pub(crate) const DATA: &[u8] = b"data: ";

/// Ends a frame.
pub(crate) const END: &[u8] = b"\n\n";

/// The last frame of every stream.
pub(crate) const DONE: &[u8] = b"data: [DONE]\n\n";

/// A comment that tells an idle connection's middlemen that it lives; clients pass over it.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";
