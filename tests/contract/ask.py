"""Requests to the contract alone, without a server."""

import json
from typing import Any

import pytest

from overt.contract.asked import profile_asked, read_headers
from overt.contract.deployment import Deployment
from overt.contract.effects import Effect
from overt.contract.errors import ApiError
from overt.contract.field import Route
from overt.contract.params import GenerationParams
from overt.contract.read import read

DEPLOYMENT = Deployment(
    ("a", "b"),
    100,
    chat_template="{{ tools }} {{ documents }} {{ add_generation_prompt }}",
    parser="hermes",
    fills_gaps=True,
)
BASE: dict[str, dict[str, Any]] = {
    "chat": {"model": "a", "messages": [{"role": "user", "content": "x"}]},
    "completions": {"model": "a", "prompt": "x"},
}


def ask(
    route: Route, fields: dict[str, Any] | bytes, deployment: Deployment = DEPLOYMENT, /, **headers: str
) -> tuple[GenerationParams, list[Effect]]:
    """What is made of a body (`fields` beside the least one, or all its bytes) and headers (`_` stands for `-`)."""
    raw = fields if isinstance(fields, bytes) else json.dumps(BASE[route] | fields).encode()
    sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    own = headers.get("x_request_id", "")
    id = own if own.isascii() and own.isprintable() and own and " " not in own else "r"
    profile = profile_asked(sent, deployment)
    return read(route, raw, deployment, read_headers(route, sent, deployment, id, profile))


def refused(
    route: Route, fields: dict[str, Any] | bytes, deployment: Deployment = DEPLOYMENT, /, **headers: str
) -> ApiError:
    """The error of a request that has one."""
    with pytest.raises(ApiError) as caught:
        ask(route, fields, deployment, **headers)
    return caught.value


def told(effects: list[Effect]) -> list[tuple[str, str, Any]]:
    """Field, effect and what was applied."""
    return [(effect.field, effect.effect, effect.applied) for effect in effects]
