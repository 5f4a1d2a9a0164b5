//! What every parser is made of: the unread input, prose, calls, thinking, JSON and typed values.

pub(crate) mod calls;
pub(crate) mod events;
pub(crate) mod input;
pub(crate) mod literal;
pub(crate) mod prose;
pub(crate) mod thinking;
pub(crate) mod typed;
pub(crate) mod value;
