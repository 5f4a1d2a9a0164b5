//! API side of a request: exchanges, choices, outboxes, `present`. No Python, no sockets but the link.

mod body;
mod choice;
mod error;
mod exchange;
mod fim;
mod front;
mod generation;
mod metrics;
mod model;
mod outline;
mod pool;
mod prepare;
mod present;
mod prompt;
mod shared;
mod show;
mod telling;
mod templates;
mod wake;

pub use error::RequestError;
pub use fim::Fim;
pub use front::{Config, Front, Ready};
pub use generation::{Generation, Overflow, Report, Side};
pub use metrics::{Histogram, Stats};
pub use model::{Reading, ServedModel};
pub use outline::{Outline, outline};
pub use overt_wire::{ErrorShape, Protocol, ReasoningField, Shape, StopField};
pub use show::{Shown, show, told_trace};
pub use templates::{NamedSource, NamedTemplate, Templates};
