//! What the load generator is asked to do, and why it may refuse.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The load. Unknown fields are refused.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// `127.0.0.1:8000`, `[::1]:8000` or `localhost:8000`: loopback only.
    pub addr: String,
    /// The route, from its slash on.
    #[serde(default = "defaults::path")]
    pub path: String,
    /// The request's body. Every `{i}` in it becomes the request's number, from 0. An object is sent as
    /// JSON, with `stream` added when it says nothing of it; a string is sent as it is.
    pub body: Value,
    /// More request headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Connections, each with one request at a time: 1 to 4096.
    #[serde(default = "defaults::one")]
    pub concurrency: u32,
    /// How many requests the measured window begins, 1 or more; then it ends with the last of them.
    #[serde(default)]
    pub requests: Option<u64>,
    /// How long the measured window is at most, seconds: above 0. One of `requests` and `duration_s` must
    /// be there; with both, whichever ends first.
    #[serde(default)]
    pub duration_s: Option<f64>,
    /// Load before the measured window, seconds.
    #[serde(default)]
    pub warmup_s: f64,
    /// Answers are streams of server-sent events.
    #[serde(default = "defaults::yes")]
    pub stream: bool,
    /// Choices of every answer: 1 to 128.
    #[serde(default = "defaults::one")]
    pub choices: u32,
    /// The text that every choice must have, `{i}` as in the body. Without it, all answers to equal bodies
    /// must have the text of the first.
    #[serde(default)]
    pub expect: Option<String>,
    /// The server's process: its CPU time is sampled over the measured window.
    #[serde(default)]
    pub pid: Option<u32>,
    /// Connection k begins k times this late, milliseconds.
    #[serde(default)]
    pub stagger_ms: f64,
    /// An answer that is silent for so long has failed, seconds.
    #[serde(default = "defaults::idle")]
    pub idle_s: f64,
    /// Answers that run when the window ends have so long to end, seconds; then they are cut.
    #[serde(default = "defaults::drain")]
    pub drain_s: f64,
    /// The whole run ends after this, seconds: at most 3600.
    #[serde(default = "defaults::limit")]
    pub limit_s: f64,
}

mod defaults {
    pub(super) fn path() -> String {
        "/v1/chat/completions".into()
    }
    pub(super) fn one() -> u32 {
        1
    }
    pub(super) fn yes() -> bool {
        true
    }
    pub(super) fn idle() -> f64 {
        60.0
    }
    pub(super) fn drain() -> f64 {
        30.0
    }
    pub(super) fn limit() -> f64 {
        600.0
    }
}

/// Why a run could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// An option that cannot be.
    #[error("`{field}` is {value}: {allowed}")]
    Option {
        /// Its name.
        field: &'static str,
        /// What it was.
        value: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// Nobody listens.
    #[error("cannot connect to {addr}: {error}; start the server first")]
    Connect {
        /// The server's address.
        addr: std::net::SocketAddr,
        /// What the system said.
        error: std::io::Error,
    },
    /// No CPU time to be had.
    #[error("cannot read the CPU time of process {pid}: {error}; `pid` must be a running process")]
    Process {
        /// The process asked for.
        pid: u32,
        /// What the system said.
        error: std::io::Error,
    },
    /// The poll loop failed.
    #[error("the poll loop failed: {0}")]
    Poll(std::io::Error),
}
