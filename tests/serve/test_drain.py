"""SIGTERM: running streams end, new ones are refused, and the server goes."""

import http.client
import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from serve.server import Server, serving

BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 30, "stream": True}
PATH = "/v1/chat/completions"


def scripted(folder: Path, **script: Any) -> tuple[str, ...]:
    """The arguments of a server that answers "so it goes" again and again."""
    file = folder / "script.json"
    file.write_text(json.dumps({"answers": [{"pieces": ["so ", "it ", "goes "], "end": "repeat"}]} | script))
    return ("demo", "--model-runner", "script", "--script", str(file))


class Stream:
    """A stream that another thread reads, and of which, with `wait`, five tokens have come."""

    def __init__(self, server: Server, *, wait: bool = True, **fields: Any) -> None:
        self.lines: list[str] = []
        self._some = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(server, BODY | fields))
        self._thread.start()
        assert not wait or self._some.wait(30), "no token came"

    def _read(self, server: Server, body: dict[str, Any]) -> None:
        with (
            httpx.Client(timeout=60, verify=False) as client,
            client.stream("POST", f"{server.url}{PATH}", json=body) as response,
        ):
            assert response.status_code == 200
            try:
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        self.lines.append(line.removeprefix("data: "))
                        # The role's frame, and five tokens.
                        if len(self.lines) == 6:
                            self._some.set()
            except httpx.TransportError:
                self.lines.append("broken off")

    def end(self) -> list[str]:
        """All its lines, once it has ended."""
        self._thread.join(30)
        assert not self._thread.is_alive(), "the stream hangs"
        return self.lines

    @property
    def tokens(self) -> int:
        chunks = [json.loads(line) for line in self.lines if line.startswith("{")]
        return sum(bool(choice["delta"].get("content")) for chunk in chunks for choice in chunk.get("choices", ()))


def ask(server: Server, path: str, body: Any = None) -> tuple[int, dict[str, str], Any]:
    """Status, headers and document of an answer, over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        data = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, data, {"content-type": "application/json"})
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, headers, json.loads(answer.read())
    finally:
        connection.close()


@contextmanager
def draining(server: Server, **fields: Any) -> Iterator[Stream]:
    """Within a drain that one stream keeps open."""
    stream = Stream(server, **fields)
    server.process.send_signal(signal.SIGTERM)
    yield stream
    stream.end()


def test_a_running_stream_ends_whole_and_the_listener_says_what_happens(tmp_path: Path) -> None:
    with serving(*scripted(tmp_path, step_ms=100)) as server:
        with draining(server) as stream:
            until(lambda: ask(server, "/ready")[0] == 503)
            statuses: dict[str, set[int]] = {"/live": set(), "/health": set(), "/ready": set()}
            while len(stream.lines) < 20:
                # Each on a connection of its own: the listener accepts to the end.
                for path, seen in statuses.items():
                    seen.add(ask(server, path)[0])
                status, headers, refused = ask(server, PATH, BODY)
                assert status == 503
                assert refused["error"]["code"] == "stopping"
                assert int(headers["retry-after"]) >= 1
            assert statuses == {"/live": {200}, "/health": {200}, "/ready": {503}}
        assert stream.lines[-1] == "[DONE]"
        assert stream.tokens == 30
        assert '"finish_reason":"length"' in stream.lines[-2]
        assert server.process.wait(10) == 0
        assert "Traceback" not in server.log


def test_a_second_sigterm_ends_at_once(tmp_path: Path) -> None:
    with serving(*scripted(tmp_path, step_ms=100)) as server:
        with draining(server, max_tokens=2000) as stream:
            until(lambda: ask(server, "/ready")[0] == 503)
            server.process.send_signal(signal.SIGTERM)
            begun = time.monotonic()
            assert server.process.wait(10) == 0
            # The drain's own time is 30 s.
            assert time.monotonic() - begun < 10
        assert stream.lines[-1] in ("[DONE]", "broken off")
        assert stream.tokens < 2000
        assert "Traceback" not in server.log


def test_what_outlives_the_drain_gets_an_error_frame(tmp_path: Path) -> None:
    with serving(*scripted(tmp_path, step_ms=50), "--drain-timeout", "0.5") as server:
        with draining(server, max_tokens=2000) as stream:
            pass
        *_, error, done = stream.lines
        assert done == "[DONE]"
        assert json.loads(error)["error"]["type"] == "server_error"
        assert not any('"finish_reason":"' in line for line in stream.lines)
        assert server.process.wait(10) == 0
        assert "Traceback" not in server.log


def test_an_idle_server_goes_at_once_and_a_half_sent_body_does_not_keep_it(tmp_path: Path) -> None:
    with serving(*scripted(tmp_path), "--drain-timeout", "0.5") as server:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            head = f"POST {PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{{"
            connection.sendall(head.encode())
            until(lambda: server.client.get("/load").json()["server_load"] == 1)
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(15) == 0
        assert "Traceback" not in server.log


def until(condition: Any) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)
