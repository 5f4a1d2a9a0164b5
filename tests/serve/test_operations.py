"""What operators rely on, with a real engine: keys that stay secret, probes past the queue, load."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serve.server import Server, serving
from serve.test_drain import PATH, Stream, ask, scripted, until

BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}
OFFLINE = {**os.environ, "HF_HUB_OFFLINE": "1"}
KEY = "from-the-command-line"
ENV_KEY = "from-the-environment"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Server]:
    """A server with two keys, behind a path, with a flag that changes nothing."""
    flags = ("--api-key", KEY, "--root-path", "/x", "--open-metrics", "--metrics-compat", "vllm,sglang")
    sim = ("demo", "--model-runner", "sim", "--sim-step-ms", "2", "--swap-space", "4")
    with serving(*sim, *flags, env={"VLLM_API_KEY": ENV_KEY}) as server:
        yield server


def test_keys_are_seen_by_nobody(guarded: Server) -> None:
    engine = Path(f"/proc/{guarded.engine_pid()}")
    seen = Path(f"/proc/{guarded.process.pid}/cmdline").read_text()
    assert "--api-key\0****" in seen
    for text in (seen, (engine / "cmdline").read_text(), (engine / "environ").read_text(), guarded.log):
        assert KEY not in text
        assert ENV_KEY not in text
    assert "--swap-space changes nothing here" in guarded.log
    assert "Authorization: Bearer KEY" in guarded.log


@pytest.mark.parametrize("prefix", ["", "/x"])
def test_both_keys_open_both_paths(guarded: Server, prefix: str) -> None:
    client = guarded.client
    for headers in ({"authorization": f"Bearer {KEY}"}, {"x-api-key": ENV_KEY}):
        answer = client.post(f"{prefix}{PATH}", json=BODY, headers=headers)
        assert answer.status_code == 200
        assert answer.json()["usage"]["completion_tokens"] == 4
    for path in (PATH, "/invocations", "/tokenize", "/v1/models", "/load", "/health_generate", "/docs", "/nowhere"):
        assert client.get(f"{prefix}{path}").status_code == 401
    for path in ("/health", "/live", "/ready", "/ping", "/version", "/metrics"):
        assert client.get(f"{prefix}{path}").status_code == 200


def test_load_comes_with_whole_answers_and_streams(guarded: Server) -> None:
    headers = {"x-api-key": KEY, "endpoint-load-metrics-format": "TEXT"}
    answer = guarded.client.post(PATH, json=BODY, headers=headers)
    assert answer.headers["endpoint-load-metrics"].startswith("TEXT named_metrics.kv_cache_usage_perc=0")
    with guarded.client.stream("POST", PATH, json=BODY | {"stream": True}, headers=headers) as response:
        assert "named_metrics.num_requests_waiting=0" in response.headers["endpoint-load-metrics"]
        response.read()


def test_the_peers_names_are_there(guarded: Server) -> None:
    text = guarded.client.get("/metrics").text
    assert 'vllm:num_requests_running{engine="0",model_name="SmolLM2-135M-Instruct"}' in text
    assert 'sglang:num_running_reqs{engine_type="unified",model_name="SmolLM2-135M-Instruct"}' in text


def test_invocations_takes_both_bodies(guarded: Server) -> None:
    headers = {"x-api-key": KEY}
    chat = guarded.client.post("/invocations", json=BODY, headers=headers).json()
    assert chat["object"] == "chat.completion"
    text = guarded.client.post("/invocations", json={"prompt": "a", "max_tokens": 2}, headers=headers).json()
    assert text["object"] == "text_completion"


def test_a_probe_passes_the_queue(tmp_path: Path) -> None:
    with serving(*scripted(tmp_path, step_ms=20), "--max-num-seqs", "1") as server:
        running = Stream(server, max_tokens=200)
        waiting = [Stream(server, wait=False, max_tokens=5) for _ in range(3)]
        until(lambda: server.metrics()["overt:requests_waiting"] == 3)
        load = server.client.get("/load").json()
        assert (load["server_load"], load["requests_running"], load["requests_waiting"]) == (4, 1, 3)
        status, _, document = ask(server, "/health_generate")
        assert (status, document) == (200, {"status": "ok"})
        # It came while the others still waited.
        assert server.metrics()["overt:requests_waiting"] == 3
        for stream in [running, *waiting]:
            assert stream.end()[-1] == "[DONE]"
        assert server.client.get("/load").json()["server_load"] == 0
        assert ask(server, "/health_generate")[0] == 200


def test_a_probe_of_a_stalled_engine_is_503_by_its_deadline(tmp_path: Path) -> None:
    script = scripted(tmp_path, stall_at=3, stall_s=4)
    with serving(*script, "--health-generate-timeout", "0.5") as server:
        stream = Stream(server, wait=False)
        until(lambda: len(stream.lines) >= 3)
        begun = time.monotonic()
        status, headers, document = ask(server, "/health_generate")
        took = time.monotonic() - begun
        assert status == 503
        assert took < 3.5, "it waited for the step"
        assert int(headers["retry-after"]) >= 1
        assert "0.5 s" in document["error"]["message"]
        # Merely slow, by the watchdog's measure.
        assert ask(server, "/health")[0] == 200
        assert stream.end()[-1] == "[DONE]"
        until(lambda: ask(server, "/health_generate")[0] == 200)


def test_capabilities_need_no_weights() -> None:
    command = [sys.executable, "-m", "overt", "capabilities", "demo", "--profile", "vllm", "--swap-space", "4"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert "--swap-space changes nothing here" in run.stderr
    assert "max_tokens" in run.stdout
    run = subprocess.run([*command, "--json", "--max-n", "7"], capture_output=True, text=True, timeout=120)
    document = json.loads(run.stdout)
    assert document["settings"]["profile"] == "vllm"
    assert {"name": "max_n", "value": 7} in [
        {key: limit[key] for key in ("name", "value")} for limit in document["limits"]
    ]
    assert any(route["path"] == "/invocations" for route in document["routes"])
    wrong = subprocess.run([*command[:4], "no/such-model"], capture_output=True, text=True, timeout=120, env=OFFLINE)
    assert wrong.returncode == 1
    assert "no/such-model" in wrong.stderr
    assert "Traceback" not in wrong.stderr
