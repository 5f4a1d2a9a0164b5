"""Every situation in which profiles differ, under each of them: by a request's header, and by the server's flag."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from overt.contract import profiles
from serve.profile_ask import (
    CHAT,
    COMPLETIONS,
    EMBEDDINGS,
    MODEL,
    PROFILES,
    Asked,
    Case,
    ask,
    documents_of,
    error_of,
    hold,
    members,
    real,
    said,
    scripted,
    started,
    told,
)
from serve.profile_rows import ROWS, Row
from serve.server import Server

KEY = {"authorization": "Bearer sesame"}
_BODY = {"model": MODEL, "messages": said("x"), "max_tokens": 2}

ALIKE = {("max_top_logprobs", "openai"), ("max_top_logprobs", "vllm")}
"""Cells that differ on servers with --max-logprobs alone."""

FAULTS: dict[tuple[str, int, str], str] = {}
"""Where the server does not yet answer as the table has it: row, number of the case, profile."""


def _cases() -> list[Any]:
    return [
        pytest.param(row, case, profile, id=f"{row.name}-{number}-{profile}", marks=_marks(row.name, number, profile))
        for row in ROWS
        for number, case in enumerate(row.cases)
        for profile in PROFILES
    ]


def _marks(*case: Any) -> Any:
    return (pytest.mark.xfail(strict=True, reason=FAULTS[case]),) if case in FAULTS else ()


# --- the table is whole ---


def test_every_row_of_the_table_is_here() -> None:
    assert tuple(profiles.NAMES) == PROFILES
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names))
    assert set(names) == set(profiles.ROWS)
    for row in ROWS:
        assert row.cases or row.waiting or f"test_{row.name}_of_the_server" in globals(), row.name
        assert all(set(case.wants) == set(PROFILES) for case in row.cases)


def test_profiles_that_the_table_parts_are_asked_apart() -> None:
    """Where the product's cells differ some request has different answers, and where they do not, none has."""
    for row in ROWS:
        if row.waiting or f"test_{row.name}_of_the_server" in globals():
            continue
        cells = profiles.ROWS[row.name]
        for profile in PROFILES[1:]:
            differs = any(case.wants[profile] != case.wants["overt"] for case in row.cases)
            assert differs == (cells.text(profile) not in ("", cells.text("overt"))) or (row.name, profile) in ALIKE


def test_rows_that_wait(capsys: pytest.CaptureFixture[str]) -> None:
    waiting = [row for row in ROWS if row.waiting]
    with capsys.disabled():
        for row in waiting:
            print(f"\nwaiting: {row.situation}: {row.waiting}", end="")
    assert all(row.name in profiles.ROWS for row in waiting)


# --- by the header ---


@pytest.fixture(scope="module")
def answers(request: pytest.FixtureRequest) -> dict[str, Asked]:
    """The answers to all cases that were chosen, by the tests' names. Asked together, which is faster."""
    chosen = [item for item in request.session.items if getattr(item, "originalname", "") == "test_row"]

    def asked(item: Any) -> Asked:
        case, profile = item.callspec.params["case"], item.callspec.params["profile"]
        server = servers[case.on_script]
        return ask(server, case, profile, {"overt-profile": profile})

    servers = {True: scripted(request.config), False: real(request.config, "overt")}
    with ThreadPoolExecutor(16) as pool:
        return dict(zip((item.name for item in chosen), pool.map(asked, chosen), strict=True))


@pytest.mark.parametrize(("row", "case", "profile"), _cases())
def test_row(row: Row, case: Case, profile: str, answers: dict[str, Asked], request: pytest.FixtureRequest) -> None:
    hold(answers[request.node.name], case.wants[profile], profile)
    assert case in row.cases


# --- by the server's flag ---


def guarded(config: pytest.Config, profile: str) -> Server:
    """A server of a profile with a key, whose answers always report."""
    sim = ("--model-runner", "sim", "--sim-step-ms", "1")
    return started(config, "--profile", profile, *sim, "--api-key", "sesame", "--report", "always")


