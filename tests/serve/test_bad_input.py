"""Whatever a client sends, it gets the right status in OpenAI's shape, and nobody else notices."""

import asyncio
import json
import os
import re
import socket
import threading
from typing import Any

import httpx
import pytest

from serve import bad_bodies
from serve.bad_bodies import GOOD, PATHS, Bad
from serve.server import Server, serving

LONG = bool(os.environ.get("OVERT_LONG_TESTS"))
FOREIGN = re.compile(
    r"pydantic|traceback|validationerror|input should|serde|minijinja|jinja2|starlette|fastapi|uvicorn|httptools|"
    r"NoneType|has no attribute|\w+Error\b|\bexpected (value|ident|`)|EOF while|invalid type:|missing field|panicked|"
    r"unwrap|\.py\b|\.rs\b|\bovert\.(?!strict|report)\w|::|\bu32\b|\bi64\b|\bf32\b",
    re.IGNORECASE,
)
"""What no message may hold: words of the languages and libraries behind it."""

TALK = {"messages": [{"role": "user", "content": "Tell me a story."}], "max_tokens": 40, "temperature": 0}


def check(answer: httpx.Response, status: int, param: str | None, what: object) -> None:
    """Holds one answer against its status, the error shape and the field at fault."""
    assert answer.status_code == status, f"{what}: {answer.status_code} {answer.text[:500]}"
    assert re.fullmatch(r"[\x21-\x7e]{1,128}", answer.headers["x-request-id"]), what
    if status < 400:
        return
    assert answer.headers["content-type"] == "application/json", what
    document = answer.json()
    assert list(document) == ["error"], what
    error = document["error"]
    assert list(error) == ["message", "type", "param", "code"], what
    assert error["type"] == "invalid_request_error", what
    assert error["code"] is None or isinstance(error["code"], str), what
    message, named = error["message"], error["param"]
    assert isinstance(message, str), what
    assert 10 < len(message) < 700, (what, message)
    assert not FOREIGN.search(message), (what, message)
    if param is None:
        assert named is None, (what, named)
    else:
        assert named is not None, (what, message)
        assert re.fullmatch(re.escape(param) + r"([.\[].*)?", named), (what, named)


def wrong(answer: httpx.Response, bad: Bad) -> str | None:
    """What is wrong with an answer: a table's cases are all looked at before any fails the test."""
    try:
        check(answer, bad.status, bad.param, bad)
    except AssertionError as error:
        return str(error)
    return None


def send(client: httpx.Client, bad: Bad) -> httpx.Response:
    headers = {"content-type": "application/json"} | bad.headers
    return client.request(bad.method, bad.path, content=bad.body, headers=headers)


