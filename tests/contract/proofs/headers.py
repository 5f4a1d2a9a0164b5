"""Headers."""

import gzip
import json
import re
from http.client import HTTPConnection
from typing import Any

import httpx

from contract.proofs.registry import header
from contract.proofs.scheduling import order
from contract.proofs.servers import KEY
from contract.proofs.stopping import WORDS
from contract.proofs.talk import ABSENT, PATHS, Answer
from contract.proofs.trial import Trial, least
from overt.contract.field import ALL, GENERATE

UNKNOWN: dict[str, Any] = {"zzz": 1}


def post(trial: Trial, value: str | None, raw: bytes | None = None, on: str = "tiny") -> Answer:
    """A request whose bytes and headers are given: the client adds none of its own for the header under proof."""
    body = least(trial.route, {})
    headers = {} if value is None else {trial.field.name: value}
    trial.noted(on, body, {"bytes": repr(raw)}, ABSENT if value is None else value)
    served = trial.servers[on]
    content = json.dumps(body).encode() if raw is None else raw
    response = served.server.client.post(PATHS[trial.route], content=content, headers=headers)
    return Answer(response.status_code, response.headers, response.content, trial.route)


@header("authorization", ALL)
@header("x-api-key", ALL)
def key(trial: Trial) -> None:
    prefix = "Bearer " if trial.field.name == "authorization" else ""
    for value in (None, prefix + "other", prefix + KEY + "x"):
        post(trial, value, on="scripted").refuses(None, "invalid_api_key", 401)
    assert post(trial, prefix + KEY, on="scripted").status == 200
    # Without keys everybody is let in.
    assert post(trial, prefix + "other").masked == post(trial, None).masked


@header("content-type", ALL)
def content_type(trial: Trial) -> None:
    plain = post(trial, None)
    for value in ("application/json", "application/json; charset=utf-8", "application/vnd.x+json"):
        assert post(trial, value).masked == plain.masked
    for value in ("text/plain", "application/json; charset=latin-1", "application/x-www-form-urlencoded"):
        post(trial, value).refuses(None, "unsupported_media_type", 415)


@header("content-encoding", ALL)
def content_encoding(trial: Trial) -> None:
    packed = gzip.compress(json.dumps(least(trial.route, {})).encode())
    assert post(trial, "identity").masked == post(trial, None).masked
    post(trial, "gzip", packed).refuses(None, "unsupported_media_type", 415)
    post(trial, None, packed).refuses(None)


@header("content-length", ALL)
def content_length(trial: Trial) -> None:
    body = json.dumps(least(trial.route, {})).encode()
    assert post(trial, str(len(body)), body).status == 200
    post(trial, str(len(body) - 1), body[:-1]).refuses(None)
    # Told to be too large: refused before it has come.
    told = str(33 * 2**20)
    trial.noted("tiny", least(trial.route, {}), {"bytes": repr(body)}, told)
    connection = HTTPConnection("127.0.0.1", trial.servers["tiny"].server.port)
    connection.putrequest("POST", PATHS[trial.route])
    connection.putheader("content-length", told)
    connection.endheaders(body)
    response = connection.getresponse()
    answer = Answer(response.status, httpx.Headers(response.getheaders()), response.read(), trial.route)
    answer.refuses(None, "body_too_large", 413)
    connection.close()


@header("x-request-id", ALL)
def x_request_id(trial: Trial) -> None:
    made = {trial.ask(ABSENT).ok().headers["x-request-id"] for _ in range(2)}
    assert len(made) == 2
    for value in ("river-9", "x" * 128, "~!"):
        answer = trial.ask(value).ok()
        assert answer.headers["x-request-id"] == value
        if trial.route in GENERATE:
            assert answer.json["id"].endswith("-" + value)
    unusable = trial.ask("two words").ok()
    assert re.fullmatch("[0-9a-f]{32}", unusable.headers["x-request-id"])
    assert unusable.effects == {"x-request-id": {"e": "inert"}}


@header("x-data-parallel-rank", ALL)
def x_data_parallel_rank(trial: Trial) -> None:
    assert trial.ask("0").masked == trial.ask(ABSENT).masked
    for value in ("1", "-1", "x", ""):
        trial.ask(value).refuses("x-data-parallel-rank")


@header("x-vllm-priority", GENERATE)
def x_vllm_priority(trial: Trial) -> None:
    assert order(trial, [ABSENT, ABSENT, ABSENT]) == [0, 1, 2]
    assert order(trial, [ABSENT, ABSENT, "-5"]) == [1, 2, 0]
    assert order(trial, ["7", ABSENT, ABSENT]) == [2, 0, 1]
    # It comes before the body's.
    assert order(trial, [ABSENT, "-5"], priority=[0, 9]) == [1, 0]
    for value in ("x", "1.5", str(2**31)):
        trial.ask(value).refuses("x-vllm-priority")


@header("endpoint-load-metrics-format", ALL)
def endpoint_load_metrics_format(trial: Trial) -> None:
    assert "endpoint-load-metrics" not in trial.ask(ABSENT).headers
    assert trial.ask("TEXT").headers["endpoint-load-metrics"].startswith("TEXT named_metrics.kv_cache_usage_perc=")
    told = trial.ask("JSON").headers["endpoint-load-metrics"]
    assert json.loads(told.removeprefix("JSON "))["named_metrics"]["num_requests_waiting"] == 0
    trial.ask("XML").refuses("endpoint-load-metrics-format")


@header("overt-profile", ALL)
def overt_profile(trial: Trial) -> None:
    plain = trial.ask(ABSENT)
    assert trial.ask("overt").masked == plain.masked
    trial.ask("other").refuses("overt-profile")
    # What a client can see of each: the shape of errors, and of answers.
    shapes = {}
    for profile in ("openai", "vllm", "sglang"):
        wrong: dict[str, Any] = {_wanted(trial): 5.5}
        error = trial.ask(profile, **wrong).json
        shapes[profile] = (type(error["error"]["code"]) if "error" in error else "flat", "message" in error)
    assert shapes == {"openai": (type(None), False), "vllm": (int, False), "sglang": ("flat", True)}
    if trial.route in GENERATE:
        rest: dict[str, Any] = {"prompt": WORDS, "stop": "two", "max_tokens": 9}
        choices = {
            profile: trial.ask(profile, "scripted", **rest).choice for profile in ("overt", "openai", "vllm", "sglang")
        }
        ends = {profile: {"stop_reason", "matched_stop"} & choice.keys() for profile, choice in choices.items()}
        assert ends == {
            "overt": {"stop_reason"},
            "openai": set(),
            "vllm": {"stop_reason"},
            "sglang": {"matched_stop"},
        }


def _wanted(trial: Trial) -> str:
    """The field that the route cannot do without."""
    return {"chat": "messages", "detokenize": "tokens", "parse": "text"}.get(trial.route, "prompt")


@header("overt-strict", ALL)
def overt_strict(trial: Trial) -> None:
    for value in (ABSENT, "0"):
        assert trial.ask(value, **UNKNOWN).ok().effects == {"zzz": {"e": "inert"}}
    for value in ("1", "true"):
        trial.ask(value, **UNKNOWN).refuses(None, "not_honoured")
    assert trial.ask("1").masked == trial.ask(ABSENT).masked
    trial.ask("yes").refuses("overt-strict")
