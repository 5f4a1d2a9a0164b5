"""What fails, fails loudly, alone and without hanging."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from serve.server import Server, serving

BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 200, "stream": True}


def _scripted(folder: Path, **script: Any) -> tuple[str, ...]:
    file = folder / "script.json"
    file.write_text(json.dumps({"answers": [{"pieces": ["so ", "it ", "goes "], "end": "repeat"}]} | script))
    return ("demo", "--model-runner", "script", "--script", str(file))


def _stream(server: Server, lines: list[tuple[float, str]], ready: threading.Barrier | None = None) -> None:
    with (
        httpx.Client(timeout=60) as client,
        client.stream("POST", f"{server.url}/v1/chat/completions", json=BODY) as response,
    ):
        assert response.status_code == 200
        for line in response.iter_lines():
            if line.startswith("data: "):
                lines.append((time.monotonic(), line.removeprefix("data: ")))
                if ready is not None and len(lines) == 3:
                    ready.wait(30)


def _start_streams(server: Server, count: int) -> tuple[list[threading.Thread], list[list[tuple[float, str]]]]:
    """`count` streams, each with a few tokens received."""
    ready = threading.Barrier(count + 1)
    received: list[list[tuple[float, str]]] = [[] for _ in range(count)]
    threads = [threading.Thread(target=_stream, args=(server, lines, ready)) for lines in received]
    for thread in threads:
        thread.start()
    ready.wait(30)
    return threads, received


def _assert_failed(lines: list[tuple[float, str]]) -> None:
    *_, (_, error), (_, done) = lines
    assert done == "[DONE]"
    assert json.loads(error)["error"]["type"] == "server_error"
    assert not any('"finish_reason":"' in line for _, line in lines), "an error is no finish"


def _exit_code(server: Server) -> int:
    return server.process.wait(20)


def _health_while_dying(server: Server) -> list[int]:
    """Statuses of /health until the server is gone."""
    seen = []
    while server.process.poll() is None:
        try:
            seen.append(httpx.get(f"{server.url}/health", timeout=5).status_code)
        except httpx.TransportError:
            break
        time.sleep(0.05)
    return seen


def test_a_step_that_raises_fails_its_rows_and_the_third_time_the_server(tmp_path: Path) -> None:
    with serving(*_scripted(tmp_path, raise_at=[100, 110, 120], step_ms=20)) as server:
        threads, received = _start_streams(server, 8)
        for thread in threads:
            thread.join(30)
        for lines in received:
            _assert_failed(lines)
        answer = server.post("/v1/chat/completions", BODY | {"stream": False, "max_tokens": 3})
        assert answer.status_code == 200, answer.text
        assert answer.json()["choices"][0]["message"]["content"] == "so it goes "
        assert server.client.get("/health").status_code == 200
        second: list[tuple[float, str]] = []
        _stream(server, second)
        _assert_failed(second)
        third: list[tuple[float, str]] = []
        _stream(server, third)
        _assert_failed(third)
        assert 503 in _health_while_dying(server)
        assert _exit_code(server) != 0


def test_a_killed_engine_ends_every_stream_within_a_second(tmp_path: Path) -> None:
    with serving(*_scripted(tmp_path, step_ms=5)) as server:
        threads, received = _start_streams(server, 8)
        killed = time.monotonic()
        os.kill(server.engine_pid(), signal.SIGKILL)
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive(), "a stream hangs"
        for lines in received:
            _assert_failed(lines)
            assert lines[-1][0] - killed < 1.0
        assert httpx.get(f"{server.url}/health", timeout=5).status_code == 503
        assert httpx.get(f"{server.url}/ready", timeout=5).status_code == 503
        late = httpx.post(f"{server.url}/v1/chat/completions", json=BODY, timeout=5)
        assert late.status_code == 503
        assert late.json()["error"]["type"] == "server_error"
        assert _exit_code(server) != 0


def test_logits_that_are_not_finite_fail_their_request_alone(tmp_path: Path) -> None:
    answers = [{"pieces": ["a "], "end": "nan"}, {"pieces": ["b "], "end": "repeat"}]
    with serving(*_scripted(tmp_path, answers=answers, step_ms=2)) as server:
        body = BODY | {"stream": False, "max_tokens": 50}
        broken = server.post("/v1/chat/completions", body)
        assert broken.status_code == 500
        assert broken.json()["error"]["code"] == "logits_not_finite"
        good = server.post("/v1/chat/completions", body)
        assert good.json()["choices"][0]["message"]["content"] == "b " * 50


@pytest.mark.parametrize("step", [0, 5])
def test_a_stalled_step_makes_health_503_until_it_goes_on(tmp_path: Path, step: int) -> None:
    script = _scripted(tmp_path, stall_at=step, stall_s=3)
    with serving(*script, "--watchdog-timeout", "1") as server:
        lines: list[tuple[float, str]] = []
        thread = threading.Thread(target=_stream, args=(server, lines))
        thread.start()
        statuses = set()
        while thread.is_alive():
            statuses.add(server.client.get("/health").status_code)
            time.sleep(0.1)
        thread.join()
        assert statuses == {200, 503}
        assert lines[-1][1] == "[DONE]"
        assert server.client.get("/health").status_code == 200


def test_a_full_queue_answers_429(tmp_path: Path) -> None:
    script = _scripted(tmp_path, step_ms=20)
    with serving(*script, "--max-num-seqs", "1", "--max-num-queued-reqs", "1") as server:
        threads, _ = _start_streams(server, 1)
        second = threading.Thread(target=_stream, args=(server, []))
        second.start()
        deadline = time.monotonic() + 10
        while server.metrics()["overt:requests_waiting"] == 0:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        full = server.post("/v1/chat/completions", BODY)
        assert full.status_code == 429
        assert full.json()["error"]["code"] == "queue_full"
        assert int(full.headers["retry-after"]) >= 1
        for thread in [*threads, second]:
            thread.join(60)


def test_sigterm_lets_streams_end(tmp_path: Path) -> None:
    with serving(*_scripted(tmp_path, step_ms=5)) as server:
        threads, received = _start_streams(server, 3)
        server.process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join(30)
        for lines in received:
            assert lines[-1][1] == "[DONE]"
            assert sum("so it goes"[:2] in line for _, line in lines) > 10
            assert any('"finish_reason":"length"' in line for _, line in lines)
        assert _exit_code(server) == 0


@pytest.mark.parametrize(
    ("args", "words", "code"),
    [
        (("no/such-model",), "no/such-model", 1),
        (("demo", "--max-model-len", "99999"), "--max-model-len", 1),
        (("demo", "--tool-call-parser", "nonsense"), "nonsense", 2),
    ],
)
def test_what_cannot_be_served_is_said_at_start(args: tuple[str, ...], words: str, code: int) -> None:
    env = {**os.environ, "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "overt", "serve", *args, "--port", "0"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    assert run.returncode == code
    assert words in run.stderr
    assert "Traceback" not in run.stderr
