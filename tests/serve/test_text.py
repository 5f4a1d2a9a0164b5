"""What the model makes is what the client reads, streamed or not, however it was cut."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serve.server import Server, serving, text_of

ARGUMENTS = '{"city": "Zo\u00eb\u2019s \\"town\\"", "days": 3}'
CALL = '<tool_call>\n{"name": "weather", "arguments": ' + ARGUMENTS + "}\n</tool_call>"
ANSWERS: dict[str, dict[str, Any]] = {
    "emoji": {"bytes_hex": ["f09f", "9088", "e29d", "a4efb88f", "20c3", "a9"]},
    "invalid": {"bytes_hex": ["61", "ff", "62", "c3"]},
    "stop": {"pieces": ["one", " STO", "P two", " three"]},
    "near": {"pieces": ["ST", "ST", "O", "x", " end"]},
    "call": {"pieces": ["Let me look. ", *CALL]},
    "special": {"pieces": ["a", "<secret>", "b"]},
}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scripts")


@pytest.fixture(scope="module", params=ANSWERS)
def scripted(request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[str, Server]]:
    name: str = request.param
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"answers": [ANSWERS[name]], "special_pieces": ["<secret>"]}))
    with serving("demo", "--model-runner", "script", "--script", str(file), "--tool-call-parser", "hermes") as it:
        yield name, it


def _ask(server: Server, **extra: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """One answer whole, and the same streamed."""
    body = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 300} | extra
    whole = server.post("/v1/chat/completions", body)
    assert whole.status_code == 200, whole.text
    return whole.json()["choices"][0], server.chunks("/v1/chat/completions", body)


def _finish(chunks: list[dict[str, Any]]) -> list[str]:
    reasons = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]]
    return [reason for reason in reasons if reason]


def _joined_call(chunks: list[dict[str, Any]]) -> tuple[str, str, str]:
    fragments = [c for k in chunks for c in k["choices"][0]["delta"].get("tool_calls", ())]
    assert {fragment["index"] for fragment in fragments} == {0}
    (call_id,) = [f["id"] for f in fragments if "id" in f]
    names = "".join(f["function"].get("name", "") for f in fragments)
    return call_id, names, "".join(f["function"].get("arguments", "") for f in fragments)


def test_streamed_equals_whole(scripted: tuple[str, Server]) -> None:
    name, server = scripted
    checks = {
        "emoji": _emoji,
        "invalid": _invalid,
        "stop": _stop,
        "near": _near,
        "call": _call,
        "special": _special,
    }
    checks[name](server)


def _emoji(server: Server) -> None:
    choice, chunks = _ask(server)
    assert choice["message"]["content"] == text_of(chunks) == "\U0001f408\u2764\ufe0f \u00e9"
    assert not any("\ufffd" in text_of([chunk]) for chunk in chunks)


def _invalid(server: Server) -> None:
    choice, chunks = _ask(server)
    assert choice["message"]["content"] == text_of(chunks) == "a\ufffdb\ufffd"


def _stop(server: Server) -> None:
    choice, chunks = _ask(server, stop=["STOP"])
    assert choice["message"]["content"] == text_of(chunks) == "one "
    assert choice["finish_reason"] == "stop"
    assert choice["stop_reason"] == "STOP"
    assert _finish(chunks) == ["stop"]
    choice, chunks = _ask(server, stop=["STOP"], include_stop_str_in_output=True)
    assert choice["message"]["content"] == text_of(chunks) == "one STOP"


def _near(server: Server) -> None:
    choice, chunks = _ask(server, stop=["STOP"])
    assert choice["message"]["content"] == text_of(chunks) == "STSTOx end"
    assert choice["stop_reason"] is None
    # Only what could begin the stop is held back: the second ST lets the first go.
    assert text_of(chunks[1:2]) == "ST"


def _call(server: Server) -> None:
    choice, chunks = _ask(server, tools=TOOLS)
    message = choice["message"]
    assert message["content"].strip() == text_of(chunks).strip() == "Let me look."
    (call,) = message["tool_calls"]
    assert call["function"]["name"] == "weather"
    assert json.loads(call["function"]["arguments"]) == {"city": 'Zo\u00eb\u2019s "town"', "days": 3}
    assert choice["finish_reason"] == "tool_calls"
    assert _finish(chunks) == ["tool_calls"]
    call_id, name, arguments = _joined_call(chunks)
    assert call_id.startswith("call_")
    assert (name, arguments) == ("weather", call["function"]["arguments"])
    # Without tools nothing is parsed: the text is the text.
    choice, chunks = _ask(server)
    assert choice["message"]["content"] == text_of(chunks) == "Let me look. " + CALL
    assert "tool_calls" not in choice["message"]


def test_a_clamped_max_tokens_is_told(sim: Server) -> None:
    body = {"model": "demo", "messages": [{"role": "user", "content": "x"}], "max_tokens": 5}
    assert "overt-effects" not in sim.post("/v1/chat/completions", body).headers
    limit = sim.client.get("/v1/models").json()["data"][0]["max_model_len"]
    with sim.client.stream("POST", "/v1/chat/completions", json=body | {"max_tokens": 10**6, "stream": True}) as it:
        effects = it.headers["overt-effects"]
    applied = int(effects.removeprefix('"max_tokens";e=adapted;applied='))
    assert limit - 100 < applied < limit


def _special(server: Server) -> None:
    choice, chunks = _ask(server)
    assert choice["message"]["content"] == text_of(chunks) == "ab"
    choice, chunks = _ask(server, skip_special_tokens=False)
    assert choice["message"]["content"] == text_of(chunks) == "a<secret>b"
