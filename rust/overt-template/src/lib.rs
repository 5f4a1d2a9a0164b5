//! Chat templates on minijinja: the Hugging Face environment, messages in, prompt text out.
//!
//! [`Template::compile`] once, [`Template::render`] per request. The output is meant to be byte-equal
//! to what transformers' `apply_chat_template` writes. A template is read by jinja2's grammar
//! (`syntax`) and written anew for the engine (`emit`): what the engine does otherwise than Python
//! becomes a filter of this crate (`registry`, `python`, `filters`, `methods`, `format`).

mod budget;
mod emit;
mod environment;
mod error;
mod filters;
mod format;
mod functions;
mod input;
mod json;
mod methods;
mod normalise;
mod output;
mod provenance;
mod python;
mod reads;
mod registry;
mod render;
mod repr;
mod source;
mod syntax;
mod tests;

pub use budget::Limits;
pub use error::TemplateError;
pub use normalise::{Change, Normalisation, Unfit, Wants, normalise};
pub use provenance::{Origin, Part, Span, Traced};
pub use render::{RenderInput, Template};
