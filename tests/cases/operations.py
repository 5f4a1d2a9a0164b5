"""The life of a server: loading, failures, draining, keys, aborts, memory, preemption."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from cases.corpus import Case, alone, on
from cases.pair import pair
from cases.parameters import memory_kib
from cases.streams import connected, request_bytes
from cases.talk import CHAT, COMPLETIONS, accepted, refused, still_serves, streamed, strict_json, whole
from serve.server import Server, free_port, serving, stop

BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 4}
OPEN = ("/health", "/ping", "/live", "/ready", "/version")
"""Paths that no key is asked for."""


def _scripted(folder: Path, **script: Any) -> tuple[str, ...]:
    file = folder / "script.json"
    file.write_text(json.dumps({"answers": [{"pieces": ["so ", "it ", "goes "], "end": "repeat"}]} | script))
    return ("demo", "--model-runner", "script", "--script", str(file))


def _status(url: str, path: str) -> int | None:
    """None where nobody listens."""
    try:
        return httpx.get(url + path, timeout=5).status_code
    except httpx.TransportError:
        return None


# --- readiness ---


@contextmanager
def _starting(folder: Path, *args: str) -> Iterator[Server]:
    """A server that was just started: nobody waits until it is ready."""
    port, log_file = free_port(), folder / "log"
    command = [sys.executable, "-m", "overt", "serve", *args, "--host", "127.0.0.1", "--port", str(port)]
    with log_file.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    server = Server(process, port, log_file)
    try:
        yield server
    finally:
        server.client.close()
        stop(process)


@alone("ops-health-during-load")
def _while_loading(folder: Path, case: Case) -> None:
    with _starting(folder, *_scripted(folder, load_s=2)) as server:
        seen: dict[str, list[int | None]] = {path: [] for path in ("/health", "/ready", "/v1/models", "/live")}
        deadline = time.monotonic() + 60
        # One round more than the first in which it is ready: one may become so between the looks at two others.
        while seen["/ready"][-2:-1] != [200]:
            assert time.monotonic() < deadline, server.log
            assert server.process.poll() is None, server.log
            for path, statuses in seen.items():
                statuses.append(_status(server.url, path))
            time.sleep(0.1)
        for path, statuses in seen.items():
            # Not there, then there for good.
            begun = statuses.index(200)
            assert set(statuses[:begun]) <= {None, 503}, (path, statuses)
            assert set(statuses[begun:]) == {200}, (path, statuses)
            assert path == "/live" or begun >= len(statuses) - 3, (path, statuses)
            assert len(statuses) > 10, "it was ready before it was loaded"
        # Ready means that it can serve.
        assert accepted(server, CHAT, BODY).json()["choices"][0]["message"]["content"]
        assert [_status(server.url, path) for path in seen] == [200] * 4


def _stream(server: Server, lines: list[str], body: dict[str, Any]) -> None:
    """Notes the data lines of a stream until it ends, however it ends."""
    with suppress(httpx.TransportError), httpx.Client(timeout=60) as client:
        with client.stream("POST", server.url + CHAT, json=body | {"stream": True}) as response:
            for line in response.iter_lines():
                if line.startswith("data: "):
                    lines.append(line.removeprefix("data: "))


def _begun(server: Server, body: dict[str, Any], least: int) -> tuple[threading.Thread, list[str]]:
    """A stream that has sent some lines."""
    lines: list[str] = []
    thread = threading.Thread(target=_stream, args=(server, lines, body))
    thread.start()
    _until(lambda: len(lines) >= least)
    return thread, lines


def _until(holds: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _ends_with_error(lines: list[str]) -> None:
    assert lines[-1] == "[DONE]"
    assert json.loads(lines[-2])["error"]["type"] == "server_error"
    assert not any('"finish_reason":"' in line for line in lines), "an error is no finish"


@alone("ops-health-engine-dead")
def _engine_stuck_and_dead(folder: Path, case: Case) -> None:
    with serving(*_scripted(folder, step_ms=20), "--watchdog-timeout", "1") as server:
        engine = server.engine_pid()
        body = BODY | {"max_tokens": 5000}
        thread, lines = _begun(server, body, 3)
        os.kill(engine, signal.SIGSTOP)
        _until(lambda: _status(server.url, "/health") == 503)
        assert _status(server.url, "/ready") == 503
        assert _status(server.url, "/live") == 200
        assert thread.is_alive(), "a step that is late is no error"
        os.kill(engine, signal.SIGCONT)
        _until(lambda: _status(server.url, "/health") == 200)
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(httpx.post, server.url + CHAT, json=body, timeout=60)
            _until(lambda: server.metrics()["overt:requests_running"] == 2)
            os.kill(engine, signal.SIGKILL)
            _until(lambda: _status(server.url, "/health") == 503, 5)
            assert other.result().status_code in (500, 503)
        assert other.result().json()["error"]["type"] == "server_error"
        thread.join(10)
        _ends_with_error(lines)
        assert server.process.wait(20) != 0


# --- draining ---


def _drain(server: Server) -> None:
    server.process.send_signal(signal.SIGTERM)


@alone("ops-sigterm-drain")
def _sigterm(folder: Path, case: Case) -> None:
    flags = _scripted(folder, step_ms=100)
    timeout = str(case.input["options"]["shutdown_timeout_s"])
    with serving(*flags, "--drain-timeout", timeout) as server:
        thread, lines = _begun(server, BODY | {"max_tokens": 30}, 6)
        _drain(server)
        _until(lambda: _status(server.url, "/ready") == 503)
        assert _status(server.url, "/live") == 200
        late = httpx.post(server.url + CHAT, json=BODY, timeout=5)
        assert late.status_code == 503
        assert late.json()["error"]["type"] == "server_error"
        assert "retry-after" in late.headers
        assert thread.is_alive(), "the stream ended before the new request was refused"
        assert _status(server.url, "/live") == 200
        thread.join(20)
        assert lines[-1] == "[DONE]"
        chunks = [json.loads(line) for line in lines[:-1]]
        assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == "so it goes " * 10
        assert chunks[-1]["choices"][0]["finish_reason"] == "length"
        assert server.process.wait(20) == 0
    with serving(*flags, "--drain-timeout", "1") as server:
        thread, lines = _begun(server, BODY | {"max_tokens": 2000}, 3)
        _drain(server)
        thread.join(10)
        _ends_with_error(lines)
        server.process.wait(10)
    with serving(*flags, "--drain-timeout", "100") as server:
        thread, lines = _begun(server, BODY | {"max_tokens": 2000}, 3)
        _drain(server)
        _until(lambda: _status(server.url, "/ready") != 200)
        server.process.send_signal(signal.SIGINT)
        server.process.wait(10)
        thread.join(10)
        assert not thread.is_alive()


# --- keys ---

PATH_PARAMETER = re.compile(r"\{[^}]*\}")


def _all_paths(server: Server, case: Case, key: str) -> set[str]:
    document = httpx.get(f"{server.url}/openapi.json", headers={"authorization": f"Bearer {key}"})
    assert document.status_code == 200, document.text
    routes = {PATH_PARAMETER.sub("x", path) for path in document.json()["paths"]}
    assert {CHAT, COMPLETIONS, "/v1/models", "/tokenize"} <= routes
    return routes | {*case.input["extra_paths"], "/docs", "/nowhere", "/", "/health/", "/healthx", "/version/x"}


@alone("ops-api-key-all-routes")
def _keys(folder: Path, case: Case) -> None:
    key, second = case.input["options"]["api_key"], "k\u00fc2-of-another-length"
    runner = ("--model-runner", "sim", "--sim-step-ms", "0")
    with serving("demo", *runner, "--api-key", key, "--api-key", second) as server:
        paths = _all_paths(server, case, key)
        wrong = ("Bearer wrong", f"Bearer {key}x", f"Basic {key}", key)
        without: list[dict[str, str]] = [{}, *({"authorization": value} for value in wrong)]
        for path, method, headers in itertools.product(sorted(paths), ("GET", "POST"), without):
            status, told, body = _bare(server, method, path, headers)
            if path in OPEN:
                assert status in (200, 405), (path, method, status)
                continue
            assert status == 401, (path, method, headers, status)
            assert told["www-authenticate"] == "Bearer"
            error = strict_json(body)["error"]
            assert set(error) == {"message", "type", "param", "code"}
            assert "wrong" not in error["message"]
        given = [("authorization", f"{scheme} {key}") for scheme in ("Bearer", "bearer", "BEARER")]
        for name, value in (*given, ("x-api-key", key), ("x-api-key", second), ("authorization", f"Bearer {second}")):
            for path in sorted(paths - {*OPEN}):
                status, _, _ = _bare(server, "GET", path, {name: value})
                assert status in (200, 404, 405), (path, name, status)
        with httpx.Client(base_url=server.url, headers={"x-api-key": key}) as client:
            assert client.post(CHAT, json=BODY).status_code == 200
        for secret in (key, "wrong", second):
            assert secret not in server.log.replace("unknown", "")


def _bare(server: Server, method: str, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], str]:
    """Status, headers and body for a path as it is: clients would tidy it up."""
    lines = [f"{method} {path} HTTP/1.1", "host: x", "connection: close"]
    if method == "POST":
        lines += ["content-type: application/json", "content-length: 2"]
    head = "\r\n".join(lines).encode() + b"".join(
        b"\r\n" + name.encode() + b": " + value.encode() for name, value in headers.items()
    )
    with closing(connected(server)) as client:
        client.sendall(head + b"\r\n\r\n" + (b"{}" if method == "POST" else b""))
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    told, _, body = answer.partition(b"\r\n\r\n")
    first, *rest = told.decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    return int(first.split()[1]), fields, body.decode()


@on("scripted", "ops-request-id")
def _request_ids(server: Server, case: Case) -> None:
    (told,) = case.input["request"]["headers"].values()

    def echoed(value: str | None, stream: bool = False) -> str:
        headers = {} if value is None else {"x-request-id": value}
        answer = server.client.post(CHAT, json=BODY | {"stream": stream}, headers=headers)
        assert answer.status_code == 200
        return answer.headers["x-request-id"]

    assert echoed(told) == echoed(told, stream=True) == told
    made = [echoed(None), echoed(None)]
    assert len({*made}) == 2
    for bad in ("a" * 5000, "a b", "\u00e9\u00e8", "", "a\tb", "<script>\"'"):
        back = echoed(bad.encode() if bad else bad)  # type: ignore[arg-type]
        assert re.fullmatch(r"[\x21-\x7e]{1,128}", back), bad
        assert back != bad or re.fullmatch(r"[\x21-\x7e]{1,128}", bad), "reflected as it came"
    # A line break in a header's value ends the header, or the request is no HTTP.
    raw = request_bytes(CHAT, BODY).replace(b"host: x", b"host: x\r\nx-request-id: abc\r\nset-cookie: z=1\n\rq: 1")
    with closing(connected(server)) as client:
        client.sendall(raw)
        head = client.recv(65536).partition(b"\r\n\r\n")[0]
    assert b"set-cookie" not in head.lower()
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda number: echoed(told, number % 2 == 0), range(16)))
        answers = list(
            pool.map(lambda _: server.client.post(CHAT, json=BODY, headers={"x-request-id": told}), range(8))
        )
    assert ids == [told] * 16
    assert [answer.json()["choices"][0]["message"]["content"] for answer in answers] == ["abc"] * 8


# --- clean-up ---


@on("scripted", "ops-nonstream-leak")
def _no_leak(server: Server, case: Case) -> None:
    def ask(number: int) -> None:
        accepted(server, CHAT, BODY | ({"n": 2, "temperature": 1} if number % 3 == 0 else {}))

    def leave(_: int) -> None:
        with closing(connected(server)) as client:
            client.sendall(request_bytes(CHAT, BODY | {"max_tokens": 2000, "ignore_eos": True}))

    def both_kinds() -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, range(300)))
            list(pool.map(leave, range(100)))
        after = server.wait_idle(30)
        for name in ("overt:requests_running", "overt:requests_waiting", "overt:kv_blocks_used"):
            assert after[name] == 0, name

    both_kinds()
    before = memory_kib(server)
    both_kinds()
    assert memory_kib(server) - before < 5 * 1024
    assert server.metrics()["overt:requests_aborted_total"] > 0, "nobody left in time"
    still_serves(server)


@alone("ops-abort-unknown-id")
def _aborts(folder: Path, case: Case) -> None:
    with pair() as both:
        for handle in (1, 2, 3, 4):
            both.submit(handle, n=2 if handle == 2 else 1)
        both.decide(both.schedule())
        # Between a plan and its decision: two rows of it are gone, one of them with two choices.
        plan = both.schedule()
        both.front.abort(2)
        both.front.abort(3)
        both.decide(plan)
        both.front.abort(2)
        both.front.abort(999_999)
        both.submit(5)
        answers = both.answers({1, 4, 5})
        assert {*answers} == {1, 4, 5}
        assert {status for status, _ in answers.values()} == {200}
        assert len({body["choices"][0]["text"] for _, body in answers.values()}) == 1
        assert {body["usage"]["completion_tokens"] for _, body in answers.values()} == {4}
        # After its end, twice, and under a handle that is given again.
        for _ in range(2):
            for handle in (1, 2, 4, 5, 0):
                both.front.abort(handle)
        both.submit(1)
        assert both.answers({1})[1][0] == 200
        both.at_rest()
        # Blocks freed twice would be given twice, blocks never freed would be missing.
        for handle in range(10, 14):
            both.submit(handle, max_tokens=200)
        assert {status for status, _ in both.answers({10, 11, 12, 13}).values()} == {200}
        assert both.at_rest()["preemptions"] == 0


# --- preemption ---


@on("cramped", "ops-preemption-same-text")
def _preempted(server: Server, case: Case) -> None:
    def body(number: int) -> dict[str, Any]:
        prompt = [20 + 30 * number + place for place in range(20)]
        ends = {"max_tokens": 60, "ignore_eos": True, "temperature": 0}
        return {"prompt": prompt, "stream_options": {"include_usage": True}} | ends

    expected = [whole(server, COMPLETIONS, body(number)).choices for number in range(4)]
    assert len({choices[0].text for choices in expected}) == 4
    before = server.metrics()["overt:preemptions_total"]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda number: streamed(server, COMPLETIONS, body(number)), range(4)))
    assert [answer.choices for answer in answers] == expected
    for answer in answers:
        assert answer.usage is not None
        counts = ("prompt_tokens", "completion_tokens", "total_tokens")
        assert [answer.usage[name] for name in counts] == [20, 60, 80]
    assert server.metrics()["overt:preemptions_total"] > before
    assert server.wait_idle(10)["overt:kv_blocks_used"] == 0
    for stream in (False, True):
        never = {"prompt": [20] * 129, "max_tokens": 1, "stream": stream}
        refused(server, COMPLETIONS, never, param="prompt")
    still_serves(server)
