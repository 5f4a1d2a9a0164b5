"""What the routes share: the front, the deployment, the counts."""

import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from overt.api.dispatch import Dispatcher
from overt.api.ops.keys import Keys
from overt.api.ops.users import Users
from overt.cli.config import ServeConfig
from overt.contract.deployment import Deployment, deployment_of

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
    in_flight: int = 0
    """Requests with a body that are being answered, from their headers to the last byte."""
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    """HTTP answers by route and status."""
    effects: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Fields that were not plainly honoured, by name and effect; unknown ones are all `_unknown`."""
    config: ServeConfig = field(default_factory=ServeConfig)
    """The settings, without the API keys."""
    keys: Keys = field(default_factory=lambda: Keys(()))
    users: Users = field(default_factory=lambda: Users(None))

    @property
    def error_shape(self) -> str:
        """Errors are told in it where the request's own profile is not known."""
        return self.deployment.error_shape

    @property
    def tells_request_id(self) -> bool:
        """Whether responses have `X-Request-Id`."""
        return self.config.profile != "vllm" or self.config.request_id_headers

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
            "reasoning_parser": config.reasoning_parser,
            "grammar_backend": config.grammar_backend,
            "escape_special_tokens": config.escape_special_tokens,
            "encode_cache_bytes": config.encode_cache_bytes,
            "max_choices": config.limits.max_choices,
            "max_prompt_logprobs_bytes": config.limits.max_prompt_logprobs_bytes,
        }
    ).encode()


def make_state(front: "Front", config: ServeConfig, hello: bytes, version: str) -> State:
    """The state of a server whose engine has said `hello` (JSON)."""
    told = json.loads(hello)
    return State(
        front=front,
        dispatcher=Dispatcher(front),
        deployment=deployment_of(config, told, front),
        model=told["model"],
        version=version,
        first_byte_timeout=config.first_byte_timeout,
        seeds=None if config.seed is None else random.Random(config.seed),
        config=replace(config, api_key=(), metrics_user_secret=None),
        keys=Keys(config.api_key, open_metrics=config.open_metrics),
        users=Users(config.metrics_user_secret),
    )
