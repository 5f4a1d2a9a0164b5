"""Routes that read their body themselves: no framework between the bytes and their validation."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from overt.api.ids import request_id
from overt.api.sink import EXTENSION, Sink
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

    @property
    def overt(self) -> "State":
        """The server's state."""
        return cast("State", self.scope["app"].state.overt)

    @property
    def sink(self) -> Sink | None:
        """The connection's transport, where this server's own protocol class serves it."""
        return cast("Sink | None", self.scope.get("extensions", {}).get(EXTENSION))

    @property
    def request_id(self) -> str:
        """The client's `X-Request-Id`, or one made here."""
        if not hasattr(self, "_request_id"):
            self._request_id = request_id(self.scope["headers"])
        return self._request_id

    async def answer(
        self, status: int, body: bytes, headers: Mapping[str, str] | None = None, effects: bytes | None = None
    ) -> int:
        """Sends a whole JSON answer. Returns its status."""
        lines = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"x-request-id", self.request_id.encode()),
        ]
        if effects is not None:
            lines.append((b"overt-effects", effects))
        for name, value in (headers or {}).items():
            lines.append((name.encode(), value.encode()))
        await self._send({"type": "http.response.start", "status": status, "headers": lines})
        await self._send({"type": "http.response.body", "body": body})
        return status

    async def read(self) -> bytes:
        """The body. Raises ApiError for one that is too large or no JSON, ClientGoneError for half a body."""
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
        status = CLIENT_LEFT
        try:
            if scope["method"] not in (self.methods or ()):
                raise not_allowed(scope, self.methods or set())
            status = await cast(Endpoint, self.endpoint)(call)
        except ApiError as error:
            status = await call.answer(error.status, error.body(), error.headers)
        except ClientGoneError:
            pass
        except Exception:
            status = 500
            raise
        finally:
            call.overt.answers[self.path, status] += 1


def add_hot_route(app: FastAPI, path: str, endpoint: Endpoint, route: Route, *, summary: str) -> None:
    """Adds a POST route that is described by the field table."""
    limits = cast("State", app.state.overt).deployment.limits
    # Before the others, which are asked in order whether a path is theirs.
    app.router.routes.insert(
        0,
        HotRoute(
            path,
            endpoint,
            methods=["POST"],
            summary=summary,
            response_model=None,
            openapi_extra={
                "requestBody": {"required": True, "content": {"application/json": {"schema": _schema(route, limits)}}}
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


_REFUSED_HEADERS = frozenset({b"overt-strict", b"overt-profile"})
"""Headers that would change how a request is served, and do not yet: better refused than ignored."""


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
        elif name in _REFUSED_HEADERS:
            told = name.decode()
            raise ApiError(
                400,
                f"The header `{told}` is known, but this server does not implement it yet. Leave it out.",
                param=told,
            )
        elif name == b"x-data-parallel-rank" and value.strip() != b"0":
            raise ApiError(
                400,
                "`x-data-parallel-rank` must be 0: this server has one data-parallel rank.",
                param="x-data-parallel-rank",
            )
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
