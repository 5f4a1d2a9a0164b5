"""When a request runs among others, and what it shares with them."""

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import Any

from contract.proofs.registry import proof
from contract.proofs.servers import CAP, NUMBERS, Served
from contract.proofs.talk import ABSENT, PATHS, Answer
from contract.proofs.trial import Trial, least
from overt.contract.field import GENERATE

_numbers = count()
DEADLINE_S = 60.0


# --- order ---


def order(trial: Trial, values: Sequence[Any], **rest: Any) -> list[int]:
    """The places in which requests run that arrive one behind the other while a row is busy, by their arrival.

    Each has the field at one of `values`; `rest` gives further fields, or a list of those of each request.
    """
    served = trial.servers["scripted"]
    busy = least(trial.route, {"prompt": "<busy>", "max_tokens": 4000, "stream": True, "user": "other"})
    with (
        ThreadPoolExecutor(len(values)) as pool,
        served.server.client.stream("POST", PATHS[trial.route], json=busy, headers=served.headers) as running,
    ):
        assert running.status_code == 200, running.read()
        lines = running.iter_lines()
        assert next(lines).startswith("data: ")
        answers: list[Future[Answer]] = []
        for index, value in enumerate(values):
            each = {key: part[index] if isinstance(part, list) else part for key, part in rest.items()}
            answers.append(pool.submit(trial.ask, value, "scripted", **each))
            _wait_for(served, waiting=index + 1)
        running.close()
        # The script counts the requests that it runs.
        numbers = [int(answer.result().text) for answer in answers]
    first = min(numbers) if max(numbers) - min(numbers) < NUMBERS / 2 else max(numbers)
    return [(number - first) % NUMBERS for number in numbers]


def _wait_for(served: Served, *, waiting: int) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while served.server.metrics()["overt:requests_waiting"] != waiting:
        assert time.monotonic() < deadline, served.server.client.get("/metrics").text
        time.sleep(0.002)


@proof(GENERATE, "priority")
def priority(trial: Trial) -> None:
    assert order(trial, [ABSENT, ABSENT, ABSENT]) == [0, 1, 2]
    assert order(trial, [ABSENT, ABSENT, -5]) == [1, 2, 0]
    assert order(trial, [7, ABSENT, ABSENT]) == [2, 0, 1]
    assert order(trial, [3, 2, 1, 0, -1]) == [4, 3, 2, 1, 0]
    # Beyond the operator's bound nobody is sooner than others at it.
    assert order(trial, [ABSENT, CAP, CAP - 7]) == [2, 0, 1]
    capped = trial.ask(CAP - 7, "scripted", overt={"report": True})
    assert capped.effects["priority"]["applied"] == CAP
    assert capped.reported["priority"]["requested"] == CAP - 7


@proof(GENERATE, "service_tier")
def service_tier(trial: Trial) -> None:
    assert order(trial, [ABSENT, ABSENT, "priority"]) == [1, 2, 0]
    assert order(trial, ["flex", "default", ABSENT]) == [2, 0, 1]
    for tier in ("priority", "flex", "default"):
        assert trial.ask(tier, "scripted").json["service_tier"] == tier
    assert trial.ask("auto", "scripted").json["service_tier"] == "default"
    assert "service_tier" not in trial.ask(ABSENT, "scripted").json


@proof(GENERATE, "user", "safety_identifier")
def user(trial: Trial) -> None:
    # The server is shared by users: a second one need not wait for all that the first one wants.
    first = ["a"] * 4
    assert order(trial, [*first, "a"]) == [0, 1, 2, 3, 4]
    assert order(trial, [*first, "b"])[-1] < 4
    assert order(trial, [*first, ABSENT])[-1] < 4


# --- prefix cache ---


def shared(trial: Trial, values: Sequence[Any], on: str, **rest: Any) -> list[bool]:
    """Whether each of equal requests with the field at `values`, one behind the other, found its prompt's KV."""
    # What the template writes before it may be there already.
    prompt = f"{next(_numbers)} {trial.field.name} {'river ' * 60}"
    answers = [trial.ask(value, on, prompt=prompt, max_tokens=1, **rest) for value in values]
    return [answer.cached > answer.json["usage"]["prompt_tokens"] / 2 for answer in answers]


@proof(GENERATE, "cache_salt", "prompt_cache_key", "extra_key")
def cache_partition(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        assert shared(trial, [ABSENT, ABSENT, "a", "a", "b", "b", ABSENT], on) == [
            False, True, False, True, False, True, True,
        ]  # fmt: skip
    others: dict[str, Any] = dict.fromkeys({"cache_salt", "prompt_cache_key", "extra_key"} - {trial.field.name}, "c")
    assert shared(trial, ["a", "a", "b", ABSENT], "tiny", **others) == [False, True, False, False]


@proof(GENERATE, "routed_dp_rank", "data_parallel_rank")
def rank(trial: Trial) -> None:
    # The later ones find their prompt in the prefix cache.
    plain = [trial.ask(ABSENT) for _ in range(2)][1]
    assert trial.ask(0).masked == plain.masked
    trial.ask(1).refuses(trial.field.name)
