"""POST /invocations, SageMaker's one route for everything."""

import pydantic_core
from fastapi import FastAPI

from overt.api.generate import generate
from overt.api.hot import Call, add_hot_route
from overt.contract.field import Route


async def invoke(call: Call) -> int:
    """Answers a body with `messages` as chat, any other as a completions request."""
    return await generate(call, _route(await call.read()))


def _route(raw: bytes) -> Route:
    try:
        body = pydantic_core.from_json(raw)
    except ValueError:
        # Refused where it is validated.
        body = None
    return "chat" if isinstance(body, dict) and "messages" in body else "completions"


def mount(app: FastAPI) -> None:
    """Adds the route."""
    add_hot_route(app, "/invocations", invoke, "chat", "completions", summary="Answer a chat or completions body")
