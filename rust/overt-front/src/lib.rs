//! API side of a request: exchanges, choices, outboxes, `present`. No Python, no sockets but the link.

mod body;
mod choice;
mod error;
mod exchange;
mod front;
mod generation;
mod metrics;
mod model;
mod pool;
mod prepare;
mod present;
mod shared;
mod wake;

pub use error::RequestError;
pub use front::{Config, Front, Ready};
pub use generation::Generation;
pub use metrics::{Histogram, Stats};
pub use model::ServedModel;
pub use overt_wire::Protocol;
