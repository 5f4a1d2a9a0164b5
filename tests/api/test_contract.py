"""The contract over HTTP: profiles and strict mode of a request, what is told and counted, capabilities, models."""

import json
import os
from typing import Any

import jsonschema
import pytest
from fastapi.testclient import TestClient

from api.fake import FakeFront, running, state_of
from api.fake import post as raw_post
from overt.api.app import create_app
from overt.api.state import State
from overt.contract.effects import Late
from overt.contract.fields import FIELDS

CHAT: dict[str, Any] = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}
PATH = "/v1/chat/completions"


def client(**settings: Any) -> tuple[TestClient, FakeFront, State]:
    front = FakeFront()
    front.respond = lambda request: request.whole(200, {"id": request.params.id})
    state = state_of(front, **settings)
    return TestClient(create_app(state), raise_server_exceptions=False), front, state


@pytest.mark.parametrize(
    ("profile", "keys", "code"), [("openai", None, None), ("vllm", None, 400), ("sglang", "object", 400)]
)
def test_every_error_of_a_request_has_its_profile_s_shape(profile: str, keys: str | None, code: int | None) -> None:
    http, _, _ = client()
    headers = {"overt-profile": profile}
    with http:
        for path, body in (
            (PATH, CHAT | {"n": 0}),
            (PATH, CHAT | {"top_p": 2}),
            ("/v1/completions", {"model": "tiny"}),
            ("/tokenize", {"model": "tiny"}),
            ("/tokenize", {"model": "tiny", "prompt": "forbidden"}),
            ("/detokenize", {"model": "tiny", "tokens": [-1]}),
        ):
            answer = http.post(path, json=body, headers=headers)
            assert answer.status_code == 400
            error = answer.json() if keys else answer.json()["error"]
            assert error.get("object") == ("error" if keys else None)
            assert error["code"] == code or code is None
        wrong = http.post(PATH, content=b"{}", headers=headers | {"content-type": "text/plain"})
        assert wrong.status_code == 415
        assert ("object" in wrong.json()) == bool(keys)


def test_the_server_s_profile_shapes_the_errors_of_no_request() -> None:
    http, _, _ = client(profile="sglang")
    with http:
        assert http.get("/nowhere").json()["object"] == "error"
        assert http.get(PATH).json()["code"] == 405
        assert http.post(PATH, json=CHAT, headers={"overt-profile": "none"}).json()["object"] == "error"
        assert "error" in http.post(PATH, json=CHAT | {"n": 0}, headers={"overt-profile": "overt"}).json()


def test_a_request_that_the_core_refuses_gives_its_profile_to_the_core() -> None:
    http, front, _ = client()
    with http:
        http.post(PATH, json=CHAT, headers={"overt-profile": "vllm"})
        http.post(PATH, json=CHAT)
    assert [request.params.error_shape for request in front.requests] == ["vllm", "openai"]


def test_strict_requests() -> None:
    http, front, _ = client()
    with http:
        http.post(PATH, json=CHAT | {"store": True}, headers={"overt-strict": "1"})
        http.post(PATH, json=CHAT | {"store": True, "overt": {"strict": True}})
        answer = http.post("/tokenize", json={"prompt": "x", "tools": [], "zzz": 1}, headers={"overt-strict": "1"})
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["code"] == "not_honoured"
        assert "3 of its fields" in error["message"]
        for name in ("zzz", "model", "tools"):
            assert f"`{name}`" in error["message"]
        fine = {"model": "tiny", "prompt": "x", "overt": {"strict": True}}
        assert http.post("/tokenize", json=fine).status_code == 200
    assert [request.params.strict for request in front.requests] == [["`store` is inert: answers are not stored"]] * 2


def test_what_is_told_is_counted() -> None:
    http, _, state = client()
    with http:
        for _ in range(2):
            http.post(PATH, json=CHAT | {"store": True, "zzz": 1, "yyy": 2})
        http.post("/tokenize", json={"prompt": "x"})
        http.post(PATH, json=CHAT | {"store": True, "n": 0})
    assert dict(state.effects) == {("store", "inert"): 2, ("_unknown", "inert"): 4, ("model", "adapted"): 1}


