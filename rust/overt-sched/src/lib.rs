//! Scheduler, KV block pool and prefix index: a pure function from state to plan.
//!
//! No clock, no randomness, no I/O: `now` is an argument. A step is [`Scheduler::schedule`], which plans the rows
//! of one forward pass, [`arena::write`], which lays the plan out as the int32 words that the device reads, and
//! [`Scheduler::complete`], which takes the sampled tokens. Under overlap a second plan may be made before the
//! first is complete; its rows then read tokens that the host does not know yet.

pub mod arena;
mod config;
mod plan;
mod pool;
mod prefix;
mod queue;
mod scheduler;
mod sequence;
mod share;
mod step;

pub use arena::{ArenaError, Layout};
pub use config::{Config, NewSeq, Refusal, SeqId, Stats};
pub use plan::{Plan, Row, RowResult};
pub use scheduler::Scheduler;
