//! Engine side of a request: admission, slots, schedule, decide. Tokens only: text is the API process's business.

mod admission;
mod columns;
mod engine;
mod inbox;
mod request;

pub use columns::{COLUMNS, FLAG_ALL_GREEDY};
pub use engine::{Config, Engine, EngineError, RowInfo};
pub use inbox::Inbox;
