"""Statuses, headers and the error shape of every route, malformed HTTP included."""

import json
import select
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.fake import FakeFront, post, read_all, read_until, running, split, state_of, unchunked, until
from overt.api.app import create_app
from overt.api.protocol import MAX_HEAD_BYTES
from overt.contract.limits import DEFAULTS, Limits

CHAT = {"messages": [{"role": "user", "content": "hi"}]}
PATH = "/v1/chat/completions"


def error_of(body: bytes) -> dict[str, Any]:
    document = json.loads(body)
    assert list(document) == ["error"]
    error: dict[str, Any] = document["error"]
    assert list(error) == ["message", "type", "param", "code"]
    assert isinstance(error["message"], str)
    return error


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET http:// HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET http://x:port/ HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nhost: x\r\n\r\n",
        b"CONNECT example.org:443 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nbroken header\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: abc\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_malformed_http_has_the_error_shape(request_bytes: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with running() as server:
        status, headers, body = split(server.exchange(request_bytes))
        assert status == 400
        assert headers["content-type"] == "application/json"
        assert headers["connection"] == "close"
        assert error_of(body)["code"] == "invalid_http"
        assert len(headers["x-request-id"]) == 32
        assert split(server.exchange(b"GET /live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))[0] == 200
    assert "Traceback" not in caplog.text


def test_a_broken_body_is_answered_and_frees_its_request() -> None:
    with running() as server:
        head = f"POST {PATH} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n".encode()
        status, _, body = split(server.exchange(head + b"5\r\nhello\r\nzz\r\n"))
        assert status == 400
        assert error_of(body)["code"] == "invalid_http"
        until(lambda: server.state.answers[PATH, 499] == 1)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("GET / HTTP/1.1\r\nx-request-id: mine\r\nhost: x\r\nbroken header\r\n\r\n", ""),
        ("GET http:// HTTP/1.1\r\nx-request-id: mine\r\n\r\n", ""),
        (f"POST {PATH} HTTP/1.1\r\nx-request-id: mine\r\ntransfer-encoding: chunked\r\n\r\n", "zz\r\n"),
        ("GET /nowhere HTTP/1.1\r\nx-request-id: mine\r\nconnection: close\r\n\r\n", ""),
        ("GET /metrics HTTP/1.1\r\nx-request-id: mine\r\nconnection: close\r\n\r\n", ""),
        ("GET /docs HTTP/1.1\r\nx-request-id: mine\r\nconnection: close\r\n\r\n", ""),
        ("GET /openapi.json HTTP/1.1\r\nx-request-id: mine\r\nconnection: close\r\n\r\n", ""),
        (f"GET {PATH} HTTP/1.1\r\nx-request-id: mine\r\nconnection: close\r\n\r\n", ""),
    ],
)
def test_the_client_s_request_id_comes_back_whatever_happens(head: str, body: str) -> None:
    with running() as server:
        # Behind another request, whose id it is not.
        first = b"GET /live HTTP/1.1\r\nx-request-id: first\r\n\r\n"
        with server.connect() as connection:
            connection.sendall(first)
            seen = read_until(connection, b"}")
            assert split(seen)[1]["x-request-id"] == "first"
            connection.sendall((head + body).encode())
            assert split(read_all(connection))[1]["x-request-id"] == "mine"
            assert len(split(server.exchange(b"junk\r\n\r\n"))[1]["x-request-id"]) == 32


def test_a_junk_host_is_no_fault_of_the_server() -> None:
    with running() as server:
        for host in (b"[", b"x:y", b"a/b?c#d", b"\xff"):
            request = b"GET /nowhere HTTP/1.1\r\nhost: %b\r\nconnection: close\r\n\r\n" % host
            assert split(server.exchange(request))[0] == 404


