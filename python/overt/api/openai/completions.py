"""POST /v1/completions."""

from fastapi import FastAPI

from overt.api.generate import generate
from overt.api.hot import Call, add_hot_route


async def create_completion(call: Call) -> int:
    """Continues a prompt."""
    return await generate(call, "completions")


def mount(app: FastAPI) -> None:
    """Adds the route."""
    add_hot_route(app, "/v1/completions", create_completion, "completions", summary="Continue a prompt")
