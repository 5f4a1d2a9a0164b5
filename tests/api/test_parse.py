"""The parsers over HTTP: /v1/parse, and SGLang's two routes."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.fake import FakeFront, state_of
from overt import parsers
from overt.api.app import create_app

CALL = '<tool_call>\n{"name": "g", "arguments": {"x": [1]}}\n</tool_call>'
TOOLS: list[dict[str, Any]] = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]
PATHS = ("/v1/parse", "/parse_function_call", "/separate_reasoning")


def client(**reading: Any) -> TestClient:
    front = FakeFront()
    front.reading = json.dumps(json.loads(front.reading) | reading).encode()
    return TestClient(create_app(state_of(front)), raise_server_exceptions=False)


@pytest.fixture(scope="module")
def http() -> TestClient:
    return client()


def test_a_text_is_read_as_the_server_reads_answers(http: TestClient) -> None:
    body = {"model": "tiny", "text": f"<think>Hm.</think>So. {CALL}", "tools": TOOLS}
    told = http.post(PATHS[0], json=body).json()
    (call,) = told["tool_calls"]
    assert call["function"] == {"name": "g", "arguments": '{"x": [1]}'}
    assert (told["reasoning_content"], told["content"]) == ("Hm.", "So. ")
    assert [event["kind"] for event in told["events"]][-1] == "call_end"
    assert (told["tool_call_parser"], told["reasoning_parser"]) == ("hermes", "qwen3")


def test_special_tokens_are_pieces_of_their_own(http: TestClient) -> None:
    # To the parser the marker is text, and the token between is not.
    body = {"model": "tiny", "text": "a<|pause|>b"}
    assert http.post(PATHS[0], json=body).json()["content"] == "ab"


def test_sglang_s_forms(http: TestClient) -> None:
    body = {"model": "tiny", "text": f"<think>Hm.</think>So. {CALL}", "tools": TOOLS, "tool_call_parser": "qwen25"}
    assert http.post(PATHS[1], json=body).json() == {
        "normal_text": "So. ",
        "calls": [{"tool_index": 1, "name": "g", "parameters": '{"x": [1]}'}],
    }
    body = {"model": "tiny", "text": "<think>Hm.</think>So.", "reasoning_parser": "qwen3"}
    assert http.post(PATHS[2], json=body).json() == {"reasoning_text": "Hm.", "text": "So."}
    for path, field in ((PATHS[1], "tool_call_parser"), (PATHS[2], "reasoning_parser")):
        error = http.post(path, json={"model": "tiny", "text": "x"})
        assert (error.status_code, error.json()["error"]["param"]) == (400, field)


def test_a_format_that_only_the_server_knows_has_to_be_replaced() -> None:
    http = client(tool_call_parser="response_template", reasoning_parser="response_template")
    body: dict[str, Any] = {"model": "tiny", "text": CALL, "tools": TOOLS}
    error = http.post(PATHS[0], json=body)
    assert (error.status_code, error.json()["error"]["param"]) == (400, "tool_call_parser")
    named = body | {"tool_call_parser": "hermes", "reasoning_parser": "none"}
    assert len(http.post(PATHS[0], json=named).json()["tool_calls"]) == 1


@pytest.mark.parametrize("kind", ["tool_call_parser", "reasoning_parser"])
def test_every_name_reads(http: TestClient, kind: str) -> None:
    names = parsers.names().tool if kind == "tool_call_parser" else parsers.names().reasoning
    assert len(names) > 20
    for name in names:
        answer = http.post(PATHS[0], json={"model": "tiny", "text": "So.", "tools": TOOLS, kind: name})
        assert (answer.status_code, answer.json().get(kind)) == (200, name), answer.text


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "f", "function", "auto", "none", CALL]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "function", "name", "custom", "allowed_tools", "mode", "tools", "parameters"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
_CHOICES = st.sampled_from(["required", *TOOLS, {"type": "allowed_tools", "mode": "auto", "tools": TOOLS}]) | _VALUES


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.sampled_from(PATHS),
    st.text(max_size=8) | st.sampled_from([CALL, CALL[:30], "<think>"]),
    st.sampled_from([TOOLS]) | st.lists(st.sampled_from(TOOLS) | _VALUES, max_size=3),
    _CHOICES,
    st.sampled_from(["hermes", "pythonic", "openai", None]),
)
def test_whatever_is_sent_is_read_or_refused(
    http: TestClient, path: str, text: str, tools: Any, choice: Any, parser: str | None
) -> None:
    body = {"model": "tiny", "text": text, "tools": tools, "tool_choice": choice, "tool_call_parser": parser}
    answer = http.post(path, json=body | {"reasoning_parser": "qwen3"})
    assert answer.status_code in (200, 400), answer.text
