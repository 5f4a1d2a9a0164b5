"""Routes and guards for operators: keys, load, probes, the peers' metrics, CORS."""

import json
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.fake import FakeFront, post, running, split, state_of
from overt.api.app import create_app
from overt.api.hot import HotRoute
from overt.api.ops.keys import OPEN, Keys
from overt.contract.errors import ApiError

CHAT = {"messages": [{"role": "user", "content": "hi"}]}
PATH = "/v1/chat/completions"
GUARD: dict[str, Any] = {"api_key": ("k1", "other-key")}
GOOD = [
    {"authorization": "Bearer k1"},
    {"authorization": "bearer  k1"},
    {"x-api-key": "k1"},
    {"x-api-key": "other-key"},
]
BAD = [
    {},
    {"authorization": "Bearer k2"},
    {"authorization": "Bearer k1x"},
    {"authorization": "Bearer k"},
    {"authorization": "Bearer "},
    {"authorization": "Basic k1"},
    {"authorization": "k1"},
    {"x-api-key": ""},
    {"x-api-key": "Bearer k1"},
    {"cookie": "k1"},
]


def client(front: FakeFront | None = None, **settings: Any) -> TestClient:
    front = front or FakeFront()
    front.respond = lambda request: request.whole(200, {"protocol": request.protocol})
    return TestClient(create_app(state_of(front, **settings)), raise_server_exceptions=False)


def routes() -> list[tuple[str, str]]:
    app = create_app(state_of(FakeFront()))
    found = []
    for route in app.routes:
        path = str(getattr(route, "path", "")).replace("{model:path}", "tiny")
        found += [(method, path) for method in sorted(getattr(route, "methods", ()) or ()) if path]
    return found


def test_the_matrix_below_knows_every_route() -> None:
    paths = {path for _, path in routes()}
    assert paths >= OPEN | {PATH, "/v1/completions", "/v1/models", "/v1/models/tiny", "/tokenize", "/detokenize"}
    assert paths >= {"/invocations", "/health_generate", "/load", "/metrics", "/docs", "/openapi.json"}


@pytest.mark.parametrize("root", ["", "/x"])
def test_every_route_but_five_needs_a_key(root: str) -> None:
    with client(**GUARD, root_path="/x") as http:
        for method, path in [*routes(), ("GET", "/nowhere"), ("OPTIONS", PATH), ("OPTIONS", "/nowhere")]:
            for headers in BAD:
                answer = http.request(method, root + path, headers=headers)
                if path in OPEN:
                    assert answer.status_code in (200, 405), (method, path)
                    continue
                assert answer.status_code == 401, (method, path, headers)
                assert answer.headers["www-authenticate"] == "Bearer"
                assert answer.headers["x-request-id"]
                error = json.loads(answer.content)["error"] if method != "HEAD" else {"code": "invalid_api_key"}
                assert error["code"] == "invalid_api_key"
                assert "k1" not in answer.text
            for headers in GOOD:
                assert http.request(method, root + path, headers=headers).status_code != 401, (method, path, headers)


def test_without_keys_there_is_no_guard() -> None:
    with client() as http:
        assert http.get("/v1/models").status_code == 200
        assert http.get("/v1/models", headers={"authorization": "Bearer none"}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "//v1/models",
        "/v1/../v1/models",
        "/health/../v1/models",
        "/v1/models/",
        "/%76%31/models",
        "/V1/models",
        "/health/",
        "//health",
        "/HEALTH",
        "/health%2f",
        "/health%00",
        "/health;/v1/models",
        "/health%3f",
        "/ping/../v1/models",
        "/./v1/models",
        "/x/../v1/models",
        "/xv1/models",
        "/x//v1/models",
        "/x/x/v1/models",
        "/x/x/health",
        "/x",
        "/x/",
        "*",
        "http://elsewhere/v1/models",
        "http://elsewhere//v1/models",
        "/v1/models?/health",
        "/v1/models#/health",
    ],
)
def test_odd_spellings_do_not_pass_the_guard(path: str) -> None:
    with running(**GUARD, root_path="/x") as server:
        method = "OPTIONS" if path == "*" else "GET"
        request = f"{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode()
        status, _, body = split(server.exchange(request))
        assert status in (400, 401)
        assert b"tiny" not in body