def test_garbage_behind_a_request_does_not_touch_its_answer() -> None:
    with running() as server, server.connect() as connection:
        connection.sendall(post(PATH, CHAT | {"stream": True}) + b"garbage")
        until(lambda: server.front.requests)
        request = server.front.requests[0]
        request.frame("a", status=200)
        seen = read_until(connection, b"data: a\n\n")
        connection.sendall(b"more garbage")
        request.frame("[DONE]", ended=True)
        seen += read_all(connection)
    assert unchunked(split(seen)[2]) == b"data: a\n\ndata: [DONE]\n\n"


def test_endless_headers_are_refused() -> None:
    with running() as server, server.connect() as connection:
        connection.sendall(b"GET /live HTTP/1.1\r\nhost: x\r\nlong: ")
        for _ in range(20):
            connection.sendall(b"a" * (MAX_HEAD_BYTES // 8))
            # Bytes that the server has not read when it closes would cost the answer.
            if select.select([connection], [], [], 0.1)[0]:
                break
        status, _, body = split(read_until(connection, b"}}"))
        assert status == 431
        assert error_of(body)["code"] == "headers_too_large"


def test_a_client_that_leaves_in_its_body_is_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    with running() as server:
        with server.connect() as connection:
            connection.sendall(post(PATH, CHAT)[:-5])
            until(lambda: server.state.dispatcher is not None)
        until(lambda: server.state.answers[PATH, 499] == 1)
        assert server.front.requests == []
    assert caplog.text == ""


def test_a_body_may_come_in_pieces_and_behind_expect() -> None:
    with running() as server, server.connect() as connection:
        server.front.respond = lambda request: request.whole(200, {"ok": 1})
        head, _, body = post(PATH, CHAT, headers="expect: 100-continue\r\n", close=True).partition(b"\r\n\r\n")
        connection.sendall(head + b"\r\n\r\n")
        assert read_until(connection, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body[:7])
        connection.sendall(body[7:])
        assert split(read_all(connection))[0] == 200


def client(**settings: Any) -> TestClient:
    front = FakeFront()
    front.respond = lambda request: request.whole(200, {"model": request.params.model})
    return TestClient(create_app(state_of(front, **settings)), raise_server_exceptions=False)


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/nowhere", 404, None),
        ("POST", "/v1/chat/completions/", 404, None),
        ("GET", PATH, 405, "POST"),
        ("DELETE", "/v1/completions", 405, "POST"),
        ("POST", "/health", 405, "GET"),
        ("GET", "/v1/models/other/name", 404, None),
    ],
)
def test_paths_and_methods(method: str, path: str, status: int, allow: str | None) -> None:
    with client() as http:
        answer = http.request(method, path)
        assert answer.status_code == status
        assert answer.headers.get("allow") == allow
        assert len(answer.headers["x-request-id"]) == 32
        assert error_of(answer.content)["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "application/json"}, 200),
        ({"content-type": "application/json; charset=UTF-8"}, 200),
        ({"content-type": "application/vnd.api+json"}, 200),
        ({}, 200),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "application/json; charset=latin-1"}, 415),
        ({"content-type": "application/json", "content-encoding": "gzip"}, 415),
    ],
)
def test_content_types(headers: dict[str, str], status: int) -> None:
    with client() as http:
        answer = http.post(PATH, content=json.dumps(CHAT).encode(), headers=headers)
        assert answer.status_code == status
        if status != 200:
            assert error_of(answer.content)["code"] == "unsupported_media_type"


def test_the_operator_bounds_bodies() -> None:
    with client(limits=Limits(max_body_bytes=100, max_n=3)) as http:
        assert http.post(PATH, json=CHAT | {"n": 3}).status_code == 200
        answer = http.post(PATH, json=CHAT | {"user": "x" * 100})
        assert answer.status_code == 413
        assert "100 bytes" in error_of(answer.content)["message"]
        assert error_of(http.post(PATH, json=CHAT | {"n": 4}).content)["param"] == "n"


