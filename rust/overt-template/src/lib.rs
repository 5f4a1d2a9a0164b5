//! Chat templates on minijinja: the Hugging Face environment, messages in, prompt text out.
//!
//! [`Template::compile`] once, [`Template::render`] per request. The output is meant to be byte-equal
//! to what transformers' `apply_chat_template` writes. A template is read by jinja2's grammar
//! (`syntax`) and written anew for the engine (`emit`): what the engine does otherwise than Python
//! becomes a filter or a test of this crate (`registry`, `python`, `filters`, `methods`, `format`).
//!
//! What still differs, none of it in a template known to be in use:
//! - integers end at 127 bits, complex numbers and bytes do not exist: such results are refused; in JSON they end
//!   at 64 bits ([`wide_integer`] finds others);
//! - a loop or a macro is no key of a mapping, nor an argument of `loop.changed`;
//! - `nan` in a list that is sorted may stand elsewhere;
//! - printing a method, an iterator or a function shows a made-up address;
//! - `urlize`, `lipsum`, `str.encode`, `autoescape true` and `\N{…}` are refused; `striptags` reads the
//!   common entities only, `pprint` breaks no long texts;
//! - a `block` sees the variables of loops and macros around it, and has no `self.name()`;
//! - an error inside `map`, `select` and the like is raised where the iterator is read, but what comes
//!   before it was computed at once;
//! - of a chain such as `a < b() < c`, every value is computed even where the first comparison fails;
//! - `is sameas` takes equal small values for one; case rules, `isalpha`, `isalnum`, `isidentifier` and
//!   `isnumeric` follow Unicode as Rust has it;
//! - a slice of a literal that cannot be sliced is refused where jinja2 prints nothing;
//! - limits: see [`Limits`]; containers nest 128 deep, macros about 50, expressions 96.

mod arguments;
mod budget;
mod emit;
mod environment;
mod error;
mod filters;
mod format;
mod functions;
mod input;
mod integers;
mod jinja_tests;
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

pub use budget::Limits;
pub use error::TemplateError;
pub use integers::{WideInteger, wide_integer};
pub use normalise::{Change, Normalisation, Unfit, Wants, normalise};
pub use provenance::{Origin, Part, Span, Traced};
pub use render::{RenderInput, Template};
