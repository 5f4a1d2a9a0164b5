//! Engine side of a request: admission, slots, schedule, decide. Tokens only: text is the API process's business.

mod admission;
mod answers;
mod beam;
mod columns;
mod counts;
mod edits;
mod engine;
mod inbox;
mod request;

pub use columns::{COLUMNS, FLAG_ALL_GREEDY, FLAG_PROMPT_LOGPROBS};
pub use edits::HEADER_WORDS as EDITS_HEADER_WORDS;
pub use engine::{Config, Engine, EngineError, RowInfo};
pub use inbox::Inbox;
