"""A front without an engine, and a real server around it."""

import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from overt._core import RequestError
from overt.api.app import create_app
from overt.api.protocol import Protocol
from overt.api.state import State, make_state
from overt.cli.config import ServeConfig
from overt.contract.effects import Late

STATS = {
    "requests_running": 1,
    "requests_waiting": 2,
    "kv_blocks_used": 3,
    "kv_blocks_cached": 4,
    "kv_blocks_total": 9,
    "prompt_tokens": 10,
    "generation_tokens": 20,
    "prefix_query_tokens": 7,
    "prefix_hit_tokens": 5,
    "preemptions": 0,
    "encode_cache_queries": 9,
    "encode_cache_hits": 8,
    "encode_cache_bytes": 700,
    "step_failures": 0,
    "steps": 20,
    "requests_aborted": 0,
    "ttft": {"bounds": [0.1, 1.0], "counts": [2, 1, 1], "sum": 3.5},
    "inter_token": {"bounds": [0.01], "counts": [4, 0], "sum": 0.02},
}
HELLO = {
    "model": {
        "name": "tiny",
        "max_model_len": 64,
        "vocab_size": 100,
        "generation_config": {"temperature": 0.6, "top_k": 20},
    },
    "chat_templates": [{"name": "default", "text": "{{ messages }} {{ tools }}", "source": "made up"}],
}


class Submitted:
    """One request that reached the front, and the means to answer it."""

    def __init__(self, front: "FakeFront", handle: int, protocol: str, body: bytes, params: Any, chunked: bool):
        self.front = front
        self.handle = handle
        self.protocol = protocol
        self.body = json.loads(body)
        self.params = params
        self.chunked = chunked

    def frame(self, text: str, *, ended: bool = False, status: int = 0) -> None:
        """Gives a frame, chunk-framed as the core would."""
        data = f"data: {text}\n\n".encode()
        if self.chunked:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        self.front.give(self.handle, ended, status, data)

    def whole(self, status: int, body: dict[str, Any]) -> None:
        """Gives the only item of an answer."""
        self.front.give(self.handle, True, status, json.dumps(body).encode())


class FakeFront:
    """The core's `Front`, answered by `respond` (called with each request as it is submitted)."""

    parser: str | None = "hermes"
    reading = json.dumps(
        {
            "tool_call_parser": "hermes",
            "tool_call_parser_reason": "made up",
            "reasoning_parser": "qwen3",
            "reasoning_parser_reason": "made up",
            "constrains": True,
            "bounds_thinking": True,
        }
    ).encode()
    fills_gaps = False

    def __init__(self) -> None:
        self.wake_fd, self._wake = os.pipe()
        os.set_blocking(self.wake_fd, False)
        self._lock = threading.Lock()
        self._ready: list[tuple[int, bool, int, bytes, list[Late]]] = []
        self.respond: Callable[[Submitted], None] = lambda request: None
        self.requests: list[Submitted] = []
        self.aborted: list[int] = []
        self.started: list[int] = []
        self.holds: list[tuple[int, bool]] = []
        self.probes: list[int] = []
        self.probe_status: int | None = 200
        """None: no token comes."""
        self.healthy = (True, "")

    def give(self, handle: int, ended: bool, status: int, data: bytes) -> None:
        with self._lock:
            self._ready.append((handle, ended, status, data, []))
        os.write(self._wake, b"x")

    def take_ready(self) -> list[tuple[int, bool, int, bytes, list[Late]]]:
        with suppress(BlockingIOError):
            os.read(self.wake_fd, 4096)
        with self._lock:
            ready, self._ready = self._ready, []
        return ready

    def submit(self, handle: int, protocol: str, body: bytes, params: Any, chunked: bool) -> None:
        request = Submitted(self, handle, protocol, body, params, chunked)
        self.requests.append(request)
        self.respond(request)

    def probe(self, handle: int) -> None:
        self.probes.append(handle)
        if self.probe_status is not None:
            self.give(handle, True, self.probe_status, b"{}")

    def start(self, handle: int) -> list[Late]:
        self.started.append(handle)
        return []

    def abort(self, handle: int) -> None:
        self.aborted.append(handle)

    def hold(self, handle: int, on: bool) -> None:
        self.holds.append((handle, on))

    def health(self) -> tuple[bool, str]:
        return self.healthy

    def stats(self) -> bytes:
        return json.dumps(STATS).encode()

    def tokenize(self, protocol: str, body: bytes, params: Any) -> tuple[list[int], list[Late]]:
        special = params.add_special_tokens
        text = str(json.loads(body).get("prompt") or json.loads(body)["messages"])
        if "forbidden" in text:
            raise RequestError(400, "`prompt` is forbidden.", "invalid_request_error", "prompt", None)
        ids = [len(text), int(params.add_generation_prompt), -1 if special is None else int(special)]
        spelled = ("messages[0].content", "special tokens", "`<special>` in it is read as such", "messages")
        return ids, [spelled] if "<special>" in text else []

    def token_strings(self, ids: list[int]) -> list[str]:
        return [f"<{id}>" for id in ids]

    def detokenize(self, ids: list[int]) -> str:
        return " ".join(map(str, ids))

    def pieces(self, text: str) -> list[tuple[str, bool]]:
        parts = re.split(r"(<\|[a-z_]+\|>)", text)
        return [(part, bool(index % 2)) for index, part in enumerate(parts) if part]

    def close(self) -> None:
        self.healthy = (False, "The server is stopping.")


