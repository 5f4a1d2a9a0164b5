"""The FastAPI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import Response
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from overt.api.hot import HotRoute, not_allowed
from overt.api.ids import request_id
from overt.api.openai import capabilities, chat, completions, embeddings, models, parse, render, tokenize
from overt.api.openapi import describe
from overt.api.ops import health, invocations, load, metrics
from overt.api.state import State
from overt.contract.asked import profile_asked
from overt.contract.errors import ApiError


def create_app(state: State) -> FastAPI:
    """The application that serves `state`. Its lifespan runs the dispatcher on the server's loop."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[dict[str, Any]]:
        state.dispatcher.start()
        try:
            # For the protocol, which answers what never becomes a request.
            yield {"overt": state}
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
    for module in (
        chat,
        completions,
        render,
        models,
        capabilities,
        tokenize,
        parse,
        embeddings,
        health,
        load,
        invocations,
    ):
        module.mount(app)
    metrics.mount(app, state)
    describe(app, guarded=bool(state.keys), shape=state.error_shape)
    app.add_middleware(_Outer, state=state, routes=app.routes)
    config = state.config
    if config.allowed_origins:
        # Outermost: a preflight bears no key.
        app.add_middleware(
            CORSMiddleware,
            allow_origins=config.allowed_origins,
            allow_methods=config.allowed_methods,
            allow_headers=config.allowed_headers,
            allow_credentials=config.allow_credentials,
            expose_headers=["overt-effects", "x-request-id", "retry-after"],
        )
    return app


class _Outer:
    """Lets requests with a valid key in, counts answers and gives them their request id.

    The hot routes do the last two themselves.
    """

    def __init__(self, app: ASGIApp, state: State, routes: list[BaseRoute]) -> None:
        self.app = app
        self.state = state
        self.root_path = state.config.root_path
        self.hot = frozenset(route.path for route in routes if isinstance(route, HotRoute))
        self.paths = frozenset(path for route in routes if isinstance(path := getattr(route, "path", None), str))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path: str = scope["path"]
        if self.root_path:
            scope["root_path"] = self.root_path
            # As the router sees it.
            if path.startswith(f"{self.root_path}/"):
                path = path[len(self.root_path) :]
        state = self.state
        if state.keys and state.keys.guards(path):
            try:
                scope["overt.key"] = state.keys.share(scope["headers"])
            except ApiError as error:
                state.answers[path if path in self.paths else "unmatched", error.status] += 1
                response = _response(error, state, scope)
                if state.tells_request_id:
                    response.headers["x-request-id"] = request_id(scope["headers"])
                await response(scope, receive, send)
                return
        if path in self.hot:
            await self.app(scope, receive, send)
            return

        async def outward(message: Message) -> None:
            if message["type"] == "http.response.start":
                if state.tells_request_id:
                    MutableHeaders(scope=message)["x-request-id"] = request_id(scope["headers"])
                route = getattr(scope.get("route"), "path", "unmatched")
                state.answers[route, message["status"]] += 1
            await send(message)

        try:
            await self.app(scope, receive, outward)
        except Exception:
            # Answered outside of this.
            state.answers[getattr(scope.get("route"), "path", "unmatched"), 500] += 1
            raise


def _response(error: ApiError, state: State, scope: Scope) -> Response:
    """In the shape of the request's own profile, where it names one."""
    try:
        shape: str = profile_asked(scope["headers"], state.deployment).error_shape
    except ApiError:
        shape = state.error_shape
    return Response(error.body(shape), error.status, error.headers, media_type="application/json")


async def _api_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return _response(error, request.app.state.overt, request.scope)


async def _http_error(request: Request, error: Exception) -> Response:
    """What the router refuses: paths and methods that there are not."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 404:
        message = f"There is nothing at `{request.scope['path'][:100]}`; `/docs` lists the routes."
        refusal = ApiError(404, message, code="not_found", type="invalid_request_error")
    elif error.status_code == 405:
        refusal = not_allowed(request.scope, _methods(request))
    else:
        refusal = ApiError(error.status_code, str(error.detail), headers=headers)
    return _response(refusal, request.app.state.overt, request.scope)


def _methods(request: Request) -> set[str]:
    """What a path takes; several routes may share it."""
    near = (route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE)
    return {method for route in near for method in getattr(route, "methods", None) or ()}


async def _fault(request: Request, _: Exception) -> Response:
    """A fault of the server's own; the log has it."""
    state: State = request.app.state.overt
    error = ApiError(500, "The server failed on this request; its log says why.", code="internal_error")
    if state.tells_request_id:
        error.headers["x-request-id"] = request_id(request.scope["headers"])
    return _response(error, state, request.scope)
