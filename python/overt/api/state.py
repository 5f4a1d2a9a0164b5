"""What the routes share: the front, the deployment, the counts."""

import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from overt.api.dispatch import Dispatcher
from overt.cli.config import ServeConfig
from overt.contract.deployment import Deployment

if TYPE_CHECKING:
    from overt._core import Front

OUTBOX_BYTES = 256 * 1024
"""Bytes that wait for a lagging client before its decoding pauses."""

LAG_TIMEOUT_US = 30_000_000
"""A client that lags for longer is given up."""

PREPARE_THREADS = 2
"""Threads that parse, render and tokenise."""


@dataclass(slots=True)
class State:
    """One server's state, as `app.state.overt`."""

    front: "Front"
    dispatcher: Dispatcher
    deployment: Deployment
    model: dict[str, Any]
    """The `model` part of the engine's hello."""
    version: str
    first_byte_timeout: float = 15.0
    seeds: random.Random | None = None
    """Gives seeds to requests that have none; none: the core draws them."""
    created: int = field(default_factory=lambda: int(time.time()))
    draining: bool = False
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    """HTTP answers by route and status."""

    @property
    def max_model_len(self) -> int:
        """Tokens of the context, prompt and answer together."""
        length: int = self.model["max_model_len"]
        return length


def front_config(config: ServeConfig) -> bytes:
    """The settings of the core's `Front`, as JSON."""
    return json.dumps(
        {
            "watchdog_us": int(config.watchdog_timeout * 1e6),
            "outbox_bytes": OUTBOX_BYTES,
            "lag_timeout_us": LAG_TIMEOUT_US,
            "threads": PREPARE_THREADS,
            "tool_call_parser": config.tool_call_parser,
            "max_choices": config.limits.max_choices,
            "max_prompt_logprobs_bytes": config.limits.max_prompt_logprobs_bytes,
        }
    ).encode()


def make_state(front: "Front", config: ServeConfig, hello: bytes, version: str) -> State:
    """The state of a server whose engine has said `hello` (JSON)."""
    told = json.loads(hello)
    model: dict[str, Any] = told["model"]
    deployment = Deployment(
        served=_served(config, model),
        vocab_size=model["vocab_size"],
        generation_config=model.get("generation_config") or {},
        chat_template=told.get("chat_template"),
        parser=front.parser,
        max_client_priority=config.max_client_priority,
        tells_prompt_logprobs=model.get("tells_prompt_logprobs", True),
        limits=config.limits,
    )
    return State(
        front=front,
        dispatcher=Dispatcher(front),
        deployment=deployment,
        model=model,
        version=version,
        first_byte_timeout=config.first_byte_timeout,
        seeds=None if config.seed is None else random.Random(config.seed),
    )


def _served(config: ServeConfig, model: dict[str, Any]) -> tuple[str, ...]:
    if config.served_model_name:
        return tuple(config.served_model_name)
    # Clients written for another server name the model as it was given on the command line.
    return tuple(dict.fromkeys((model["name"], config.model)))
