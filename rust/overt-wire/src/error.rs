//! Errors in OpenAI's shape.

use crate::{ErrorBody, json, sse};

/// The JSON body of an error: `{"error":{"message","type","param","code"}}`, all four always there.
#[must_use]
pub fn error_body(error: &ErrorBody) -> Vec<u8> {
    let mut out = Vec::with_capacity(128 + error.message.len());
    write(error, &mut out);
    out
}

/// The body, appended.
pub(crate) fn write(error: &ErrorBody, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"error\":{\"message\":");
    json::string(&error.message, out);
    out.extend_from_slice(b",\"type\":");
    json::string(&error.kind, out);
    out.extend_from_slice(b",\"param\":");
    json::optional(error.param.as_deref(), out);
    out.extend_from_slice(b",\"code\":");
    json::optional(error.code.as_deref(), out);
    out.extend_from_slice(b"}}");
}

/// An error in a stream: its frame, then `[DONE]`, and no finish frame.
pub(crate) fn frames(error: &ErrorBody, out: &mut Vec<u8>) {
    out.extend_from_slice(sse::DATA);
    write(error, out);
    out.extend_from_slice(sse::END);
    out.extend_from_slice(sse::DONE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_there() {
        let mut error = ErrorBody {
            message: "no \"such\" model".into(),
            kind: "invalid_request_error".into(),
            param: None,
            code: None,
        };
        assert_eq!(
            error_body(&error),
            br#"{"error":{"message":"no \"such\" model","type":"invalid_request_error","param":null,"code":null}}"#
        );
        error.param = Some("model".into());
        error.code = Some("model_not_found".into());
        let value: serde_json::Value = serde_json::from_slice(&error_body(&error)).unwrap();
        assert_eq!(value["error"]["param"], "model");
        assert_eq!(value["error"]["code"], "model_not_found");
    }
}
