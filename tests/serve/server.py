"""Starts a server as a user does and talks to it over loopback."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

START_S = 120.0


@dataclass
class Server:
    """A running `overt serve`."""

    process: subprocess.Popen[bytes]
    port: int
    log_file: Path
    client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = httpx.Client(base_url=self.url, timeout=120.0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    def post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        return self.client.post(path, json=body)

    def frames(self, path: str, body: dict[str, Any]) -> list[str]:
        """The `data:` payloads of a stream."""
        with self.client.stream("POST", path, json=body | {"stream": True}) as response:
            assert response.status_code == 200, response.read()
            return [line.removeprefix("data: ") for line in response.iter_lines() if line.startswith("data: ")]

    def chunks(self, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The JSON chunks of a stream that ends with [DONE]."""
        frames = self.frames(path, body)
        assert frames[-1] == "[DONE]"
        return [json.loads(frame) for frame in frames[:-1]]

    def metrics(self) -> dict[str, float]:
        """Samples without labels, by name."""
        samples = {}
        for line in self.client.get("/metrics").text.splitlines():
            if not line.startswith("#") and "{" not in line:
                name, value = line.split()[:2]
                samples[name] = float(value)
        return samples

    def engine_pid(self) -> int:
        """The engine process: the one child of the server that runs overt.engine."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                    command = (entry / "cmdline").read_bytes()
                except (OSError, IndexError):
                    continue
                if parent == self.process.pid and b"overt.engine" in command:
                    return int(entry.name)
        raise AssertionError("the server has no engine process")

    def wait_idle(self, timeout: float = 30.0) -> dict[str, float]:
        """Waits until nothing runs, waits or holds blocks; returns the metrics seen last."""
        names = ("overt:requests_running", "overt:requests_waiting", "overt:kv_blocks_used")
        deadline = time.monotonic() + timeout
        while True:
            metrics = self.metrics()
            if all(metrics[name] == 0 for name in names) or time.monotonic() > deadline:
                return metrics
            time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(*args: str, env: dict[str, str] | None = None) -> Iterator[Server]:
    """A server on a free port; stopped at the end, however it went."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        log_file = Path(folder) / "log"
        command = [sys.executable, "-m", "overt", "serve", *args, "--host", "127.0.0.1", "--port", str(port)]
        with log_file.open("wb") as log:
            # Texts are compared exactly, which only one and the same arithmetic allows.
            environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", **(env or {})}
            process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
            )
        server = Server(process, port, log_file)
        try:
            _wait_ready(server)
            yield server
        finally:
            server.client.close()
            stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_ready(server: Server) -> None:
    deadline = time.monotonic() + START_S
    while True:
        assert server.process.poll() is None, f"the server ended at start:\n{server.log}"
        assert time.monotonic() < deadline, f"the server was not ready in {START_S:.0f} s:\n{server.log}"
        try:
            if server.client.get("/ready").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)


def text_of(chunks: Sequence[dict[str, Any]], index: int = 0) -> str:
    """The joined text of one choice of a stream, chat or completions."""
    parts = []
    for chunk in chunks:
        for choice in chunk.get("choices", ()):
            if choice["index"] == index:
                parts.append(choice["text"] if "text" in choice else choice["delta"].get("content") or "")
    return "".join(parts)
