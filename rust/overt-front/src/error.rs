//! Errors a client sees, each with its HTTP status.

use overt_link::{Failure, Refused};
use overt_wire::ErrorBody;

/// A request that cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", body.message)]
pub struct RequestError {
    /// What the client reads, and the HTTP status.
    pub body: ErrorBody,
}

impl RequestError {
    /// 400: the field `param` is wrong.
    #[must_use]
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(400, "invalid_request_error", message, Some(param.into()), None)
    }

    /// 400 without a field at fault.
    #[must_use]
    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_request_error", message, None, None)
    }

    /// Names the error for programs.
    #[must_use]
    pub fn code(mut self, code: &str) -> Self {
        self.body.code = Some(code.into());
        self
    }

    /// 503: the engine is gone or going.
    #[must_use]
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, "server_error", message, None, Some("engine_unavailable"))
    }

    /// 500: a fault of ours.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "server_error", message, None, Some("internal_error"))
    }

    fn new(
        status: u16,
        kind: &str,
        message: impl Into<String>,
        param: Option<String>,
        code: Option<&str>,
    ) -> Self {
        let (message, kind) = (message.into(), kind.into());
        Self { body: ErrorBody { message, kind, param, code: code.map(Into::into), status } }
    }
}

impl From<&Refused> for RequestError {
    fn from(refused: &Refused) -> Self {
        match refused {
            Refused::QueueFull { limit } => Self::new(
                429,
                "rate_limit_error",
                format!("The waiting queue is full ({limit} sequences). Retry later."),
                None,
                Some("queue_full"),
            ),
            Refused::Never(reason) => {
                Self::bad(format!("This request can never run here: {reason}."))
            }
            Refused::Grammar { param, message } => Self::invalid(param.clone(), message.clone()),
        }
    }
}

impl From<&Failure> for RequestError {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Step => Self::new(
                500,
                "server_error",
                "The model failed while it worked on this request. Sending it again is safe.",
                None,
                Some("step_failed"),
            ),
            Failure::NotFinite => Self::new(
                500,
                "server_error",
                "The model's logits were not finite for this request, so no token could be chosen.",
                None,
                Some("logits_not_finite"),
            ),
            Failure::NothingAllowed => Self::bad(
                "At some point the request leaves no token to take: allowed_token_ids, bad_words, min_tokens and \
                 logit_bias, with the constraint on the output where there is one, together forbid all. Allow more.",
            )
            .code("no_token_allowed"),
            Failure::Grammar(reason) => Self::bad(format!(
                "The output could not be held to its constraint any further ({reason}): the model's vocabulary has no \
                 token that goes on, or following it takes too much. Send a simpler constraint, or one that the \
                 vocabulary can spell."
            ))
            .code("constraint_failed"),
        }
    }
}