def test_a_clamp_is_told_and_counted_with_the_others() -> None:
    with running() as server:
        front = server.front

        def clamp(request: Any) -> None:
            adapted: list[Late] = [("max_tokens", 7, "there is no room for more", "max_tokens")]
            with front._lock:
                front._ready.append((request.handle, True, 200, b"{}", adapted))
            os.write(front._wake, b"x")

        front.respond = clamp
        answer = server.exchange(raw_post(PATH, CHAT | {"max_tokens": 99, "store": True}, close=True))
        assert b'overt-effects: "store";e=inert, "max_tokens";e=adapted;applied=7' in answer
        assert dict(server.state.effects) == {("store", "inert"): 1, ("max_tokens", "adapted"): 1}


def test_the_body_tells_when_it_is_asked_to_or_always() -> None:
    http, front, _ = client(report="always")
    with http:
        http.post(PATH, json=CHAT | {"store": True})
    report = front.requests[0].params.report
    assert json.loads(f"[{report[0]}]")[0]["field"] == "store"
    assert json.loads(f"{{{report[1]}}}")["template"]["hash"]
    http, front, _ = client()
    with http:
        http.post(PATH, json=CHAT)
        http.post(PATH, json=CHAT | {"overt": {"report": True}})
    assert [request.params.report is None for request in front.requests] == [True, False]


def test_ids_and_keys_reach_the_core() -> None:
    http, front, _ = client(api_key=("secret",))
    with http:
        headers = {"authorization": "Bearer secret", "x-request-id": "mine"}
        assert http.post(PATH, json=CHAT, headers=headers).json() == {"id": "chatcmpl-mine"}
        answer = http.post(PATH, json=CHAT, headers={"authorization": "Bearer secret"})
        assert answer.json()["id"] == f"chatcmpl-{answer.headers['x-request-id']}"
    keys = {request.params.key for request in front.requests}
    assert len(keys) == 1
    assert keys != {None}


def test_capabilities() -> None:
    http, _, _ = client(profile="vllm")
    with http:
        document = http.get("/v1/capabilities").json()
        jsonschema.validate(document, http.get("/v1/capabilities/schema").json())
    assert document["settings"]["profile"] == "vllm"
    assert len(document["fields"]) >= len(FIELDS)
    paths = {(route["method"], route["path"]) for route in document["routes"]}
    assert {("POST", PATH), ("GET", "/v1/models/{model:path}"), ("GET", "/metrics")} <= paths
    assert not paths & {(route["method"], route["path"]) for route in document["absent_routes"]}


def test_model_cards() -> None:
    http, _, _ = client(model="org/tiny")
    with http:
        card = http.get("/v1/models").json()["data"][0]
        assert http.get("/v1/models/tiny").json() == card
        assert http.get("/v1/models/other").status_code == 404
    assert (card["id"], card["root"], card["parent"], card["owned_by"]) == ("tiny", "tiny", None, "overt")
    assert card["max_model_len"] == card["context_length"] == 64
    assert card["input_modalities"] == card["output_modalities"] == ["text"]
    assert {"temperature", "stop", "tools"} <= set(card["supported_parameters"])
    assert "suffix" not in card["supported_parameters"]


def test_what_is_refused_off_the_generating_routes_follows_the_profile_too() -> None:
    http, _, _ = client(api_key=("k",))
    with http:
        for method, path, headers, status in (
            ("GET", "/nothing", {"x-api-key": "k"}, 404),
            ("GET", "/v1/models/other", {"x-api-key": "k"}, 404),
            ("POST", "/v1/models", {"x-api-key": "k"}, 405),
            ("GET", "/v1/models", {}, 401),
        ):
            for profile, nested in (("overt", True), ("vllm", True), ("sglang", False)):
                answer = http.request(method, path, headers=headers | {"overt-profile": profile})
                assert answer.status_code == status
                assert ("error" in answer.json()) is nested
                if profile == "vllm":
                    assert answer.json()["error"]["code"] == status


def test_a_choice_of_tools_is_checked_beside_a_prompt_too() -> None:
    http, _, _ = client()
    with http:
        answer = http.post("/tokenize", json={"model": "tiny", "prompt": "x", "tool_choice": {"a": 1}})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "tool_choice")