def test_bodies_that_are_too_large() -> None:
    with client() as http:
        answer = http.post(PATH, content=b" " * (DEFAULTS.max_body_bytes + 1))
        assert answer.status_code == 413
        assert error_of(answer.content)["code"] == "body_too_large"

        def pieces() -> Any:
            for _ in range(DEFAULTS.max_body_bytes // 2**20 + 1):
                yield b" " * 2**20

        assert http.post(PATH, content=pieces()).status_code == 413


def test_model_names() -> None:
    with client(model="org/tiny") as http:
        assert [card["id"] for card in http.get("/v1/models").json()["data"]] == ["tiny", "org/tiny"]
        assert http.get("/v1/models/org/tiny").json()["max_model_len"] == 64
        assert http.post(PATH, json=CHAT).json() == {"model": "tiny"}
        assert http.post(PATH, json=CHAT | {"model": "org/tiny"}).json() == {"model": "org/tiny"}
        answer = http.post(PATH, json=CHAT | {"model": "gpt"})
        assert answer.status_code == 404
        error = error_of(answer.content)
        assert (error["code"], error["param"]) == ("model_not_found", "model")
        assert "`tiny`" in error["message"]


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("overt-strict", "1", 200),
        ("overt-strict", "2", 400),
        ("overt-profile", "vllm", 200),
        ("overt-profile", "tgi", 400),
        ("x-data-parallel-rank", "1", 400),
        ("x-data-parallel-rank", "0", 200),
    ],
)
def test_headers_that_would_change_the_serving(name: str, value: str, status: int) -> None:
    with client() as http:
        answer = http.post(PATH, json=CHAT, headers={name: value})
        assert answer.status_code == status
        if status == 400:
            assert error_of(answer.content)["param"] == name


def test_effects_and_request_ids_are_told() -> None:
    with client() as http:
        body = CHAT | {"model": "tiny"}
        answer = http.post(PATH, json=body | {"temprature": 1}, headers={"x-request-id": "abc-1"})
        assert answer.headers["overt-effects"] == '"temprature";e=inert;nearest="temperature"'
        assert answer.headers["x-request-id"] == "abc-1"
        answer = http.post(PATH, json=body, headers={"x-request-id": "not usable"})
        assert answer.headers["overt-effects"] == '"x-request-id";e=inert'
        answer = http.post(PATH, json=body)
        assert "overt-effects" not in answer.headers
        assert len(answer.headers["x-request-id"]) == 32
        assert http.get("/live", headers={"x-request-id": "abc-2"}).headers["x-request-id"] == "abc-2"


class PanicException(BaseException):
    """What a panic of the core becomes in Python."""


@pytest.mark.parametrize("fault", [RuntimeError, PanicException])
def test_a_fault_of_the_server_tells_no_internals(fault: type[BaseException]) -> None:
    front = FakeFront()

    def fail(_: Any) -> None:
        raise fault("secret /path")

    front.respond = fail
    with TestClient(create_app(state_of(front)), raise_server_exceptions=False) as http:
        answer = http.post(PATH, json=CHAT)
        assert answer.status_code == 500
        assert error_of(answer.content)["code"] == "internal_error"
        assert "secret" not in answer.text
        assert front.aborted == [1]


def test_health_and_its_like() -> None:
    front = FakeFront()
    state = state_of(front)
    with TestClient(create_app(state)) as http:
        for path in ("/health", "/ping", "/live", "/ready"):
            assert http.get(path).status_code == 200
        assert http.get("/version").json() == {"version": "1.2.3"}
        state.draining = True
        assert http.get("/ready").status_code == 503
        assert http.get("/health").status_code == 200
        front.healthy = (False, "The engine process is gone.")
        answer = http.get("/health")
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert error_of(answer.content)["message"] == "The engine process is gone."
        assert http.get("/live").status_code == 200


