"""Whether the server lives, is ready, and which version it is. None of these waits behind traffic."""

import asyncio
from typing import Any

from fastapi import FastAPI, Request

from overt.api.openapi import errors
from overt.api.state import State
from overt.contract.errors import ApiError


def mount(app: FastAPI) -> None:
    """Adds the routes."""
    state: State = app.state.overt
    down = errors(503, shape=state.error_shape)
    app.add_api_route("/health", health, summary="Alive and making progress", responses=down)
    app.add_api_route("/ping", health, summary="The same, as SageMaker asks for it", responses=down)
    app.add_api_route("/ping", health, methods=["POST"], operation_id="ping_post", summary="The same", responses=down)
    app.add_api_route("/health_generate", health_generate, summary="The model makes a token", responses=down)
    app.add_api_route("/live", live, summary="The process answers")
    app.add_api_route("/ready", ready, summary="Takes new requests", responses=down)
    app.add_api_route("/version", version, summary="The server's version")


async def health(request: Request) -> dict[str, Any]:
    """200 when alive and making progress, however busy; 503 when the engine died or no step finishes."""
    _check(request.app.state.overt)
    return {"status": "ok"}


async def health_generate(request: Request) -> dict[str, Any]:
    """200 when a token comes within --health-generate-timeout; it passes the queue. 503 when none does."""
    state: State = request.app.state.overt
    _check(state)
    patience = state.config.health_generate_timeout
    exchange = state.dispatcher.open(None, chunked=False)
    try:
        state.front.probe(exchange.handle)
        async with asyncio.timeout(patience):
            while not exchange.ended:
                await exchange.changed()
    except TimeoutError:
        raise ApiError(503, f"No token came within {patience:g} s.", code="engine_unavailable") from None
    finally:
        if not exchange.ended:
            exchange.leave()
    if exchange.status != 200:
        raise ApiError(503, "The model failed to make a token.", code="engine_unavailable")
    return {"status": "ok"}


async def live() -> dict[str, Any]:
    """200 as long as the process answers."""
    return {"status": "ok"}


async def ready(request: Request) -> dict[str, Any]:
    """200 when healthy and not draining."""
    state: State = request.app.state.overt
    if state.draining:
        raise ApiError(503, "The server is stopping.", code="stopping")
    _check(state)
    return {"status": "ok"}


async def version(request: Request) -> dict[str, Any]:
    """The installed version."""
    state: State = request.app.state.overt
    return {"version": state.version}


def _check(state: State) -> None:
    healthy, reason = state.front.health()
    if not healthy:
        raise ApiError(503, reason, code="engine_unavailable")
