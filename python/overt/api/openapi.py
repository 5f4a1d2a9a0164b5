"""What /openapi.json says of answers: the errors of every route, and no more than is ever sent."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

_NULLABLE_TEXT = {"anyOf": [{"type": "string"}, {"type": "null"}]}

_ERROR: dict[str, dict[str, Any]] = {
    "openai": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["message", "type", "param", "code"],
                "properties": {
                    "message": {"type": "string"},
                    "type": {"type": "string"},
                    "param": _NULLABLE_TEXT,
                    "code": _NULLABLE_TEXT,
                },
            }
        },
    },
    # The peers' shapes; the status is told as a number.
    "vllm": {"type": "object", "required": ["error"]},
    "sglang": {"type": "object", "required": ["message", "code"]},
}

_MEANINGS = {
    400: "The request is wrong; `param` names the field.",
    401: "No valid key.",
    404: "There is no such model, adapter or path.",
    413: "The body is too large.",
    415: "The body is no JSON in UTF-8.",
    429: "The waiting queue is full; retry after `Retry-After` seconds.",
    500: "The model failed on this request.",
    503: "The engine is not available, or the server is stopping.",
}

STREAM: dict[str, Any] = {
    "description": "The answer: one JSON body, or server-sent events with `stream: true`.",
    "content": {
        "application/json": {"schema": {"type": "object"}},
        "text/event-stream": {"schema": {"type": "string"}},
    },
}


def errors(*statuses: int, shape: str = "openai") -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may answer with these statuses."""
    return {
        status: {"description": _MEANINGS[status], "content": {"application/json": {"schema": _ERROR[shape]}}}
        for status in statuses
    }


def describe(app: FastAPI, *, guarded: bool, shape: str) -> None:
    """Makes the document of `app`: without the validation errors that FastAPI expects and this server never sends;
    where keys are wanted, with 401 on every route but those that are open.
    """

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(title=app.title, version=app.version, routes=app.routes)
            for item in made["paths"].values():
                for operation in item.values():
                    operation["responses"].pop("422", None)
                    if guarded:
                        answer = errors(401, shape=shape)[401]
                        operation["responses"].setdefault("401", answer)
            schemas = made.get("components", {}).get("schemas", {})
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]
