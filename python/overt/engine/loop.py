"""The step loop: schedule, run, decide. Rows and tokens are never looped over here."""

import sys
import time
import traceback
from collections import deque
from typing import Any, Protocol

from overt._core import Engine

MAX_FAILURES = 3
FAILURE_WINDOW_S = 60.0
IDLE_MS = 1000


class Runner(Protocol):
    """Makes one token a row. `launch` may come before `tokens` of the plan before it was read."""

    @property
    def buffers(self) -> tuple[Any, Any]:
        """The two arenas as int32 buffers, which the scheduler fills alternately."""

    def launch(self, plan_id: int) -> None:
        """Starts the step whose arena is `plan_id % 2`."""

    def sample(self, plan_id: int, edits: bytes | None = None) -> None:
        """Chooses the step's tokens, from logits changed by `edits` (`Engine.edits`)."""

    def tokens(self, plan_id: int) -> Any:
        """Waits for the step's tokens: an int32 buffer, one a row, -1 where the logits were not finite, -2 where no
        token was allowed.
        """

    def logprobs(self, plan_id: int) -> tuple[Any | None, Any | None]:
        """After `tokens`, the log probabilities of tokens and of prompt tokens that the edits asked for: int32
        buffers as `Engine.decide` reads them, None where there are none.
        """

    def reset(self) -> None:
        """Makes the runner usable after a step that raised."""


class Failures:
    """Steps that raised lately."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=MAX_FAILURES)

    def too_many(self, now: float) -> bool:
        """Counts one more; true when the engine should give up."""
        self._times.append(now)
        return len(self._times) == MAX_FAILURES and now - self._times[0] <= FAILURE_WINDOW_S


def run(core: Engine, runner: Runner, *, overlap: bool) -> int:
    """Runs steps until the API process is gone (returns 0) or the model keeps failing (returns 1)."""
    failures = Failures()
    running: int | None = None
    try:
        while True:
            plan = core.schedule(time.monotonic_ns() // 1000)
            if plan < 0 and running is None:
                if not core.wait(IDLE_MS):
                    return 0
                continue
            launched = plan if plan >= 0 else None
            try:
                if overlap:
                    _overlapped(core, runner, running, launched)
                    running = launched
                elif launched is not None:
                    runner.launch(launched)
                    runner.sample(launched, core.edits(launched))
                    core.decide(launched, runner.tokens(launched), *runner.logprobs(launched))
            except BrokenPipeError:
                return 0
            except Exception:
                running = None
                print("a step failed; its requests end with an error:", file=sys.stderr)
                traceback.print_exc()
                core.fail()
                if failures.too_many(time.monotonic()):
                    print(
                        f"{MAX_FAILURES} steps failed within {FAILURE_WINDOW_S:.0f} s: giving up",
                        file=sys.stderr,
                    )
                    return 1
                runner.reset()
    except BrokenPipeError:
        return 0


def _overlapped(core: Engine, runner: Runner, running: int | None, launched: int | None) -> None:
    """Launches a step while the one before it runs, then decides that one: its results steer the sampling."""
    if launched is not None:
        runner.launch(launched)
    if running is not None:
        core.decide(running, runner.tokens(running), *runner.logprobs(running))
    if launched is not None:
        runner.sample(launched, core.edits(launched))
