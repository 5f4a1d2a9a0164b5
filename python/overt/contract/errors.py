"""Every error that a client sees: its status, type and code, in one shape and in this server's own words."""

import json
from typing import Any

from overt import _core

RETRY_AFTER_S = 1
"""Told with 429 and 503."""

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}
"""Types by status; other statuses below 500 are the request's fault, the rest the server's."""

CODES: dict[str, tuple[int, str]] = {
    "body_too_deep": (400, "Arrays and objects within each other, more than are read."),
    "body_too_large": (413, "More bytes than are read."),
    "constraint_failed": (400, "The output could not be held to its constraint to its end."),
    "context_length_exceeded": (400, "The prompt, or the prompt with the tokens asked for, exceeds the context."),
    "engine_unavailable": (503, "The engine is gone, or makes no progress."),
    "headers_too_large": (431, "Request line and headers together are longer than is read."),
    "internal_error": (500, "A fault of the server's own; its log says more."),
    "invalid_api_key": (401, "No key, or one that is not valid here."),
    "invalid_http": (400, "The bytes are no HTTP request."),
    "logits_not_finite": (500, "The model gave no numbers to choose a token by."),
    "method_not_allowed": (405, "The path does not take the method; the header `allow` names those it takes."),
    "missing_required_parameter": (400, "A field that has to be there is not; `param` names it."),
    "model_not_found": (404, "`model` is none of the served names."),
    "no_token_allowed": (400, "The request's own fields forbid every token at some point."),
    "not_found": (404, "There is nothing at the path."),
    "not_honoured": (400, "A strict request has fields that cannot be served as sent; the message lists them all."),
    "queue_full": (429, "As many sequences wait as may; `retry-after` says when to come again."),
    "step_failed": (500, "The model failed while it worked on the request; sending it again is safe."),
    "stopping": (503, "The server is draining."),
    "unsupported_media_type": (415, "The body is no JSON in UTF-8."),
    "unsupported_model": (400, "The route needs a model of another kind than the one that is served."),
    "unsupported_parameter": (400, "A known field or value that this server does not implement; `param` names it."),
}
"""Names of errors for programs, each with its status. An error without one is a 400 whose `param` names the field."""


class ApiError(Exception):
    """An error with its HTTP status.

    `param` is the path of the field at fault, such as `stop[3]`; `code` a name for programs (see `CODES`).
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        type: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        self.type = type or type_of(status)
        self.headers = headers or {}
        self.shape: str | None = None
        """As the request's own profile has it; none: as the caller of `body` has it."""
        if status in (429, 503):
            self.headers.setdefault("retry-after", str(RETRY_AFTER_S))

    def body(self, shape: str = "openai") -> bytes:
        """The error as JSON: `shape` is "openai", "vllm" or "sglang"; the request's own profile decides first."""
        return _core.error_body(
            _whole(self.message),
            self.type,
            None if self.param is None else _whole(self.param),
            self.code,
            self.status,
            self.shape or shape,
        )


def type_of(status: int) -> str:
    """The type of errors with a status."""
    return _TYPES.get(status) or ("invalid_request_error" if status < 500 else "server_error")


def from_core(error: "_core.RequestError") -> ApiError:
    """The core's error as one of this side's."""
    status, message, kind, param, code = error.args
    return ApiError(status, message, param=param, code=code, type=kind)


def _whole(text: str) -> str:
    """Without halves of surrogate pairs, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def shown(value: Any) -> str:
    """A client's value for a message, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else text[:40] + "…"


def wrong_value(path: str, wanted: str, value: Any) -> ApiError:
    """A field that does not have a value it may have."""
    if isinstance(value, (list, dict)) and len(value) > 8:
        what = f"a list of {len(value)}" if isinstance(value, list) else f"an object of {len(value)}"
    else:
        what = shown(value)
    return ApiError(400, f"`{path}` must be {wanted}, and is {what}.", param=path)


def step(key: str) -> str:
    """A member's part of a path, shortened where a client made the name up."""
    return f".{key[:64]}"


def missing(path: str, wanted: str = "") -> ApiError:
    """A field that has to be there."""
    told = f": {wanted}" if wanted else ""
    return ApiError(400, f"`{path}` is required{told}.", param=path, code="missing_required_parameter")
