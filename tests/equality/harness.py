"""Both sides of the server in one process: the API side, the link, the engine and a real model runner."""

import json
import select
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from overt import _core
from overt.contract.params import GenerationParams
from overt.engine.config import BLOCK_SIZE
from overt.engine.loop import run
from overt.engine.runner import ModelRunner
from overt.models import ModelFiles

NEVER = 2**31 - 1
"""No token has this id: nothing ends a text early."""

MAX_MODEL_LEN = 512
"""Tokens of a sequence."""


class Recorder:
    """A runner that notes every token by request and choice."""

    def __init__(self, core: _core.Engine, runner: ModelRunner) -> None:
        self._core = core
        self._runner = runner
        self._rows: dict[int, list[tuple[int, int] | None]] = {}
        self._layout = {name: offset for name, offset, _ in core.layout()}
        self.texts: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        self.arenas = runner.arenas
        self.buffers = runner.buffers
        self.largest_step = 0
        self.most_rows = 0

    def launch(self, plan_id: int) -> None:
        arena = self.arenas[plan_id % 2].numpy()
        rows = int(arena[_core.HEADER.index("rows")])
        self.most_rows = max(self.most_rows, rows)
        self.largest_step = max(self.largest_step, int(arena[_core.HEADER.index("tokens")]))
        samples = arena[self._layout["sample"] :][:rows]
        self._rows[plan_id] = [self._core.row(plan_id, row)[:2] if samples[row] else None for row in range(rows)]
        self._runner.launch(plan_id)

    def sample(self, plan_id: int, edits: bytes | None = None) -> None:
        self._runner.sample(plan_id, edits)

    def tokens(self, plan_id: int) -> np.ndarray:
        tokens = self._runner.tokens(plan_id)
        for owner, token in zip(self._rows.pop(plan_id), tokens.tolist(), strict=False):
            if owner is not None:
                self.texts[owner].append(token)
        return tokens

    def logprobs(self, plan_id: int) -> tuple[Any | None, Any | None]:
        return self._runner.logprobs(plan_id)

    def reset(self) -> None:
        self._runner.reset()


class Harness:
    """A served model."""

    def __init__(
        self,
        model: torch.nn.Module,
        files: ModelFiles,
        *,
        num_blocks: int = 600,
        max_num_seqs: int = 16,
        max_num_batched_tokens: int = 512,
        max_model_len: int = MAX_MODEL_LEN,
        prefix_cache: bool = True,
        overlap: bool = False,
    ) -> None:
        config = {
            "block_size": BLOCK_SIZE,
            "num_blocks": num_blocks,
            "max_num_seqs": max_num_seqs,
            "max_num_batched_tokens": max_num_batched_tokens,
            "max_model_len": max_model_len,
            "max_queued": 0,
            "prefix_cache": prefix_cache,
            "overlap": overlap,
            "hash_seed": 1,
            "starvation_us": 10_000_000,
            "eos_token_ids": [NEVER],
        }
        here, there = socket.socketpair()
        self.core = _core.Engine(there.detach(), json.dumps(config).encode(), files.tokenizer_json)
        runner = ModelRunner(
            model,
            device="cpu",
            layout=self.core.layout(),
            num_blocks=num_blocks,
            max_rows=max_num_seqs + 1,
            max_tokens=max_num_batched_tokens + 1,
            max_blocks=-(-max_model_len // BLOCK_SIZE),
        )
        self.recorder = Recorder(self.core, runner)
        self.core.bind(*runner.buffers)
        front = {
            "watchdog_us": 60_000_000,
            "outbox_bytes": 1 << 20,
            "lag_timeout_us": 60_000_000,
            "threads": 1,
            "tool_call_parser": "none",
            "max_choices": 1024,
            "max_prompt_logprobs_bytes": 1 << 26,
        }
        self.front = _core.Front(here.detach(), json.dumps(front).encode())
        meta = {
            "model": {"max_model_len": max_model_len, "vocab_size": files.vocab_size},
        }
        self.core.hello(json.dumps(meta).encode())
        assert self.front.wait_ready(10_000) is not None
        self._thread = threading.Thread(
            target=run, args=(self.core, self.recorder), kwargs={"overlap": overlap}, daemon=True
        )
        self._thread.start()
        self._handles = 0
        self.answers: dict[int, bytes] = {}

    def submit(self, prompt: Sequence[int], count: int, **changes: Any) -> int:
        """Starts a request; returns its handle."""
        self._handles += 1
        params = {
            "max_tokens": count,
            "temperature": 0.0,
            "top_p": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "seed": None,
            "n": 1,
            "stop": [],
            "stop_token_ids": [],
            "ignore_eos": True,
            "skip_special_tokens": False,
            "include_stop": False,
            "stream": False,
            "include_usage": False,
            "priority": 0,
            "user": None,
            "key": None,
            "cache_salt": None,
            "model": "m",
            "request_id": "r",
            "tools": False,
            "add_generation_prompt": True,
            "continue_final_message": False,
            "max_tokens_field": "max_tokens",
        }
        body = json.dumps({"prompt": list(prompt)}).encode()
        self.front.submit(self._handles, "completions", body, GenerationParams(**(params | changes)), False)
        return self._handles

    def wait(self, handles: Sequence[int], timeout: float = 300.0) -> None:
        """Waits until all of them have ended."""
        deadline = time.monotonic() + timeout
        while not all(handle in self.answers for handle in handles):
            assert time.monotonic() < deadline, "the requests did not end"
            select.select([self.front.wake_fd], [], [], 1.0)
            for handle, ended, status, body, _ in self.front.take_ready():
                assert status in (0, 200), body
                if ended:
                    self.answers[handle] = body

    def generate(
        self, prompts: Sequence[Sequence[int]], count: int, *, together: bool = True, stagger_s: float = 0.0
    ) -> list[list[int]]:
        """Tokens of every prompt, all at once (arriving `stagger_s` apart) or one after the other."""
        handles = []
        for prompt in prompts:
            handle = self.submit(prompt, count)
            handles.append(handle)
            if not together:
                self.wait([handle])
            elif stagger_s:
                time.sleep(stagger_s)
        self.wait(handles)
        return [self.recorder.texts.pop((handle, 0)) for handle in handles]

    def stats(self) -> dict[str, Any]:
        """The front's counters."""
        stats: dict[str, Any] = json.loads(self.front.stats())
        return stats

    def close(self) -> None:
        self.front.close()
        self._thread.join(30)
        assert not self._thread.is_alive(), "the engine outlives its API process"
