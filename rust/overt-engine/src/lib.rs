//! Engine side of a request: admission, slots, schedule, decide. Tokens only: text is the API process's business.

mod admission;
mod answers;
mod beam;
mod columns;
mod config;
mod constraint;
mod counts;
mod decide;
mod edits;
mod engine;
mod grammars;
mod inbox;
mod request;

pub use columns::{COLUMNS, FLAG_ALL_GREEDY, FLAG_PROMPT_LOGPROBS};
pub use config::{Config, EngineError};
pub use edits::HEADER_WORDS as EDITS_HEADER_WORDS;
pub use engine::{Engine, RowInfo};
pub use grammars::Grammars;
pub use inbox::Inbox;
