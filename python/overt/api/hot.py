"""Routes that read their body themselves: no framework between the bytes and their validation."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from overt.api.ids import request_id
from overt.api.openapi import STREAM, errors
from overt.api.ops.load import ASKED, check_format, load_header
from overt.api.sink import EXTENSION, Sink
from overt.contract.asked import profile_asked
from overt.contract.errors import ApiError
from overt.contract.field import Route
from overt.contract.limits import Limits
from overt.contract.models import model_of

if TYPE_CHECKING:
    from overt.api.state import State

CLIENT_LEFT = 499
"""Counted for an answer that nobody waited for."""

_JSON = re.compile(r"application/([\w.+-]+\+)?json", re.IGNORECASE)
_CHARSET = re.compile(r"charset\s*=\s*\"?([\w-]+)", re.IGNORECASE)


class ClientGoneError(Exception):
    """The client left before its request was whole."""


class Call(Request):
    """One request on a hot route."""

    _raw: bytes | None = None

    @property
    def overt(self) -> "State":
        """The server's state."""
        return cast("State", self.scope["app"].state.overt)

    @property
    def sink(self) -> Sink | None:
        """The connection's transport, where this server's own protocol class serves it."""
        return cast("Sink | None", self.scope.get("extensions", {}).get(EXTENSION))

    @property
    def error_shape(self) -> str:
        """The shape of errors under the profile that the request asks for, or the server's."""
        deployment = self.overt.deployment
        try:
            return profile_asked(self.scope["headers"], deployment).error_shape
        except ApiError:
            return deployment.error_shape

    @property
    def key(self) -> str | None:
        """A short hash of the request's API key, by which the engine is shared; none: there are no keys."""
        key: str | None = self.scope.get("overt.key")
        return key

    @property
    def request_id(self) -> str:
        """The client's `X-Request-Id`, or one made here."""
        if not hasattr(self, "_request_id"):
            self._request_id = request_id(self.scope["headers"])
        return self._request_id

    def told_headers(self) -> list[tuple[bytes, bytes]]:
        """What every answer tells: the request's id, and the server's load where it is asked for."""
        lines = [(b"x-request-id", self.request_id.encode())] if self.overt.tells_request_id else []
        if (load := self.load_header()) is not None:
            lines.append(load)
        return lines

    def load_header(self) -> tuple[bytes, bytes] | None:
        """The server's load, where the request asks for it with `endpoint-load-metrics-format`."""
        for name, value in self.scope["headers"]:
            if name == ASKED:
                return load_header(self.overt, value)
        return None

    async def answer(
        self, status: int, body: bytes, headers: Mapping[str, str] | None = None, effects: bytes | None = None
    ) -> int:
        """Sends a whole JSON answer. Returns its status."""
        lines = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ]
        lines += self.told_headers()
        if effects is not None:
            lines.append((b"overt-effects", effects))
        for name, value in (headers or {}).items():
            lines.append((name.encode(), value.encode()))
        await self._send({"type": "http.response.start", "status": status, "headers": lines})
        await self._send({"type": "http.response.body", "body": body})
        return status

    async def read(self) -> bytes:
        """The body. Raises ApiError for one that is too large or no JSON, ClientGoneError for half a body."""
        if self._raw is None:
            self._raw = await self._read()
        return self._raw

    async def _read(self) -> bytes:
        most = self.overt.deployment.limits.max_body_bytes
        _check_headers(self.scope, most)
        body = bytearray()
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            body += message.get("body", b"")
            if len(body) > most:
                raise _too_large(most)
            if not message.get("more_body", False):
                return bytes(body)

    @property
    def send(self) -> Send:
        """ASGI's send."""
        return self._send


Endpoint = Callable[[Call], Awaitable[int]]
"""Answers a call and returns the status it answered with."""