def test_a_refused_body_is_not_read_and_the_connection_goes_on() -> None:
    with running(**GUARD) as server, server.connect() as connection:
        connection.sendall(post(PATH, CHAT))
        answer = b""
        while not answer.endswith(b"}}"):
            answer += connection.recv(65536)
        assert split(answer)[0] == 401
        server.front.respond = lambda request: request.whole(200, {})
        connection.sendall(post(PATH, CHAT, headers="x-api-key: k1\r\n", close=True))
        assert split(connection.recv(65536))[0] == 200
        assert len(server.front.requests) == 1
        assert server.state.answers[PATH, 401] == 1


def test_the_key_s_hash_is_its_share() -> None:
    keys = Keys(("k1", "k2"))
    first = keys.share([(b"authorization", b"Bearer k1")])
    assert first == Keys(("k1",)).share([(b"x-api-key", b"k1")])
    assert first != keys.share([(b"x-api-key", b"k2")])
    assert "k1" not in first
    assert len(first) == 16
    # One of the two is enough: SDKs send a key that stands for none.
    assert keys.share([(b"authorization", b"Bearer none"), (b"x-api-key", b"k2")])
    with pytest.raises(ApiError) as caught:
        keys.share([])
    assert caught.value.status == 401
    assert not Keys(())


def test_metrics_may_be_open() -> None:
    with client(**GUARD, open_metrics=True) as http:
        assert http.get("/metrics").status_code == 200
        assert http.get("/load").status_code == 401
    with client(**GUARD) as http:
        assert http.get("/metrics").status_code == 401


def test_a_root_path_serves_every_route_twice() -> None:
    with client(root_path="/x") as http:
        for prefix in ("", "/x"):
            assert http.get(f"{prefix}/v1/models").status_code == 200
            answer = http.post(f"{prefix}{PATH}", json=CHAT)
            assert answer.json() == {"protocol": "chat"}
            assert len(answer.headers.get_list("x-request-id")) == 1
        assert http.get("/y/v1/models").status_code == 404
        assert http.get("/x/x/v1/models").status_code == 404
        assert f'route="{PATH}",status="200"}} 2.0' in http.get("/x/metrics").text


def test_browsers_may_call_where_their_origin_is_allowed() -> None:
    ask = {"origin": "https://page", "access-control-request-method": "POST"}
    with client(**GUARD, allowed_origins=["https://page"]) as http:
        answer = http.options(PATH, headers=ask)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://page"
        assert http.options(PATH, headers=ask | {"origin": "https://other"}).status_code == 400
        # A refusal, too, is for the page to read; a preflight opens nothing.
        answer = http.post(PATH, json=CHAT, headers={"origin": "https://page"})
        assert answer.status_code == 401
        assert answer.headers["access-control-allow-origin"] == "https://page"
        answer = http.post(PATH, json=CHAT, headers={"origin": "https://page", "x-api-key": "k1"})
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in http.get("/health").headers
    with client() as http:
        assert "access-control-allow-origin" not in http.get("/health", headers={"origin": "https://page"}).headers


def test_invocations_answers_as_the_body_asks() -> None:
    with client() as http:
        assert http.post("/invocations", json=CHAT).json() == {"protocol": "chat"}
        assert http.post("/invocations", json={"prompt": "a"}).json() == {"protocol": "completions"}
        for raw in (b"", b"{", b"[]", b"5", b'{"x":1}', b"[" * 100_000, b"\xff"):
            answer = http.post("/invocations", content=raw)
            assert answer.status_code == 400, raw[:20]
            assert answer.json()["error"]["type"] == "invalid_request_error"
        assert http.get("/invocations").status_code == 405
        assert http.post("/ping").status_code == http.get("/ping").status_code == 200
        assert http.delete("/ping").headers["allow"] == "GET, POST"


def test_a_probe_is_answered_by_the_model() -> None:
    front = FakeFront()
    with client(front) as http:
        assert http.get("/health_generate").json() == {"status": "ok"}
        front.probe_status = 500
        answer = http.get("/health_generate")
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        front.healthy = (False, "The engine process is gone.")
        assert http.get("/health_generate").status_code == 503
    assert len(front.probes) == 2


