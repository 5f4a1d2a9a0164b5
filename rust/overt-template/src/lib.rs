//! Chat templates on minijinja: the Hugging Face environment, messages in, prompt text out.
//!
//! [`Template::compile`] once, [`Template::render`] per request. The output is meant to be byte-equal
//! to what transformers' `apply_chat_template` writes; where the two engines differ, this crate
//! rewrites the source ([`source`]) or replaces filters, tests and methods ([`environment`]).

mod environment;
mod error;
mod filters;
mod json;
mod methods;
mod normalise;
mod provenance;
mod reads;
mod render;
mod repr;
mod source;

pub use error::TemplateError;
pub use normalise::{Change, Normalisation, Unfit, Wants, normalise};
pub use provenance::{Origin, Part, Span, Traced};
pub use render::{RenderInput, Template};
