"""The FastAPI application."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from overt.api.hot import HotRoute, not_allowed
from overt.api.ids import request_id
from overt.api.openai import chat, completions, models, tokenize
from overt.api.ops import health, metrics
from overt.api.state import State
from overt.contract.errors import ApiError


def create_app(state: State) -> FastAPI:
    """The application that serves `state`. Its lifespan runs the dispatcher on the server's loop."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        state.dispatcher.start()
        try:
            yield
        finally:
            state.dispatcher.stop()

    app = FastAPI(
        title="Overt",
        version=state.version,
        lifespan=lifespan,
        redirect_slashes=False,
        redoc_url=None,
        exception_handlers={ApiError: _api_error, HTTPException: _http_error, Exception: _fault},
    )
    app.state.overt = state
    for module in (chat, completions, models, tokenize, health):
        module.mount(app)
    metrics.mount(app, state)
    hot = frozenset(route.path for route in app.routes if isinstance(route, HotRoute))
    app.add_middleware(_Outer, state=state, hot=hot)
    return app


class _Outer:
    """Counts answers and gives them their request id. The hot routes do so themselves."""

    def __init__(self, app: ASGIApp, state: State, hot: Iterable[str]) -> None:
        self.app = app
        self.state = state
        self.hot = hot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self.hot:
            await self.app(scope, receive, send)
            return

        async def outward(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["x-request-id"] = request_id(scope["headers"])
                route = getattr(scope.get("route"), "path", "unmatched")
                self.state.answers[route, message["status"]] += 1
            await send(message)

        try:
            await self.app(scope, receive, outward)
        except Exception:
            # Answered outside of this.
            self.state.answers[getattr(scope.get("route"), "path", "unmatched"), 500] += 1
            raise


def _response(error: ApiError) -> Response:
    return Response(error.body(), error.status, error.headers, media_type="application/json")


async def _api_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return _response(error)


async def _http_error(request: Request, error: Exception) -> Response:
    """What the router refuses: paths and methods that there are not."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 404:
        message = f"There is nothing at `{request.scope['path'][:100]}`; `/docs` lists the routes."
        return _response(ApiError(404, message, code="not_found", type="invalid_request_error"))
    if error.status_code == 405:
        allowed = {method.strip() for method in headers.get("Allow", "").split(",")}
        return _response(not_allowed(request.scope, allowed))
    return _response(ApiError(error.status_code, str(error.detail), headers=headers))


async def _fault(request: Request, _: Exception) -> Response:
    """A fault of the server's own; the log has it."""
    error = ApiError(500, "The server failed on this request; its log says why.", code="internal_error")
    error.headers["x-request-id"] = request_id(request.scope["headers"])
    return _response(error)