def text_of(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    text: str = answer.json()["choices"][0]["message"]["content"]
    assert text
    return text


GROUPS = {
    "fields": bad_bodies.of_fields,
    "routes": bad_bodies.of_routes,
    "bytes": bad_bodies.of_bytes,
    "paths": bad_bodies.of_paths,
}


@pytest.mark.parametrize("group", GROUPS)
def test_wrong_requests_are_told_what_is_wrong(sim: Server, group: str) -> None:
    before = text_of(sim.post(PATHS["chat"], TALK))
    cases = list(GROUPS[group]())
    assert len(cases) >= 25
    assert [fault for bad in cases if (fault := wrong(send(sim.client, bad), bad))] == []
    assert text_of(sim.post(PATHS["chat"], TALK)) == before
    assert sim.client.get("/health").status_code == 200


def test_null_is_absent_and_emptiness_is_no_fault_of_the_server(sim: Server) -> None:
    for route, path in PATHS.items():
        rows = bad_bodies.by_name(route)
        optional = [name for name, row in rows.items() if not row.required and name not in GOOD[route]]
        body = GOOD[route] | dict.fromkeys(name for name in optional if "." not in name)
        plain, nulls = sim.post(path, GOOD[route]), sim.post(path, body)
        assert "overt-effects" not in nulls.headers
        for answer in (plain, nulls):
            assert answer.status_code == 200, answer.text
        assert _content(nulls) == _content(plain)
        for name in optional:
            outer, _, inner = name.partition(".")
            for empty in ("", [], {}, 0, False):
                value: Any = {inner: empty} if inner else empty
                answer = sim.post(path, GOOD[route] | {outer: value})
                if answer.status_code != 200:
                    check(answer, 404 if name == "model" and empty == "" else 400, outer, (path, name, empty))


def _content(answer: httpx.Response) -> Any:
    document = answer.json()
    return document.get("choices") or document


def test_large_bodies(sim: Server) -> None:
    ten = "x " * (5 * 2**20)
    for route, path in PATHS.items():
        answer = sim.post(path, GOOD[route] | {"zzz": ten})
        check(answer, 200, None, path)
        assert answer.headers["overt-effects"] == '"zzz";e=inert'
    for path in (PATHS["chat"], PATHS["detokenize"]):
        answer = sim.client.post(path, content=b'{"zzz": "' + b"x" * 40_000_000 + b'"}')
        check(answer, 413, None, path)
        assert answer.json()["error"]["code"] == "body_too_large"
    check(sim.post(PATHS["completions"], {"prompt": ten}), 400, "prompt", "10 MB")
    check(sim.post(PATHS["chat"], {"messages": [{"role": "user", "content": ten}]}), 400, "messages", "10 MB")
    check(sim.post(PATHS["chat"], GOOD["chat"] | {"stop_token_ids": ["x"] * 2**20}), 400, "stop_token_ids", "many")
    biases = {str(number): "x" for number in range(2**20)}
    check(sim.post(PATHS["chat"], GOOD["chat"] | {"logit_bias": biases}), 400, "logit_bias", "many")
    unknown = {f"zzz{number}": 1 for number in range(50_000)}
    answer = sim.post(PATHS["chat"], GOOD["chat"] | unknown)
    check(answer, 200, None, "many unknown fields")
    assert answer.headers["overt-effects"].endswith('"...";more=49968')


def test_a_key_that_stands_twice_is_no_fault_of_the_server(sim: Server) -> None:
    for body in (
        b'{"n": 2, "messages": [{"role": "user", "content": "x"}], "max_tokens": 2, "n": 1}',
        b'{"messages": [], "max_tokens": 2, "messages": [{"role": "user", "content": "x"}]}',
        b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": 2, "messages": []}',
    ):
        answer = sim.client.post(PATHS["chat"], content=body)
        check(answer, 400, "n" if b'"n"' in body else "messages", body)


def test_malformed_http(sim: Server) -> None:
    cases = list(bad_bodies.malformed())
    assert len(cases) >= 25
    for data, status in cases:
        answer = _exchange(sim.port, data)
        check(answer, status, None, data[:100])
    check(_exchange(sim.port, b"GET /live HTTP/1.0\r\n\r\n"), 200, None, "HTTP/1.0")
    assert sim.client.get("/health").status_code == 200


def _exchange(port: int, data: bytes) -> httpx.Response:
    """Sends bytes; reads the answer until the server closes."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(10)
        # The server may answer and close before it has read everything.
        writer = threading.Thread(target=_send, args=(connection, data))
        writer.start()
        seen = b""
        try:
            while more := connection.recv(65536):
                seen += more
        except ConnectionResetError:
            pass
        writer.join()
    head, _, body = seen.partition(b"\r\n\r\n")
    assert head, f"no answer to {data[:100]!r}"
    first, *lines = head.decode().split("\r\n")
    headers = [tuple(line.split(": ", 1)) for line in lines]
    return httpx.Response(int(first.split()[1]), headers=headers, content=body)  # type: ignore[arg-type]


def _send(connection: socket.socket, data: bytes) -> None:
    try:
        for start in range(0, len(data), 8192):
            connection.sendall(data[start : start + 8192])
    except OSError:
        pass


def test_the_model_itself_takes_extreme_values_and_refuses_wrong_ones(demo: Server) -> None:
    before = text_of(demo.post(PATHS["chat"], TALK | {"max_tokens": 8}))
    tiny = 1e-300
    for fields in (
        {"temperature": tiny},
        {"temperature": 2, "top_p": tiny},
        {"temperature": 2, "typical_p": tiny},
        {"temperature": 2, "min_p": 1},
        {"temperature": 2, "top_k": 10**30},
        {"repetition_penalty": 0.01},
        {"repetition_penalty": 10, "frequency_penalty": -2, "presence_penalty": -2},
        {"logit_bias": {"0": -100, "49151": 100}},
        {"allowed_token_ids": [0]},
        {"max_tokens": 10**30, "stop": ["e"]},
        {"seed": -(2**63)},
        {"n": 16, "max_tokens": 1},
        {"min_tokens": 8, "stop_regex": "."},
    ):
        answer = demo.post(PATHS["chat"], TALK | {"max_tokens": 8} | fields)
        check(answer, 200, None, fields)
    (word,) = demo.post(PATHS["tokenize"], {"prompt": "hello", "add_special_tokens": False}).json()["tokens"]
    nothing = TALK | {"allowed_token_ids": [word], "bad_words": ["hello"]}
    check(demo.post(PATHS["chat"], nothing), 400, None, nothing)
    seen = set()
    for bad in bad_bodies.of_fields():
        if (bad.path, bad.param) not in seen:
            seen.add((bad.path, bad.param))
            check(send(demo.client, bad), bad.status, bad.param, bad)
    assert text_of(demo.post(PATHS["chat"], TALK | {"max_tokens": 8})) == before


def test_running_streams_do_not_notice() -> None:
    # Each of them is sent to an idle server above; among streams a part of every group is.
    cases = [bad for group in GROUPS.values() for bad in list(group())[:: 1 if LONG else 4]]
    with serving("demo", "--model-runner", "sim", "--sim-step-ms", "10") as server:
        alone = text_of(server.post(PATHS["chat"], TALK))
        streams, statuses = asyncio.run(_amid_streams(server, cases))
        assert set(streams) == {alone}
        assert len(streams) >= 64
        for bad, status in zip(cases, statuses, strict=True):
            assert status == bad.status, bad
        assert server.wait_idle()["overt:kv_blocks_used"] == 0
        for word in ("Traceback", "ERROR", "panicked"):
            assert word not in server.log, server.log


async def _amid_streams(server: Server, cases: list[Bad]) -> tuple[list[str], list[int]]:
    """Texts of the streams that 32 clients take one after the other, and the statuses of what came meanwhile."""
    texts: list[str] = []
    busy = True

    async def streams(client: httpx.AsyncClient) -> None:
        while busy:
            async with client.stream("POST", PATHS["chat"], json=TALK | {"stream": True}) as response:
                assert response.status_code == 200
                data = (await response.aread()).decode()
            frames = [line.removeprefix("data: ") for line in data.split("\n\n") if line]
            assert frames.pop() == "[DONE]"
            deltas = [json.loads(frame)["choices"][0]["delta"] for frame in frames]
            texts.append("".join(delta.get("content", "") for delta in deltas))

    limits = httpx.Limits(max_connections=64)
    async with httpx.AsyncClient(base_url=server.url, timeout=60, limits=limits) as client:
        tasks = [asyncio.create_task(streams(client)) for _ in range(32)]
        statuses = []
        for bad in cases:
            headers = {"content-type": "application/json"} | bad.headers
            answer = await client.request(bad.method, bad.path, content=bad.body, headers=headers)
            statuses.append(answer.status_code)
        busy = False
        await asyncio.gather(*tasks)
    return texts, statuses
