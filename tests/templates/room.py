"""The render routes of a server whose engine says hello and nothing more: no weights, no process."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from starlette.testclient import TestClient

from overt.api.app import create_app
from overt.cli.capabilities import brought_up
from overt.cli.config import ServeConfig

RENDER = "/v1/chat/completions/render"
CHAT = "/v1/chat/completions"

DEMO = ServeConfig(model="demo")


@contextmanager
def room(**settings: Any) -> Iterator[TestClient]:
    """A client of such a server of the demo model's tokenizer."""
    with brought_up(replace(DEMO, **settings)) as state, TestClient(create_app(state)) as client:
        yield client


def said(*texts: str) -> list[dict[str, Any]]:
    """Turns of user and assistant."""
    roles = ("user", "assistant")
    return [{"role": roles[index % 2], "content": text} for index, text in enumerate(texts)]
