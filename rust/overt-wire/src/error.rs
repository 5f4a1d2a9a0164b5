//! Errors in the shapes that clients know.

use crate::{ErrorBody, ErrorShape, json, sse};

/// The JSON body of an error as `shape` has it; every field is always there.
#[must_use]
pub fn error_body(error: &ErrorBody, shape: ErrorShape) -> Vec<u8> {
    let mut out = Vec::with_capacity(128 + error.message.len());
    write(error, shape, &mut out);
    out
}

/// The body, appended.
pub(crate) fn write(error: &ErrorBody, shape: ErrorShape, out: &mut Vec<u8>) {
    match shape {
        ErrorShape::OpenAi => {
            out.extend_from_slice(b"{\"error\":{");
            members(error, &error.kind, out);
            json::optional(error.code.as_deref(), out);
            out.extend_from_slice(b"}}");
        }
        ErrorShape::Vllm => {
            out.extend_from_slice(b"{\"error\":{");
            members(error, class(error.status), out);
            json::number(u64::from(error.status), out);
            out.extend_from_slice(b"}}");
        }
        ErrorShape::SgLang => {
            let status = error.status.to_string();
            flat(error, sglang_body(error.status).unwrap_or(&status), out);
        }
    }
}

/// An error in a stream: its frame, then `[DONE]`, and no finish frame.
pub(crate) fn frames(error: &ErrorBody, shape: ErrorShape, out: &mut Vec<u8>) {
    out.extend_from_slice(sse::DATA);
    if shape == ErrorShape::SgLang {
        out.extend_from_slice(b"{\"error\":");
        flat(error, sglang_frame(error.status), out);
        out.push(b'}');
    } else {
        write(error, shape, out);
    }
    out.extend_from_slice(sse::END);
    out.extend_from_slice(sse::DONE);
}

/// SGLang's object.
fn flat(error: &ErrorBody, kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"object\":\"error\",");
    members(error, kind, out);
    json::number(u64::from(error.status), out);
    out.push(b'}');
}

/// `"message":…,"type":…,"param":…,"code":`; the code follows.
fn members(error: &ErrorBody, kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\"message\":");
    json::string(&error.message, out);
    out.extend_from_slice(b",\"type\":");
    json::string(kind, out);
    out.extend_from_slice(b",\"param\":");
    json::optional(error.param.as_deref(), out);
    out.extend_from_slice(b",\"code\":");
}

/// vLLM's type of a status: the exceptions of OpenAI's client and their kin.
fn class(status: u16) -> &'static str {
    match status {
        401 => "AuthenticationError",
        403 => "PermissionDeniedError",
        404 => "NotFoundError",
        422 => "UnprocessableEntityError",
        429 => "RateLimitError",
        501 => "NotImplementedError",
        503 => "ServiceUnavailableError",
        400..=499 => "BadRequestError",
        _ => "InternalServerError",
    }
}

/// SGLang's type of a status in a body; `None`: the status in digits.
fn sglang_body(status: u16) -> Option<&'static str> {
    match status {
        400 => Some("BadRequestError"),
        500 => Some("InternalServerError"),
        501 => Some("NotImplementedError"),
        _ => None,
    }
}

/// SGLang's type in a stream: the name of the status, of those that end a stream.
fn sglang_frame(status: u16) -> &'static str {
    match status {
        429 => "TOO_MANY_REQUESTS",
        503 => "SERVICE_UNAVAILABLE",
        400..=499 => "BAD_REQUEST",
        _ => "INTERNAL_SERVER_ERROR",
    }
}
