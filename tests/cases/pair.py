"""Both sides of the core in one thread: each step is taken by hand, so that an abort comes just when it is meant to."""

import json
import socket
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from overt import _core
from overt.contract.asked import Asked
from overt.contract.deployment import Deployment
from overt.contract.read import read
from overt.models import resolve

MODEL_LEN = 256
BLOCKS = 64
LETTER = 65
"""The token that every step makes."""


class Pair:
    """An engine and its front."""

    def __init__(self, front: _core.Front, core: _core.Engine) -> None:
        self.front = front
        self.core = core
        self._now = 0

    def submit(self, handle: int, **fields: Any) -> None:
        """Starts a completion of at most 4 tokens, in one piece."""
        body = {"prompt": "hello", "max_tokens": 4, "ignore_eos": True} | fields
        raw = json.dumps(body).encode()
        deployment = Deployment(served=("pair",), vocab_size=49152)
        params, _ = read("completions", raw, deployment, Asked(deployment.profile, False, f"request-{handle}"))
        self.front.submit(handle, "completions", raw, params, False)
        assert self.core.wait(5000)

    def schedule(self) -> int:
        """Begins a step. Returns its plan, or -1."""
        self._now += 1000
        return self.core.schedule(self._now)

    def decide(self, plan: int) -> None:
        """Ends the step with the same token in every row."""
        self.core.decide(plan, array("i", [LETTER] * 16))

    def answers(self, wanted: set[int]) -> dict[int, tuple[int, Any]]:
        """Steps until `wanted` are answered. Returns status and body of whatever answers until then."""
        found: dict[int, tuple[int, Any]] = {}
        deadline = time.monotonic() + 10
        while not wanted <= found.keys():
            assert time.monotonic() < deadline, f"no answer for {wanted - found.keys()}"
            plan = self.schedule()
            if plan >= 0:
                self.decide(plan)
            else:
                assert self.core.wait(10), "the front is gone"
            for handle, ended, status, data, _ in self.front.take_ready():
                assert ended
                assert handle not in found, "answered twice"
                found[handle] = status, json.loads(data)
        return found

    def at_rest(self) -> dict[str, Any]:
        """The counts once nothing runs, waits or holds blocks."""
        deadline = time.monotonic() + 10
        while any((stats := self.stats())[name] for name in ("requests_running", "requests_waiting", "kv_blocks_used")):
            assert time.monotonic() < deadline, stats
            plan = self.schedule()
            if plan >= 0:
                self.decide(plan)
            else:
                assert self.core.wait(10), "the front is gone"
        return stats

    def stats(self) -> dict[str, Any]:
        """The front's counts."""
        stats: dict[str, Any] = json.loads(self.front.stats())
        return stats


@contextmanager
def pair() -> Iterator[Pair]:
    """A pair whose model is the demo's tokenizer alone."""
    files = resolve("demo")
    config = {
        "block_size": 16,
        "num_blocks": BLOCKS,
        "max_num_seqs": 4,
        "max_num_batched_tokens": 256,
        "max_model_len": MODEL_LEN,
        "max_queued": 16,
        "prefix_cache": False,
        "overlap": False,
        "hash_seed": 1,
        "starvation_us": 10_000_000,
        "eos_token_ids": [0],
    }
    here, there = socket.socketpair()
    core = _core.Engine(there.detach(), json.dumps(config).encode(), files.tokenizer_json)
    words = core.layout()[-1][1]
    core.bind(array("i", bytes(4 * words)), array("i", bytes(4 * words)))
    settings = {
        "watchdog_us": 60_000_000,
        "outbox_bytes": 1 << 18,
        "lag_timeout_us": 60_000_000,
        "threads": 1,
        "tool_call_parser": "none",
        "max_choices": 1024,
        "max_prompt_logprobs_bytes": 1 << 20,
    }
    front = _core.Front(here.detach(), json.dumps(settings).encode())
    core.hello(json.dumps({"model": {"max_model_len": MODEL_LEN, "vocab_size": files.vocab_size}}).encode())
    assert front.wait_ready(10_000) is not None
    try:
        yield Pair(front, core)
    finally:
        front.close()