@pytest.mark.parametrize("profile", PROFILES)
def test_error_shape_of_the_server(profile: str, request: pytest.FixtureRequest) -> None:
    server = guarded(request.config, profile)

    def asked(status: int, method: str, path: str, **more: Any) -> dict[str, Any]:
        answer = server.client.request(method, path, **{"headers": KEY, **more})
        assert answer.status_code == status, (path, answer.text)
        return error_of(answer, profile)

    for path in ("/v1/models", "/nothing", "/metrics", "/openapi.json"):
        asked(401, "GET", path, headers={})
        asked(401, "GET", path, headers={"authorization": "Bearer wrong"})
    asked(401, "POST", CHAT, headers={}, json=_BODY)
    asked(404, "GET", "/nothing")
    asked(404, "POST", "/v1/nothing", json={})
    assert asked(404, "GET", "/v1/models/no-such")["param"] == "model"
    for method, path in (("GET", CHAT), ("PUT", COMPLETIONS), ("POST", "/v1/models"), ("DELETE", "/health")):
        asked(405, method, path)
    asked(400, "POST", CHAT, content=b"{")
    assert asked(400, "POST", CHAT, json=_BODY | {"n": 0})["param"] == "n"
    assert asked(400, "POST", "/tokenize", json={"prompt": 1})["param"] == "prompt"
    asked(415, "POST", CHAT, content=b"{}", headers=KEY | {"content-type": "text/plain"})
    asked(400, "POST", CHAT, json=_BODY, headers=KEY | {"overt-profile": "other"})
    # The header of a request comes before the server's flag.
    for other in PROFILES:
        answer = server.client.post(CHAT, json=_BODY | {"n": 0}, headers=KEY | {"overt-profile": other})
        assert error_of(answer, other)["param"] == "n"


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_no_http_is_answered_in_the_server_s_shape(profile: str, request: pytest.FixtureRequest) -> None:
    server = guarded(request.config, profile)
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(b"BREW / HTCPCP\r\n\r\n")
        answer = b""
        while part := connection.recv(4096):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b" 400 " in head.partition(b"\r\n")[0]
    members(json.loads(body), profile, 400)


@pytest.mark.parametrize("profile", PROFILES)
def test_embeddings_of_the_server(profile: str, request: pytest.FixtureRequest) -> None:
    (row,) = (row for row in ROWS if row.name == "embeddings")
    for case in row.cases:
        hold(ask(guarded(request.config, profile), case, profile, KEY), case.wants[profile], profile)
    assert row.cases[0].path == EMBEDDINGS


@pytest.mark.parametrize("profile", PROFILES)
def test_id_prefix_of_the_server(profile: str, request: pytest.FixtureRequest) -> None:
    (row,) = (row for row in ROWS if row.name == "id_prefix")
    for case in row.cases:
        hold(ask(guarded(request.config, profile), case, profile, KEY), case.wants[profile], profile)
    prefix = "" if profile == "sglang" else "chatcmpl-"
    answer = guarded(request.config, profile).client.post(CHAT, json=_BODY, headers=KEY | {"x-request-id": "abc"})
    assert answer.json()["id"] == f"{prefix}abc"


@pytest.mark.parametrize("profile", PROFILES)
def test_request_id_header_of_the_server(profile: str, request: pytest.FixtureRequest) -> None:
    _check_request_ids(guarded(request.config, profile), told=profile != "vllm")


def test_request_id_header_under_vllm_by_its_flag(request: pytest.FixtureRequest) -> None:
    flags = ("--enable-request-id-headers", "--enable-prompt-tokens-details")
    server = started(
        request.config,
        "--profile",
        "vllm",
        "--model-runner",
        "sim",
        "--sim-step-ms",
        "1",
        "--api-key",
        "sesame",
        *flags,
    )
    _check_request_ids(server, told=True)
    usage = server.client.post(CHAT, json=_BODY, headers=KEY).json()["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] >= 0


def _check_request_ids(server: Server, told: bool) -> None:
    for method, path, body, status in (
        ("POST", CHAT, _BODY, 200),
        ("POST", CHAT, _BODY | {"stream": True}, 200),
        ("POST", CHAT, _BODY | {"n": 0}, 400),
        ("POST", "/tokenize", {"model": MODEL, "prompt": "x"}, 200),
        ("GET", "/v1/models", None, 200),
        ("GET", "/health", None, 200),
        ("GET", "/nothing", None, 404),
        ("GET", CHAT, None, 405),
        ("POST", EMBEDDINGS, {"model": MODEL, "input": "x"}, None),
    ):
        for key in (KEY, {}):
            for sent in (None, "mine-1"):
                headers = key | ({} if sent is None else {"x-request-id": sent})
                answer = server.client.request(method, path, json=body, headers=headers)
                wanted = status if key or path == "/health" else 401
                assert wanted in (None, answer.status_code), (path, answer.text)
                found = answer.headers.get_list("x-request-id")
                if not told:
                    assert found == [], path
                else:
                    (one,) = found
                    assert one == sent if sent else len(one) == 32


@pytest.mark.parametrize("profile", PROFILES)
def test_extension_of_the_server(profile: str, request: pytest.FixtureRequest) -> None:
    """With `--report always` answers have this server's own object, but where clients know none."""
    server = guarded(request.config, profile)
    for stream in (False, True):
        answer = server.client.post(CHAT, json=_BODY | {"stream": stream, "made_up": 1}, headers=KEY)
        first = documents_of(answer)[0]
        assert ("overt" in first) == (profile != "openai")
        assert told(answer) == {"made_up": "inert"}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_key_by_either_header(profile: str, request: pytest.FixtureRequest) -> None:
    for header in (KEY, {"x-api-key": "sesame"}):
        answer = guarded(request.config, profile).client.post(CHAT, json=_BODY, headers=header)
        assert answer.status_code == 200, answer.text