class HotRoute(APIRoute):
    """A route whose endpoint gets the bytes, and answers by itself."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = Call(scope, receive, send)
        state = call.overt
        status = CLIENT_LEFT
        state.in_flight += 1
        try:
            if scope["method"] not in (self.methods or ()):
                raise not_allowed(scope, self.methods or set())
            status = await cast(Endpoint, self.endpoint)(call)
        except ApiError as error:
            status = await call.answer(error.status, error.body(call.error_shape), error.headers)
        except ClientGoneError:
            pass
        except Exception:
            status = 500
            raise
        except BaseException as fault:
            # A panic of the core is no Exception, lest anybody overlook it; here it is the fault of one request.
            if type(fault).__name__ != "PanicException":
                raise
            status = 500
            raise RuntimeError("the core panicked") from fault
        finally:
            state.in_flight -= 1
            state.answers[self.path, status] += 1


def add_hot_route(
    app: FastAPI, path: str, endpoint: Endpoint, *routes: Route, summary: str, answer: dict[str, Any] | None = None
) -> None:
    """Adds a POST route whose body is, by the field table, that of one of `routes`. `answer`: the JSON Schema of what
    a route tells that would otherwise generate.
    """
    state = cast("State", app.state.overt)
    limits = state.deployment.limits
    makes = bool({"chat", "completions"} & set(routes)) and answer is None
    answers = errors(400, 404, 413, 415, 503, *((429, 500) if makes else ()), shape=state.error_shape)
    if makes:
        answers[200] = STREAM
    elif answer is not None:
        answers[200] = {"description": summary, "content": {"application/json": {"schema": answer}}}
    schemas = [_schema(route, limits) for route in routes]
    # Before the others, which are asked in order whether a path is theirs.
    app.router.routes.insert(
        0,
        HotRoute(
            path,
            endpoint,
            methods=["POST"],
            summary=summary,
            response_model=None,
            responses=answers,
            openapi_extra={
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}
                    },
                }
            },
        ),
    )


def not_allowed(scope: Scope, methods: set[str]) -> ApiError:
    """405 for a method that a path does not take."""
    allowed = ", ".join(sorted(methods))
    return ApiError(
        405,
        f"`{scope['path'][:100]}` takes {allowed}, not {scope['method']}.",
        code="method_not_allowed",
        headers={"allow": allowed},
    )


def _check_headers(scope: Scope, max_body_bytes: int) -> None:
    for name, value in scope["headers"]:
        if name == b"content-type":
            if value == b"application/json":
                continue
            text = value.decode("latin-1")
            charset = _CHARSET.search(text)
            if not _JSON.fullmatch(text.partition(";")[0].strip()) or (
                charset and charset[1].lower() not in ("utf-8", "utf8", "us-ascii")
            ):
                raise ApiError(
                    415,
                    f"The content type is {text[:80]!r}; send JSON in UTF-8 as application/json.",
                    code="unsupported_media_type",
                )
        elif name == b"content-encoding" and value.lower() != b"identity":
            raise ApiError(
                415,
                f"Content-encoding {value.decode('latin-1')[:40]!r} is not read; send plain JSON.",
                code="unsupported_media_type",
            )
        elif name == ASKED:
            check_format(value)
        elif name == b"content-length" and value.isdigit() and int(value[:20]) > max_body_bytes:
            raise _too_large(max_body_bytes)


def _too_large(most: int) -> ApiError:
    return ApiError(413, f"The body is too large: at most {most} bytes are read.", code="body_too_large")


def _schema(route: Route, limits: Limits) -> dict[str, Any]:
    """A body's JSON schema without references: OpenAPI would look for them elsewhere."""
    schema = model_of(route, limits).model_json_schema()
    definitions = schema.pop("$defs", {})

    def inlined(node: Any) -> Any:
        if isinstance(node, list):
            return [inlined(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return inlined(definitions[node["$ref"].rpartition("/")[2]])
        return {key: inlined(value) for key, value in node.items()}

    return cast(dict[str, Any], inlined(schema))
