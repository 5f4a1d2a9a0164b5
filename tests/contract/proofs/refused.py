"""Fields that are refused by name."""

import json
from typing import Any

from contract.proofs.samples import wanting
from contract.proofs.servers import Served
from contract.proofs.stopping import WORDS
from contract.proofs.trial import least
from overt.contract.field import Field, Route

_STEADY: dict[tuple[int, Route, str], bytes] = {}
"""Answers to plain requests, by server, route and body."""


def with_field(route: Route, row: Field, value: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Body and headers of a request with the field."""
    body = least(route, around(route, row))
    if row.location == "header":
        return body, {row.name: value}
    outer, _, inner = row.name.partition(".")
    body[outer] = {**body.get(outer, {}), inner: value} if inner else value
    return body, {}


def around(route: Route, row: Field) -> dict[str, Any]:
    """What the field needs beside it."""
    # The scripted server has one answer to this, whoever asked before.
    match route:
        case "tokenize":
            return {"messages": [{"role": "user", "content": WORDS}]}
        case "detokenize" | "parse":
            return {}
        case _:
            return {"prompt": WORDS, "max_tokens": 2} | ({"stream": True} if "stream_options." in row.name else {})


def check_refused(served: Served, route: Route, row: Field) -> None:
    """Every value that asks for something is a 400 that names the field."""
    values = wanting(row)
    assert values, "no sample of a value that asks for something"
    for value in values:
        answer = served.ask(route, *with_field(route, row, value))
        answer.refuses(row.name, "unsupported_parameter")
        assert f"`{row.name}`" in answer.error["message"]


def check_noops(served: Served, route: Route, row: Field) -> None:
    """Every value that asks for nothing is accepted, not told, and changes nothing."""
    plain = steady(served, route, row)
    for noop in row.noop:
        answer = served.ask(route, *with_field(route, row, noop)).ok()
        assert answer.masked == plain, noop
        assert row.name not in answer.effects, noop


def steady(served: Served, route: Route, row: Field) -> bytes:
    """The masked answer without the field; the later one, whose prompt is in the prefix cache."""
    body = least(route, around(route, row))
    asked = (served.server.port, route, json.dumps(body))
    if asked not in _STEADY:
        found = [served.ask(route, body).masked for _ in range(3)]
        assert found[1] == found[2], "the answer differs by itself"
        _STEADY[asked] = found[2]
    return _STEADY[asked]
