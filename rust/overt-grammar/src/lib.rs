//! Structured outputs: what a request may constrain, and the token masks that enforce it.
//!
//! The API process reads a request ([`requested`]) and turns what it asks for into a [`Source`] ([`source`]): cheap
//! checks, refusals by name. The engine process compiles the source ([`Factory::compile`], on a worker thread) into
//! a [`Matcher`], one for each choice, which fills a token mask before each step and takes the token after it.

mod constraint;
mod ebnf;
mod factory;
mod limits;
mod masks;
mod matcher;
mod pattern;
mod request;
mod rules;
mod schema;
mod source;
mod tags;
mod text;
mod vocabulary;

pub use constraint::source;
pub use factory::{CompileError, Factory};
pub use limits::Limits;
pub use matcher::{MatchError, Matcher};
pub use overt_rule::{Grammar, Rule};
pub use request::requested;
pub use source::{Around, Constraint, Numbers, Options, Refused, Source, Whitespace};
pub use vocabulary::{Vocabulary, VocabularyError, words};
