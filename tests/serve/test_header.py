"""The header `overt-effects` is a List of RFC 9651 whatever the fields are named; strict mode names them all."""

from typing import Any

import httpx
import pytest
from http_sfv.list import List
from http_sfv.types import Token

from overt.contract.effects import MAX_BYTES, MAX_ENTRIES
from serve.server import Server

PATHS = ("/v1/chat/completions", "/v1/completions")
NAMES = {
    "brackets": "tools[0].function.strict",
    "capitals": "Made_UP",
    "umlaut": "gr\u00f6\u00dfe",
    "han": "\u5b57\u6bb5",
    "emoji": "\U0001f408[0]",
    "joined": "\u0065\u0301\u200d\u202e",
    "quotes": 'a"b""c',
    "backslashes": "a\\b\\\\",
    "backslash_quote": '\\"',
    "percent": "100%22 %",
    "percent_quote": '%"\u00e9"%c3',
    "blanks": " a  b ",
    "empty": "",
    "newline": "a\nb\r\nset-cookie: x=1",
    "nul": "a\0b",
    "delete": "a\x7fb",
    "c1": "a\x85b\xa0",
    "separators": "a, b;e=honoured, (c)",
    "dots": "...x",
    "token": "*a/b:c",
    "number": "12.5",
    "boolean": "?1",
    "long": "x" * 300,
    "long_han": "\u5b57" * 60,
}


def _body(server: Server, path: str, **fields: Any) -> dict[str, Any]:
    model = server.client.get("/v1/models").json()["data"][0]["id"]
    asked = {"messages": [{"role": "user", "content": "x"}]} if "chat" in path else {"prompt": "x"}
    return {"model": model, "max_tokens": 2} | asked | fields


def effects(answer: httpx.Response) -> list[tuple[str, dict[str, Any]]]:
    """Field and parameters of each entry, as a parser that knows nothing of this server reads them."""
    (raw,) = [value for name, value in answer.headers.raw if name.lower() == b"overt-effects"]
    assert len(raw) <= MAX_BYTES
    parsed = List()
    parsed.parse(raw)
    entries = [(item.value, dict(item.params)) for item in parsed]
    assert all(isinstance(value, str) and not isinstance(value, Token) for value, _ in entries)
    return [(str(value), params) for value, params in entries]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_comes_back(sim: Server, name: str) -> None:
    field = NAMES[name]
    for path in PATHS:
        for stream in (False, True):
            answer = sim.post(path, _body(sim, path, stream=stream, **{field: {"x": [1]}}))
            assert answer.status_code == 200, answer.text
            assert "set-cookie" not in answer.headers
            ((told, params),) = effects(answer)
            # Names that are longer than any field's may be cut, and show it.
            cut = told.removesuffix("\u2026").removesuffix("...")
            assert told == field or (len(field) > 64 and len(cut) < len(told) and field.startswith(cut))
            assert str(params["e"]) == "inert"


def test_what_was_applied_and_what_was_meant(sim: Server) -> None:
    for path in PATHS:
        body = _body(sim, path, max_tokens=10**6, temprature=1, spaces_between_special_tokens=False)
        # The header says it all: what would be made until the context is full is not waited for.
        with sim.client.stream("POST", path, json=body | {"stream": True}) as answer:
            told = dict(effects(answer))
        assert set(told) == {"max_tokens", "temprature", "spaces_between_special_tokens"}
        assert {name: str(params["e"]) for name, params in told.items()} == {
            "max_tokens": "adapted",
            "temprature": "inert",
            "spaces_between_special_tokens": "inert",
        }
        applied = told["max_tokens"]["applied"]
        assert type(applied) is int
        assert 1000 < applied < 10**6
        assert told["temprature"]["nearest"] == "temperature"
        plain = sim.post(path, _body(sim, path))
        assert "overt-effects" not in plain.headers