def test_tokenize_and_detokenize() -> None:
    with client() as http:
        answer = http.post("/tokenize", json={"prompt": "abc"})
        assert answer.json() == {"count": 3, "max_model_len": 64, "tokens": [3, 1, -1], "token_strs": None}
        answer = http.post(
            "/tokenize",
            json=CHAT | {"add_generation_prompt": False, "add_special_tokens": True, "return_token_strs": True},
        )
        assert answer.json()["tokens"][1:] == [0, 1]
        assert answer.json()["token_strs"][1:] == ["<0>", "<1>"]
        # Beside a text they change nothing, and that is told.
        body: dict[str, Any] = {"model": "tiny", "prompt": "abc", "tools": [], "add_generation_prompt": True}
        answer = http.post("/tokenize", json=body)
        assert answer.headers["overt-effects"] == '"add_generation_prompt";e=inert, "tools";e=inert'
        wrong: list[dict[str, Any]] = [CHAT | {"prompt": "x"}, {"prompt": 5}, {"prompt": "forbidden"}, {}]
        for body in [*wrong, {"messages": []}]:
            answer = http.post("/tokenize", json=body)
            assert answer.status_code == 400, body
            assert error_of(answer.content)["param"] in ("prompt", "messages")
        assert http.post("/detokenize", json={"tokens": [1, 2]}).json() == {"prompt": "1 2"}
        answer = http.post("/detokenize", json={"tokens": [1, -2]})
        assert error_of(answer.content)["param"] == "tokens[1]"


def test_what_the_core_changes_is_told_of_tokens_too() -> None:
    body = {"model": "tiny", "messages": [{"role": "user", "content": "<special>"}]}
    with client() as http:
        answer = http.post("/tokenize", json=body)
        assert answer.headers["overt-effects"] == '"messages[0].content";e=adapted;applied="special tokens"'
        assert 'effect="adapted",field="messages"' in http.get("/metrics").text
        strict = http.post("/tokenize", json=body, headers={"overt-strict": "1"})
        assert (strict.status_code, error_of(strict.content)["code"]) == (400, "not_honoured")
        assert "<special>" in error_of(strict.content)["message"]


def test_metrics() -> None:
    with client() as http:
        http.post(PATH, json=CHAT)
        http.get("/nowhere")
        text = http.get("/metrics").text
    for line in (
        "overt:requests_running 1.0",
        "overt:requests_waiting 2.0",
        "overt:kv_blocks_total 9.0",
        "overt:prompt_tokens_total 10.0",
        "overt:prefix_cache_queries_total 7.0",
        "overt:prefix_cache_hits_total 5.0",
        "overt:preemptions_total 0.0",
        'overt:time_to_first_token_seconds_bucket{le="1.0"} 3.0',
        'overt:time_to_first_token_seconds_bucket{le="+Inf"} 4.0',
        "overt:time_to_first_token_seconds_count 4.0",
        "overt:time_to_first_token_seconds_sum 3.5",
        'overt:http_answers_total{route="/v1/chat/completions",status="200"} 1.0',
        'overt:http_answers_total{route="unmatched",status="404"} 1.0',
    ):
        assert line in text.splitlines(), line


def test_openapi_describes_the_bodies() -> None:
    with client() as http:
        document = http.get("/openapi.json").json()
    body = document["paths"][PATH]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["required"] == ["messages"]
    assert body["properties"]["n"]["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 128}
    assert "include_usage" in json.dumps(body["properties"]["stream_options"])
    assert "$defs" not in json.dumps(document)


def test_a_seeded_server_gives_its_seeds_in_order() -> None:
    def seeds() -> list[int]:
        front = FakeFront()
        front.respond = lambda request: request.whole(200, {})
        with TestClient(create_app(state_of(front, seed=7))) as http:
            for body in (CHAT, CHAT, CHAT | {"seed": 5}):
                http.post(PATH, json=body)
        return [request.params.seed for request in front.requests]

    first = seeds()
    assert first == seeds()
    assert first[2] == 5
    assert first[0] != first[1]
