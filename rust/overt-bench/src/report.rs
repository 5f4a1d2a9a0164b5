//! What came back.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::answer::Failure;
use crate::histogram::Histogram;

/// Reasons are told apart up to this many.
const REASONS: usize = 32;

/// Times in milliseconds, to within a hundredth of themselves; mean and max are exact.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// How many there are.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Half are at or below.
    pub p50: f64,
    /// Nine tenths are at or below.
    pub p90: f64,
    /// All but a hundredth are at or below.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// An answer whose text is not what it must be; texts are cut at 2000 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongText {
    /// The request's number.
    pub request: u64,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub got: String,
}

/// What a run measured. Rates, times, tokens and `requests_ok` are of the measured window; failures and
/// texts of the whole run, warm-up included.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// Requests that ended well in the window.
    pub requests_ok: u64,
    /// Requests that failed.
    pub requests_failed: u64,
    /// How many failed, by reason.
    pub failures: BTreeMap<String, u64>,
    /// The first failure, with what the server sent.
    pub first_failure: Option<String>,
    /// Requests cut because the time to drain was over.
    pub requests_cut: u64,
    /// Connections that the server closed between requests, opened again.
    pub reconnects: u64,
    /// Length of the window, seconds.
    pub window_s: f64,
    /// Frames with text that is not empty; of JSON answers their `completion_tokens`.
    pub tokens: u64,
    /// Tokens a second.
    pub tokens_per_s: f64,
    /// Requests that ended well a second.
    pub requests_per_s: f64,
    /// From a request's start to its first frame with text, for requests that began in the window.
    pub ttft_ms: Option<Quantiles>,
    /// Between neighbouring frames with text of a stream; 0 between those that came in one read.
    pub inter_token_ms: Option<Quantiles>,
    /// From a request's start to its end, for requests that began in the window.
    pub latency_ms: Option<Quantiles>,
    /// Frames with text a read that brought any.
    pub frames_per_read: Option<f64>,
    /// Comments in the streams (`: keep-alive`).
    pub comments: u64,
    /// The server's CPU time a token, microseconds.
    pub server_cpu_us_per_token: Option<f64>,
    /// The server's CPU time a request that ended well, microseconds.
    pub server_cpu_us_per_request: Option<f64>,
    /// The server's CPU time a second: how many cores it used.
    pub server_cores: Option<f64>,
    /// The load generator's CPU time a token, microseconds.
    pub own_cpu_us_per_token: Option<f64>,
    /// Answers whose text was compared; 0 when bodies differ and nothing was expected.
    pub texts_checked: u64,
    /// Answers with another text than they must have.
    pub texts_wrong: u64,
    /// How many different answers there were, counted up to 100 000.
    pub distinct_texts: u64,
    /// The first wrong text.
    pub first_wrong: Option<WrongText>,
}

/// Counts as the run goes.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// The window is open.
    pub(crate) open: bool,
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    failures: BTreeMap<String, u64>,
    first_failure: Option<String>,
    pub(crate) reconnects: u64,
    pub(crate) tokens: u64,
    comments: u64,
    ttft: Histogram,
    inter_token: Histogram,
    latency: Histogram,
    frames: u64,
    reads: u64,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            open: false,
            ok: 0,
            failed: 0,
            failures: BTreeMap::new(),
            first_failure: None,
            reconnects: 0,
            tokens: 0,
            comments: 0,
            ttft: Histogram::new(),
            inter_token: Histogram::new(),
            latency: Histogram::new(),
            frames: 0,
            reads: 0,
        }
    }

    /// A read brought `frames` frames with text; `last` is when the stream's last text came, `began` when
    /// the request began if that was in the window.
    pub(crate) fn text(
        &mut self,
        frames: u64,
        now: Instant,
        last: Option<Instant>,
        began: Option<Instant>,
    ) {
        if !self.open || frames == 0 {
            return;
        }
        self.tokens += frames;
        self.frames += frames;
        self.reads += 1;
        match (last, began) {
            (Some(last), _) => self.inter_token.add(now - last, 1),
            (None, Some(began)) => self.ttft.add(now - began, 1),
            (None, None) => {}
        }
        self.inter_token.add(Duration::ZERO, frames - 1);
    }

    /// A request ended well.
    pub(crate) fn success(
        &mut self,
        tokens: u64,
        comments: u64,
        now: Instant,
        began: Option<Instant>,
    ) {
        if !self.open {
            return;
        }
        self.ok += 1;
        self.tokens += tokens;
        self.comments += comments;
        if let Some(began) = began {
            self.latency.add(now - began, 1);
        }
    }

    pub(crate) fn failure(&mut self, request: u64, failure: Failure) {
        self.failed += 1;
        let reason = if self.failures.len() < REASONS || self.failures.contains_key(&failure.reason)
        {
            failure.reason.as_str()
        } else {
            "others"
        };
        *self.failures.entry(reason.to_owned()).or_default() += 1;
        self.first_failure.get_or_insert_with(|| {
            format!("request {request}: {}: {}", failure.reason, failure.detail)
        });
    }

    /// The report, but for what the texts say.
    pub(crate) fn report(
        self,
        window: Duration,
        server: Option<Duration>,
        own: Duration,
    ) -> Report {
        let seconds = window.as_secs_f64();
        let per = |amount: f64, of: f64| if of > 0.0 { Some(amount / of) } else { None };
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let (tokens, ok) = (self.tokens as f64, self.ok as f64);
        Report {
            requests_ok: self.ok,
            requests_failed: self.failed,
            failures: self.failures,
            first_failure: self.first_failure,
            requests_cut: 0,
            reconnects: self.reconnects,
            window_s: seconds,
            tokens: self.tokens,
            tokens_per_s: per(tokens, seconds).unwrap_or(0.0),
            requests_per_s: per(ok, seconds).unwrap_or(0.0),
            ttft_ms: self.ttft.quantiles(),
            inter_token_ms: self.inter_token.quantiles(),
            latency_ms: self.latency.quantiles(),
            frames_per_read: per(self.frames as f64, self.reads as f64),
            comments: self.comments,
            server_cpu_us_per_token: server.and_then(|time| per(micros(time), tokens)),
            server_cpu_us_per_request: server.and_then(|time| per(micros(time), ok)),
            server_cores: server.and_then(|time| per(time.as_secs_f64(), seconds)),
            own_cpu_us_per_token: per(micros(own), tokens),
            texts_checked: 0,
            texts_wrong: 0,
            distinct_texts: 0,
            first_wrong: None,
        }
    }
}
