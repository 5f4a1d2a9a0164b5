"""What a streamed token costs in the API process, and how evenly tokens arrive.

    python bench/frontend.py [--streams 64 256] [--rounds 3] [--json FILE]

The engine is the simulated runner: one token a stream every 10 ms, K ms of which are spent in bytecode in its own
process. Beside it, in the same run and interleaved: a raw uvicorn app that writes prepared bytes. The client is
`overt-bench`, which checks every stream's text. CPU is that of the server's API process alone.
"""

import argparse
import json
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from overt import _core

STEP_MS = 10
TOKENS = 128
BODY = {
    "model": "SmolLM2-135M-Instruct",
    "messages": [{"role": "user", "content": "Tell me the story of the lighthouse."}],
    "max_tokens": TOKENS,
    "temperature": 0,
    "stream": True,
}


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(command: list[str], port: int, path: str) -> Iterator[int]:
    """Runs a server until the block ends; gives its process id once `path` answers."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5).read()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise RuntimeError(f"no server on port {port}")
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def overt(gil_ms: float, port: int) -> list[str]:
    """The command of an Overt server over the simulated runner."""
    flags = ["--model-runner", "sim", "--sim-step-ms", str(STEP_MS), "--sim-gil-ms", str(gil_ms)]
    return [sys.executable, "-m", "overt", "serve", "demo", *flags, "--port", str(port)]


def load(port: int, pid: int, streams: int) -> dict[str, Any]:
    """One round of `streams` concurrent streams, three requests each."""
    options = {
        "addr": f"127.0.0.1:{port}",
        "path": "/v1/chat/completions",
        "body": BODY,
        "concurrency": streams,
        "requests": streams * 3,
        "stream": True,
        "pid": pid,
    }
    report: dict[str, Any] = json.loads(_core.bench(json.dumps(options).encode()))
    if report["requests_failed"] or report["texts_wrong"]:
        raise RuntimeError(f"streams failed or said something else: {report}")
    return report


def main() -> None:
    """Runs the rounds and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--gil-ms", type=float, nargs="+", default=[0, 3])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()

    raw = Path(__file__).with_name("raw_app.py")
    rows: list[dict[str, Any]] = []
    for streams in args.streams:
        servers: dict[str, tuple[list[str], int, str]] = {}
        for gil_ms in args.gil_ms:
            port = free_port()
            servers[f"overt, K = {gil_ms:g} ms"] = (overt(gil_ms, port), port, "/ready")
        port = free_port()
        servers["raw uvicorn"] = ([sys.executable, str(raw), str(port), str(STEP_MS)], port, "/")
        rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in servers}
        for _ in range(args.rounds):
            for name, (command, port, path) in servers.items():
                with running(command, port, path) as pid:
                    rounds[name].append(load(port, pid, streams))
        for name, reports in rounds.items():
            rows.append({"streams": streams, "server": name} | _medians(reports))
    print("| streams | server | CPU µs a token | inter-token p50 ms | p99 ms | tokens/s | client µs a token |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['streams']} | {row['server']} | {row['cpu_us']:.1f} | {row['p50_ms']:.2f} "
            f"| {row['p99_ms']:.2f} | {row['tokens_per_s']:.0f} | {row['client_us']:.1f} |"
        )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


def _medians(reports: list[dict[str, Any]]) -> dict[str, float]:
    def median(name: str) -> float:
        return statistics.median(report[name] for report in reports)

    return {
        "cpu_us": median("server_cpu_us_per_token"),
        "p50_ms": statistics.median(report["inter_token_ms"]["p50"] for report in reports),
        "p99_ms": statistics.median(report["inter_token_ms"]["p99"] for report in reports),
        "tokens_per_s": median("tokens_per_s"),
        "client_us": median("own_cpu_us_per_token"),
    }


if __name__ == "__main__":
    main()
