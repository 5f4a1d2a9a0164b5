"""POST /v1/chat/completions."""

from fastapi import FastAPI

from overt.api.generate import generate
from overt.api.hot import Call, add_hot_route


async def create_chat_completion(call: Call) -> int:
    """Answers a conversation."""
    return await generate(call, "chat")


def mount(app: FastAPI) -> None:
    """Adds the route."""
    add_hot_route(app, "/v1/chat/completions", create_chat_completion, "chat", summary="Answer a conversation")
