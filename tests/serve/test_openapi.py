"""What the server says of itself at /openapi.json holds for thousands of requests made from it."""

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import Case, CheckContext, GenerationMode, Response
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from serve.server import Server, serving

LONG = "OVERT_LONG_TESTS"
"""Set, there are ten times as many requests."""

EXAMPLES = {
    "/v1/chat/completions": 680,
    "/v1/completions": 680,
    "/invocations": 240,
    "/tokenize": 240,
    "/detokenize": 160,
    "/v1/models/{model}": 160,
}
"""Requests by path; of the others, which take nothing, `FEW`."""

FEW = 2

TOGETHER = 24
"""Fields of one body: all at once contradict each other nearly always."""

TOTAL = 2000

MODEL = "demo"

_IDS = {"type": "array", "minItems": 1, "maxItems": 8, "items": {"type": "integer", "minimum": 0, "maximum": 9999}}
_WORDS = {"type": "array", "maxItems": 3, "items": {"enum": ["ship", "sheep", "lamp "]}}
LIKELY: dict[str, Any] = {
    "model": {"enum": [MODEL]},
    "messages": {
        "type": "array",
        "minItems": 1,
        "maxItems": 4,
        "items": {
            "type": "object",
            "required": ["role", "content"],
            "properties": {
                "role": {"enum": ["system", "user", "assistant"]},
                "content": {"type": "string", "maxLength": 40},
            },
            "additionalProperties": False,
        },
    },
    "prompt": {"anyOf": [{"type": "string", "minLength": 1, "maxLength": 40}, _IDS]},
    "tokens": _IDS,
    "stop_token_ids": _IDS,
    "allowed_token_ids": _IDS,
    "logit_bias": {
        "type": "object",
        "maxProperties": 3,
        "propertyNames": {"pattern": "^[1-9][0-9]{0,3}$"},
        "additionalProperties": {"type": "number", "minimum": -100, "maximum": 100},
    },
    "stop": _WORDS,
    "bad_words": _WORDS,
    "stop_regex": {"enum": ["[0-9]+", "Walrus|Gall"]},
    "min_tokens": {"enum": [0]},
    # What is made up here is hardly ever a constraint, and a request has one.
    "response_format": {"enum": [{"type": "text"}, {"type": "json_object"}, None]},
    "structured_outputs": {"enum": [{}, None]},
    "guided_json": {"enum": [None]},
    "guided_json_object": {"enum": [False, None]},
    "guided_regex": {"enum": [None]},
    "guided_choice": {"enum": [None]},
    "guided_grammar": {"enum": [None]},
    "structural_tag": {"enum": [None]},
    "json_schema": {"enum": [None]},
    "regex": {"enum": [None]},
    "ebnf": {"enum": [None]},
    # Fields that exclude many others, or want them.
    "functions": {"enum": [[], None]},
    "function_call": {"enum": [None]},
    "tool_choice": {"enum": ["none", None]},
    "use_beam_search": {"enum": [False, None]},
    "prompt_logprobs": {"enum": [None]},
    "top_logprobs": {"enum": [0, None]},
    "stream_options": {"enum": [None]},
    "best_of": {"enum": [None]},
    "continue_final_message": {"enum": [False]},
    "no_stop_trim": {"enum": [None]},
}
"""Narrower than the description, so that a body is likely to be served."""


def schema_but_of_streams(ctx: CheckContext, response: Response, case: Case[Any]) -> bool | None:
    """Answers are as described; a stream is described as the string that it is, and not event by event."""
    if response.headers["content-type"][0].startswith("text/event-stream"):
        return None
    conforms: bool | None = response_schema_conformance(ctx, response, case)
    return conforms


def error_shape(_: CheckContext, response: Response, case: Case[Any]) -> None:
    """Every error is OpenAI's object, as JSON."""
    if response.status_code < 400:
        return
    where = f"{case.operation.label}: {response.status_code} {response.content[:300]!r}"
    assert response.headers["content-type"] == ["application/json"], where
    document = json.loads(response.content)
    assert list(document) == ["error"], where
    error = document["error"]
    assert list(error) == ["message", "type", "param", "code"], where
    assert isinstance(error["message"], str), where
    assert error["message"], where
    assert isinstance(error["type"], str), where
    for name in ("param", "code"):
        assert error[name] is None or isinstance(error[name], str), where
    assert response.headers.get("x-request-id"), where


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    schema_but_of_streams,
    error_shape,
]


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    """Tokens at once and few of them: what a body asks for is done in no time."""
    flags = ("--max-model-len", "256", "--max-n", "4", "--max-prompts", "4", "--max-choices", "8")
    with serving(MODEL, "--model-runner", "sim", "--sim-step-ms", "0", *flags) as server:
        yield server