@pytest.mark.parametrize("letter", ["x", "\u00e4", "\u5b57", '"', "\\"])
@pytest.mark.parametrize("length", [1, 8, 60])
def test_200_fields_stay_within_two_kibibytes(sim: Server, letter: str, length: int) -> None:
    fields = {f"{letter * length}{number}": number for number in range(200)}
    for stream in (False, True):
        answer = sim.post(PATHS[0], _body(sim, PATHS[0], stream=stream, **fields))
        assert answer.status_code == 200, answer.text
        *entries, (rest, params) = effects(answer)
        assert (rest, params) == ("...", {"more": 200 - len(entries)})
        assert 3 <= len(entries) <= MAX_ENTRIES
        assert len({name for name, _ in entries} & fields.keys()) == len(entries)


def test_32_fields_are_all_told(sim: Server) -> None:
    fields = {f"x{number}": None if number == 40 else number for number in range(MAX_ENTRIES)}
    told = effects(sim.post(PATHS[0], _body(sim, PATHS[0], **fields)))
    assert {name for name, _ in told} == fields.keys()
    told = effects(sim.post(PATHS[0], _body(sim, PATHS[0], **fields, one_more=1)))
    assert told[-1] == ("...", {"more": 1})
    assert len(told) == MAX_ENTRIES + 1


# --- strict mode ---

STRICT: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "body": ({"overt": {"strict": True}}, {}),
    "header": ({}, {"overt-strict": "1"}),
    "both": ({"overt": {"strict": True}}, {"overt-strict": "1"}),
}
"""Fields and headers that ask for it."""


def _strictly(server: Server, path: str, how: str, **fields: Any) -> httpx.Response:
    asked, headers = STRICT[how]
    return server.client.post(path, json=_body(server, path, **asked, **fields), headers=headers)


@pytest.mark.parametrize("how", STRICT)
@pytest.mark.parametrize("stream", [False, True])
def test_strict_refuses_once_and_names_them_all(sim: Server, how: str, stream: bool) -> None:
    three = {"made_up": 1, "spaces_between_special_tokens": False, "max_tokens": 10**6}
    for path in PATHS:
        answer = _strictly(sim, path, how, stream=stream, **three)
        assert answer.status_code == 400, answer.text
        assert answer.headers["content-type"] == "application/json"
        error = answer.json()["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert all(f"`{name}`" in error["message"] for name in three), error["message"]
        assert error["type"] == "invalid_request_error"
        # Any one of them is enough.
        for name, value in three.items():
            alone = _strictly(sim, path, how, stream=stream, **{name: value})
            assert alone.status_code == 400, (name, alone.text)
            told = alone.json()["error"]
            assert f"`{name}`" in told["message"]
            assert not any(f"`{other}`" in told["message"] for other in three.keys() - {name})


@pytest.mark.parametrize("how", STRICT)
def test_strict_serves_what_is_honoured(sim: Server, how: str) -> None:
    for path in PATHS:
        body = {"temperature": 0.5, "seed": 3, "stop": ["zzz"], "user": None, "logit_bias": None, "ignore_eos": True}
        answer = _strictly(sim, path, how, **body)
        assert answer.status_code == 200, answer.text
        assert "overt-effects" not in answer.headers
        # Fewer tokens than the context holds, to the last one.
        limit = sim.client.get("/v1/models").json()["data"][0]["max_model_len"]
        assert _strictly(sim, path, how, max_tokens=limit).status_code == 400


def test_strict_is_off_where_it_is_said_to_be(sim: Server) -> None:
    for path in PATHS:
        for asked, headers in (({"overt": {"strict": False}}, {}), ({}, {"overt-strict": "0"}), ({"overt": None}, {})):
            answer = sim.client.post(path, json=_body(sim, path, made_up=1, **asked), headers=headers)
            assert answer.status_code == 200, answer.text
            assert [name for name, _ in effects(answer)] == ["made_up"]
        for value in ("yes", "2", "1, 1", "\u00e9"):
            answer = sim.client.post(path, json=_body(sim, path), headers={b"overt-strict": value.encode()})
            assert answer.status_code == 400, (value, answer.text)
            assert answer.json()["error"]["param"] == "overt-strict"