def state_of(front: FakeFront, **settings: Any) -> State:
    return make_state(front, ServeConfig(**settings), json.dumps(HELLO).encode(), "1.2.3")  # type: ignore[arg-type]


class Running:
    """A server on a loopback port."""

    def __init__(self, front: FakeFront, state: State, port: int) -> None:
        self.front = front
        self.state = state
        self.port = port

    def connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.settimeout(10)
        return connection

    def exchange(self, request: bytes) -> bytes:
        """Sends bytes, and reads until the server closes."""
        with self.connect() as connection:
            connection.sendall(request)
            return read_all(connection)


def read_all(connection: socket.socket) -> bytes:
    data = b""
    while True:
        try:
            more = connection.recv(65536)
        except ConnectionResetError:
            return data
        if not more:
            return data
        data += more


def read_until(connection: socket.socket, mark: bytes) -> bytes:
    data = bytearray()
    while data.find(mark, max(0, len(data) - 65536 - len(mark))) < 0:
        more = connection.recv(65536)
        assert more, f"closed after {bytes(data[-200:])!r}"
        data += more
    return bytes(data)


def until(condition: Callable[[], object]) -> None:
    """Waits for another thread."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.002)


@contextmanager
def running(*, keep_alive_s: float | None = None, http: Any = Protocol, **settings: Any) -> Iterator[Running]:
    front = FakeFront()
    state = state_of(front, **settings)
    if keep_alive_s is not None:
        state.dispatcher._keep_alive_s = keep_alive_s
    config = uvicorn.Config(create_app(state), http=http, ws="none", lifespan="on", log_level="error", access_log=False)
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        until(lambda: server.started)
        yield Running(front, state, listener.getsockname()[1])
    finally:
        server.should_exit = server.force_exit = True
        thread.join()


def post(path: str, body: Any, *, headers: str = "", version: str = "1.1", close: bool = False) -> bytes:
    """The bytes of a POST with a JSON body."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    closing = "connection: close\r\n" if close else ""
    return (
        f"POST {path} HTTP/{version}\r\nhost: x\r\ncontent-type: application/json\r\n{closing}{headers}"
        f"content-length: {len(data)}\r\n\r\n".encode()
        + data
    )


def split(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and the rest of an answer."""
    head, _, rest = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, rest


def unchunked(data: bytes) -> bytes:
    """The body of a chunked answer, which must be whole."""
    body = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            assert data == b"\r\n", f"after the last chunk: {data!r}"
            return body
        body += data[:length]
        assert data[length : length + 2] == b"\r\n"
        data = data[length + 2 :]