@pytest.fixture(scope="module")
def document(small: Server) -> dict[str, Any]:
    """The server's own description."""
    described: dict[str, Any] = small.client.get("/openapi.json").json()
    return described


def _body_schemas(operation: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects that a body may be."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return []
    schema: dict[str, Any] = content["schema"]
    return list(schema.get("anyOf", [schema]))


def _narrowed(document: dict[str, Any], path: str, method: str, rng: random.Random, likely: bool) -> dict[str, Any]:
    """The description of one operation alone, some of its body's fields left out.

    With `likely` values that the description leaves open are such as are served.
    """
    operation = json.loads(json.dumps(document["paths"][path][method]))
    for schema in _body_schemas(operation):
        properties, required = schema["properties"], set(schema.get("required", ()))
        chosen = required | set(rng.sample(sorted(properties), min(TOGETHER, len(properties))))
        narrower = LIKELY if likely else {}
        schema["properties"] = {name: narrower.get(name, properties[name]) for name in sorted(chosen)}
    for parameter in operation.get("parameters", ()):
        if likely and parameter["in"] == "path":
            parameter["schema"] = LIKELY["model"]
    return document | {"paths": {path: {method: operation}}}


def _exercise(
    small: Server, described: dict[str, Any], mode: GenerationMode, count: int, number: int, session: requests.Session
) -> Counter[int]:
    """Sends requests made from a description. Returns how many were answered with which status."""
    statuses: Counter[int] = Counter()
    (result,) = schemathesis.openapi.from_dict(described).get_all_operations()
    assert isinstance(result, Ok), result
    operation = result.ok()
    checks = [*CHECKS, negative_data_rejection] if mode is GenerationMode.NEGATIVE else CHECKS

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Case[Any]) -> None:
        response = case.call(base_url=small.url, session=session, timeout=60)
        statuses[response.status_code] += 1
        case.validate_response(response, checks=checks)

    send()
    return statuses


def test_every_route_keeps_to_its_description(small: Server, document: dict[str, Any]) -> None:
    times = 10 if os.environ.get(LONG) else 1
    seen: dict[str, Counter[int]] = {}
    wrong: list[str] = []
    rng = random.Random(0)
    with requests.Session() as session:
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                mine = seen[f"{method.upper()} {path}"] = Counter()
                takes_body = bool(_body_schemas(operation))
                wanted = EXAMPLES.get(path, FEW) * times
                # A body's fields are drawn anew for every batch; every third batch is of bodies that are wrong.
                size = min(40, wanted)
                for number in range(-(-wanted // size)):
                    bad = takes_body and number % 3 == 2
                    mode = GenerationMode.NEGATIVE if bad else GenerationMode.POSITIVE
                    described = _narrowed(document, path, method, rng, likely=number % 3 == 0)
                    try:
                        mine += _exercise(small, described, mode, size, number, session)
                    except (Exception, BaseExceptionGroup) as error:
                        wrong.append(f"{method.upper()} {path}, {mode.value} batch {number}: {_told(error)}")
                        break
    for label, statuses in seen.items():
        print(f"\n{label}: {dict(sorted(statuses.items()))}", end="")
    assert not wrong, "\n\n".join(wrong)
    assert sum(map(Counter.total, seen.values())) >= TOTAL * times
    assert seen["POST /v1/chat/completions"][200] > 50 * times, "hardly any body was served: the checks show little"
    assert seen["POST /v1/completions"][200] > 50 * times
    assert small.client.get("/health").status_code == 200
    for word in ("Traceback", "panicked"):
        assert word not in small.log, small.log


def _told(error: BaseException) -> str:
    parts = [str(error), *(str(part) for part in getattr(error, "exceptions", ()))]
    return "\n".join(parts)[:3000]


def test_the_description_is_whole(document: dict[str, Any]) -> None:
    """What no example shows: that statuses are described at all, streams as such, and nothing that never comes."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            where, responses = f"{method.upper()} {path}", operation["responses"]
            assert "422" not in responses, f"{where}: no request is answered so"
            assert responses["200"].get("content"), f"{where}: what 200 holds is not said"
            for status, response in responses.items():
                if status >= "400":
                    assert "application/json" in response["content"], f"{where}: {status}"
            if "requestBody" in operation:
                assert {"400", "404", "413", "415"} <= responses.keys(), where
    for path in ("/v1/chat/completions", "/v1/completions"):
        responses = document["paths"][path]["post"]["responses"]
        assert {"429", "500", "503"} <= responses.keys(), path
        assert {"application/json", "text/event-stream"} <= responses["200"]["content"].keys(), path
    for path in ("/health", "/ready"):
        assert "503" in document["paths"][path]["get"]["responses"], path
