"""Whether the server lives, is ready, and which version it is. None of these waits behind traffic."""

from typing import Any

from fastapi import FastAPI, Request

from overt.api.state import State
from overt.contract.errors import ApiError


def mount(app: FastAPI) -> None:
    """Adds the routes."""
    app.add_api_route("/health", health, summary="Alive and making progress")
    app.add_api_route("/ping", health, methods=["GET"], summary="The same, as SageMaker asks for it")
    app.add_api_route("/live", live, summary="The process answers")
    app.add_api_route("/ready", ready, summary="Takes new requests")
    app.add_api_route("/version", version, summary="The server's version")


async def health(request: Request) -> dict[str, Any]:
    """200 when alive and making progress, however busy; 503 when the engine died or no step finishes."""
    _check(request.app.state.overt)
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