def test_a_probe_without_a_token_is_given_up() -> None:
    front = FakeFront()
    front.probe_status = None
    with client(front, health_generate_timeout=0.05) as http:
        begun = time.monotonic()
        answer = http.get("/health_generate")
        assert answer.status_code == 503
        assert "0.05 s" in answer.json()["error"]["message"]
        assert time.monotonic() - begun < 5
        assert http.get("/health").status_code == 200
    assert front.aborted == front.probes


def test_load_counts_what_is_being_answered() -> None:
    with running() as server, server.connect() as connection:
        assert load_of(server) == 0
        connection.sendall(post(PATH, CHAT | {"stream": True}))
        deadline = time.monotonic() + 10
        while load_of(server) != 1:
            assert time.monotonic() < deadline
        connection.close()
        while load_of(server) != 0:
            assert time.monotonic() < deadline
        assert server.state.answers[PATH, 499] == 1


def load_of(server: Any) -> int:
    status, _, body = split(server.exchange(b"GET /load HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
    assert status == 200
    document = json.loads(body)
    assert document == document | {"requests_running": 1, "requests_waiting": 2, "kv_cache_usage_perc": 0.3333}
    load: int = document["server_load"]
    return load


@pytest.mark.parametrize("stream", [False, True])
def test_the_load_comes_with_an_answer_that_asks_for_it(stream: bool) -> None:
    told = {
        "TEXT": "TEXT named_metrics.kv_cache_usage_perc=0.3333, named_metrics.num_requests_waiting=2",
        "json": 'JSON {"named_metrics": {"kv_cache_usage_perc": 0.3333, "num_requests_waiting": 2}}',
    }
    with running() as server:
        if stream:
            server.front.respond = lambda request: request.frame("[DONE]", ended=True, status=200)
        else:
            server.front.respond = lambda request: request.whole(200, {})
        for asked, header in told.items():
            line = f"endpoint-load-metrics-format: {asked}\r\n"
            status, headers, _ = split(server.exchange(post(PATH, CHAT | {"stream": stream}, headers=line, close=True)))
            assert status == 200
            assert headers["endpoint-load-metrics"] == header.lower()
        wrong = post(PATH, CHAT, headers="endpoint-load-metrics-format: XML\r\n", close=True)
        status, headers, body = split(server.exchange(wrong))
        assert status == 400
        assert json.loads(body)["error"]["param"] == "endpoint-load-metrics-format"
        assert "endpoint-load-metrics" not in headers
        assert "endpoint-load-metrics" not in split(server.exchange(post(PATH, CHAT, close=True)))[1]


def test_effects_and_the_peers_names_are_counted() -> None:
    with client(metrics_compat=("vllm", "sglang")) as http:
        http.app.state.overt.effects["max_tokens", "adapted"] += 3  # type: ignore[attr-defined]
        lines = http.get("/metrics").text.splitlines()
    for line in (
        'overt:field_effects_total{effect="adapted",field="max_tokens"} 3.0',
        'vllm:num_requests_running{engine="0",model_name="tiny"} 1.0',
        'vllm:num_requests_waiting{engine="0",model_name="tiny"} 2.0',
        'vllm:kv_cache_usage_perc{engine="0",model_name="tiny"} 0.3333',
        'vllm:prompt_tokens_total{engine="0",model_name="tiny"} 10.0',
        'vllm:generation_tokens_total{engine="0",model_name="tiny"} 20.0',
        'vllm:prefix_cache_hits_total{engine="0",model_name="tiny"} 5.0',
        'vllm:time_to_first_token_seconds_count{engine="0",model_name="tiny"} 4.0',
        'sglang:num_running_reqs{engine_type="unified",model_name="tiny"} 1.0',
        'sglang:num_queue_reqs{engine_type="unified",model_name="tiny"} 2.0',
        'sglang:token_usage{engine_type="unified",model_name="tiny"} 0.3333',
        'sglang:cached_tokens_total{engine_type="unified",model_name="tiny"} 5.0',
        'sglang:inter_token_latency_seconds_sum{engine_type="unified",model_name="tiny"} 0.02',
    ):
        assert line in lines, line
    with client() as http:
        assert "vllm:" not in http.get("/metrics").text


def test_the_vllm_profile_tells_ids_only_when_asked() -> None:
    for settings, told in (
        ({}, True),
        ({"profile": "vllm"}, False),
        ({"profile": "vllm", "request_id_headers": True}, True),
    ):
        with client(**settings, **GUARD) as http:
            good = {"x-api-key": "k1"}
            answers = [http.get("/health"), http.get("/v1/models"), http.get("/nowhere", headers=good)]
            answers += [http.post(PATH, json=CHAT, headers=good), http.post(PATH, content=b"{", headers=good)]
            assert [("x-request-id" in answer.headers) for answer in answers] == [told] * 5


@pytest.mark.parametrize(("profile", "code"), [("overt", "not_found"), ("vllm", 404), ("sglang", 404)])
def test_every_error_has_the_profile_s_shape(profile: str, code: Any) -> None:
    with client(**GUARD, profile=profile) as http:
        good = {"x-api-key": "k1"}
        for answer in (
            http.get("/nowhere", headers=good),
            http.get("/v1/models"),
            http.delete("/health"),
            http.get(PATH, headers=good),
            http.post("/invocations", content=b"{", headers=good),
            http.post("/tokenize", content=b"{", headers=good),
        ):
            document = answer.json()
            error = document if profile == "sglang" else document["error"]
            assert error["message"]
            assert isinstance(error["code"], int) == (profile != "overt")
            if profile == "overt":
                assert list(document) == ["error"]
                assert list(error) == ["message", "type", "param", "code"]
        assert (document if profile == "sglang" else document["error"])["code"] in (400, None)
        first = http.get("/nowhere", headers=good).json()
        assert (first if profile == "sglang" else first["error"])["code"] == code
        # A request's own profile decides over its errors, wherever they come from.
        own = {**good, "overt-profile": "sglang", "content-type": "text/plain"}
        for path in (PATH, "/invocations", "/tokenize"):
            assert http.post(path, content=b"{}", headers=own).json()["code"] == 415
    with running(profile="vllm") as server:
        status, headers, body = split(server.exchange(b"nonsense\r\n\r\n"))
        assert (status, json.loads(body)["error"]["code"]) == (400, 400)
        assert "x-request-id" not in headers


def test_hot_routes_are_counted_down_whatever_happens() -> None:
    front = FakeFront()

    def fail(_: Any) -> None:
        raise RuntimeError("secret")

    state = state_of(front)
    with TestClient(create_app(state), raise_server_exceptions=False) as http:
        front.respond = fail
        assert http.post(PATH, json=CHAT).status_code == 500
        assert http.post(PATH, content=b"{").status_code == 400
        assert http.get(PATH).status_code == 405
    assert state.in_flight == 0
    assert any(isinstance(route, HotRoute) for route in create_app(state).routes)


def test_requests_share_the_engine_by_their_key_s_hash() -> None:
    seen: list[Any] = []
    front = FakeFront()
    front.respond = lambda request: request.whole(200, {})
    app = create_app(state_of(front, **GUARD))
    with TestClient(app) as http:
        inner = app.middleware_stack

        async def spy(scope: Any, receive: Any, send: Any) -> None:
            assert inner is not None
            await inner(scope, receive, send)
            seen.append(scope.get("overt.key"))

        app.middleware_stack = spy
        http.post(PATH, json=CHAT, headers={"x-api-key": "k1"})
        http.get("/health", headers={"x-api-key": "k1"})
    share = Keys(("k1",)).share([(b"x-api-key", b"k1")])
    # An open route looks at no key.
    assert seen[-2:] == [share, None]
    assert front.requests[0].params.key == share
    assert "k1" not in repr(front.requests[0].params)


def test_requests_are_counted_by_user_under_a_hash_where_the_operator_wants_it() -> None:
    def counted(**settings: Any) -> list[str]:
        with client(**settings) as http:
            for user in ("alice@example.com", "alice@example.com", "bob", None):
                assert http.post(PATH, json=CHAT | {"user": user}).status_code == 200
            text = http.get("/metrics").text
        assert "alice" not in text
        return sorted(line for line in text.splitlines() if line.startswith("overt:user_requests_total"))

    assert counted() == []
    first, second = counted(metrics_user_secret="s"), counted(metrics_user_secret="t")
    assert [line.rpartition(" ")[2] for line in first] in (["1.0", "2.0"], ["2.0", "1.0"])
    assert first == counted(metrics_user_secret="s")
    assert not set(first) & set(second)
