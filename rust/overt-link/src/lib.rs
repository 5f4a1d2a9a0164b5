//! The messages between engine and API processes, and the socket that carries them.
//!
//! One message each way a step. The engine's reader never writes and the API's reader may, so
//! blocking writes cannot wait for each other.

mod message;
mod transport;

pub use message::{
    Batch, Beam, Failure, Finish, Gauges, Logprobs, Params, PromptLogprobs, Refused, Row, Started,
    Submit, ThinkingBudget, ToEngine, ToFront,
};
pub use transport::{LinkError, Received, Receiver, Sender, pair};
