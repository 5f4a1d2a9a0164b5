"""GET /v1/capabilities: the contract under this deployment, and the schema it is told in."""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI, Request
from starlette.routing import Route

from overt.api.state import State
from overt.contract.capabilities import Mounted, capabilities
from overt.contract.capabilities_schema import SCHEMA


def mount(app: FastAPI) -> None:
    """Adds the routes."""
    app.add_api_route("/v1/capabilities", tell, summary="What becomes of every field, and what bounds it")
    app.add_api_route("/v1/capabilities/schema", schema, summary="The JSON Schema of /v1/capabilities")


async def tell(request: Request) -> dict[str, Any]:
    """Every field's effect at rest, limits, profiles, template, parsers, routes and errors."""
    state: State = request.app.state.overt
    return capabilities(state.deployment, mounted(request.app))


async def schema() -> dict[str, Any]:
    """What /v1/capabilities holds, for programs that read it."""
    return SCHEMA


def mounted(app: FastAPI) -> Iterator[Mounted]:
    """The routes of an application."""
    for route in app.routes:
        if isinstance(route, Route):
            summary = getattr(route, "summary", None) or route.name.replace("_", " ").capitalize()
            for method in sorted((route.methods or set()) - {"HEAD"}):
                yield Mounted(method, route.path, summary)
