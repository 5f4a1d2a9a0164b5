"""Every error that a client sees, in one shape and in this server's own words."""

import json
import re
from typing import Any

from pydantic import ValidationError

from overt.contract.field import Field, Route
from overt.contract.fields import by_name
from overt.contract.limits import Limits

RETRY_AFTER_S = 1
"""Told with 429 and 503."""

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}

_POSITION = re.compile(r"line (\d+) column (\d+)")


class ApiError(Exception):
    """An error with its HTTP status.

    `param` is the path of the field at fault, such as `stop[3]`; `code` a name for programs.
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
        self.type = type or _type_of(status)
        self.headers = headers or {}
        if status in (429, 503):
            self.headers.setdefault("retry-after", str(RETRY_AFTER_S))

    def body(self) -> bytes:
        """The error as JSON."""
        return error_body(self.message, self.type, self.param, self.code)


def error_body(message: str, type: str, param: str | None, code: str | None) -> bytes:
    """OpenAI's error object as JSON."""
    error = {"message": message, "type": type, "param": param, "code": code}
    return json.dumps({"error": error}, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _type_of(status: int) -> str:
    return _TYPES.get(status) or ("invalid_request_error" if status < 500 else "server_error")


def shown(value: Any) -> str:
    """A client's value for a message, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else text[:40] + "…"


def invalid(route: Route, error: ValidationError, limits: Limits) -> ApiError:
    """What is wrong with a body, from the first fault that validation found."""
    fault = error.errors(include_url=False, include_context=False)[0]
    location, kind = fault["loc"], fault["type"]
    if kind == "json_invalid":
        return _invalid_json(str(fault["msg"]))
    if not location:
        return ApiError(400, "The body must be a JSON object.")
    path, name = _path(location)
    field = by_name(route, limits).get(name)
    if kind == "missing":
        wanted = f": {field.wanted()}" if field else ""
        return ApiError(400, f"`{path}` is required{wanted}.", param=path, code="missing_required_parameter")
    return wrong_value(path, _wanted(field, path), fault["input"])


def wrong_value(path: str, wanted: str, value: Any) -> ApiError:
    """A field that does not have a value it may have."""
    if isinstance(value, (list, dict)) and len(value) > 8:
        what = f"a list of {len(value)}" if isinstance(value, list) else f"an object of {len(value)}"
    else:
        what = shown(value)
    return ApiError(400, f"`{path}` must be {wanted}, and is {what}.", param=path)


def _invalid_json(message: str) -> ApiError:
    position = _POSITION.search(message)
    where = f" (line {position[1]}, column {position[2]})" if position else ""
    if "recursion" in message:
        return ApiError(400, f"The body is nested too deeply{where}.")
    return ApiError(400, f"The body is not valid JSON in UTF-8{where}.")


def _wanted(field: Field | None, path: str) -> str:
    if field is None:
        return "as documented"
    return field.item_wanted() if path.endswith("]") else field.wanted()


def step(key: str) -> str:
    """A member's part of a path, shortened where a client made the name up."""
    return f".{key[:64]}"


def _path(location: tuple[int | str, ...]) -> tuple[str, str]:
    """`("stop", 3)` as the path `stop[3]` and the field's name `stop`."""
    path, names = "", []
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part != "[key]":
            path += step(part) if path else part
            names.append(part)
    return path, ".".join(names)
