"""Flags, and a server's life from start to exit. Its front and engine process stand in for the real ones."""

import dataclasses
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from api.fake import post, read_all, read_until, split, unchunked
from overt.api.state import front_config
from overt.cli.config import ServeConfig
from overt.cli.flags import parse_serve
from overt.contract.limits import Limits

CHAT = {"messages": [{"role": "user", "content": "hi"}]}
PATH = "/v1/chat/completions"


def test_no_flags_serve_the_demo() -> None:
    assert parse_serve([]) == ServeConfig()
    assert parse_serve([]).model == "demo"


def test_flags() -> None:
    line = (
        "org/model --served-model-name a b --host 0.0.0.0 --port 0 --max-model-len 4k --max-num-seqs 8 "
        "--dtype half "
        "--max_num_batched_tokens=512 --kv-cache-memory-bytes 1.5G --no-enable-prefix-caching "
        "--async-scheduling "
        "--enforce-eager --model-runner script --script x.json --seed 3 "
        "--tool-call-parser hermes --drain-timeout 5 --logprobs-mode processed_logprobs "
        "--max-body-bytes 1M --max-n 4 --max-logprobs 0"
    )
    config = parse_serve(line.split())
    assert config == ServeConfig(
        model="org/model",
        served_model_name=["a", "b"],
        host="0.0.0.0",
        port=0,
        max_model_len=4000,
        max_num_seqs=8,
        dtype="float16",
        max_num_batched_tokens=512,
        kv_cache_memory_bytes=3 * 2**29,
        enable_prefix_caching=False,
        async_scheduling=True,
        enforce_eager=True,
        model_runner="script",
        script=Path("x.json"),
        seed=3,
        tool_call_parser="hermes",
        drain_timeout=5.0,
        logprobs_mode="processed_logprobs",
        limits=Limits(max_body_bytes=2**20, max_n=4, max_logprobs=0),
    )
    assert ServeConfig.from_json(config.to_json()) == config
    assert ServeConfig.from_json(ServeConfig().to_json()) == ServeConfig()
    assert parse_serve(["--model", "x"]) == parse_serve(["x"]) == parse_serve(["x", "--model", "x"])


def test_every_limit_has_a_flag_with_its_default() -> None:
    for limit in dataclasses.fields(Limits):
        flag = f"--{limit.name.replace('_', '-')}"
        assert getattr(parse_serve([flag, "9"]).limits, limit.name) == 9
        assert parse_serve([]).limits == Limits()
    config = ServeConfig(limits=Limits(max_choices=7, max_prompt_logprobs_bytes=8))
    settings = json.loads(front_config(config))
    assert (settings["max_choices"], settings["max_prompt_logprobs_bytes"]) == (7, 8)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--max-mode-len 5", "there is no flag --max-mode-len; did you mean --max-model-len?"),
        ("--max-model-le 5", "did you mean --max-model-len?"),
        ("--qwertyuiop", "there is no flag --qwertyuiop"),
        ("a b", "what is 'b' for?"),
        ("a --model b", "the model is given twice"),
        ("--port 70000", "'70000' is no port"),
        ("--max-num-seqs 0", "'0' is no whole number of at least 1"),
        ("--max-model-len 1.5", "'1.5' is no whole number"),
        ("--drain-timeout nan", "'nan' is no number"),
        ("--max-n 0", "'0' is no whole number of at least 1"),
        ("--max-logprobs -1", "'-1' is no whole number of at least 0"),
        ("--max-json-depth 101", "'101' is no whole number from 1 to 100"),
        ("--logprobs-mode raw_logits", "invalid choice: 'raw_logits'"),
        ("--dtype int8", "invalid choice: 'int8'"),
        ("--model-runner script", "needs --script FILE"),
    ],
)
def test_flags_that_are_wrong(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_serve(line.split())
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)


def test_help_and_import_load_nothing_heavy() -> None:
    code = (
        "import sys, overt, overt.cli\n"
        "try: overt.cli.main(['serve', '--help'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'torch', 'transformers', 'numpy', 'fastapi', 'pydantic', 'uvicorn', 'overt._core'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    lines = python(code).stdout.splitlines()
    assert lines[0].startswith("usage: overt serve")
    assert lines[-1] == "[]"


def test_the_api_process_needs_no_model_code() -> None:
    code = (
        "import sys; import api.fake, overt.api.app, overt.api.server, overt.cli.launch\n"
        "print(sorted({'torch', 'transformers', 'numpy'} & set(sys.modules)))"
    )
    assert python(f"import sys; sys.path[:0] = {sys.path!r}\n{code}").stdout == "[]\n"


def test_commands(capsys: pytest.CaptureFixture[str]) -> None:
    from overt.cli import main

    assert main([]) == main(["--help"]) == 0
    assert "overt serve --help" in capsys.readouterr().out
    assert main(["sevre"]) == 2
    assert "no command 'sevre'" in capsys.readouterr().err


# --- a server's life ---

SERVER = """
import subprocess, sys, threading, time
sys.path[:0] = {path!r}
import api.fake as fake
from overt.cli import launch as command
from overt.api.state import front_config
from overt.cli.config import ServeConfig

front = fake.FakeFront()
plan = {plan!r}

def respond(request):
    if request.params.stream:
        request.frame("a", status=200)
        if request.params.user == "brief":
            threading.Timer(2.0, request.frame, ["[DONE]"], dict(ended=True)).start()
    else:
        request.whole(200, dict(ok=1))
front.respond = respond
process = None

def wait_ready(timeout_ms):
    if plan == "refuses":
        raise RuntimeError("there is no such model")
    if plan == "loads":
        print("loading", flush=True)
        time.sleep(timeout_ms / 1000)
        return None
    return fake.json.dumps(fake.HELLO).encode()
front.wait_ready = wait_ready

def health():
    return (True, "") if process.poll() is None else (False, "The engine process is gone.")
front.health = health

def close():
    # As the core does: every live request ends with an error, and the engine sees its link close.
    for request in front.requests:
        request.frame('{{"error": "stopping"}}', ended=True)
    process.stdin.close()
front.close = close

def start_engine(config):
    global process
    import socket
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    print("engine", process.pid, flush=True)
    return socket.socketpair()[0], process
command.start_engine = start_engine

core = sys.modules["overt._core"]
core.Front = lambda fd, config: front
core.__version__ = "1.2.3"
code = command.serve(ServeConfig(**{settings!r}))
print("engine ended", process is None or process.poll() is not None, flush=True)
sys.exit(code)
"""


@contextmanager
def server(plan: str = "serves", **settings: Any) -> Iterator[subprocess.Popen[str]]:
    settings = {"port": 0, **settings}
    code = SERVER.format(path=sys.path, plan=plan, settings=settings)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line_with(process: subprocess.Popen[str], mark: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if mark in line:
            return line
    raise AssertionError(f"{mark!r} was not printed: {process.communicate()[1]}")


def ready(process: subprocess.Popen[str]) -> tuple[int, int]:
    """The engine's process id and the port."""
    engine = int(line_with(process, "engine").split()[1])
    port = int(line_with(process, "ready: tiny on http://127.0.0.1:").rpartition(":")[2])
    assert f"curl http://127.0.0.1:{port}/v1/chat/completions" in line_with(process, "curl")
    return engine, port


def connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.settimeout(10)
    return connection


def ask(port: int, request: bytes) -> tuple[int, bytes]:
    with connect(port) as connection:
        connection.sendall(request)
        status, _, body = split(read_all(connection))
        return status, body


GET_READY = b"GET /ready HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
GET_HEALTH = b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=20)
    return process.returncode, out, err


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_that_is_shown_works() -> None:
    with server() as process:
        line_with(process, "ready")
        command = line_with(process, "curl").strip()
        answer = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
        assert json.loads(answer.stdout) == {"ok": 1}


def test_term_lets_running_streams_end_and_exits_with_0() -> None:
    with server() as process:
        _, port = ready(process)
        with connect(port) as connection, connect(port) as idle:
            connection.sendall(post(PATH, CHAT | {"stream": True, "user": "brief"}))
            seen = read_until(connection, b"data: a\n\n")
            process.send_signal(signal.SIGTERM)
            # Who asks meanwhile is told.
            deadline = time.monotonic() + 10
            while ask(port, GET_READY)[0] != 503:
                assert time.monotonic() < deadline
            assert ask(port, post(PATH, CHAT, close=True))[0] == 503
            assert ask(port, GET_HEALTH)[0] == 200
            seen += read_all(connection)
            assert read_all(idle) == b""
            assert unchunked(split(seen)[2]) == b"data: a\n\ndata: [DONE]\n\n"
        code, out, err = finish(process)
        assert (code, err) == (0, "")
        assert "engine ended True" in out


def test_streams_that_outlive_the_drain_get_an_error_frame() -> None:
    with server(drain_timeout=0.3) as process:
        _, port = ready(process)
        with connect(port) as connection:
            connection.sendall(post(PATH, CHAT | {"stream": True}))
            seen = read_until(connection, b"data: a\n\n")
            process.send_signal(signal.SIGTERM)
            seen += read_all(connection)
        assert unchunked(split(seen)[2]) == b'data: a\n\ndata: {"error": "stopping"}\n\n'
        assert finish(process)[0] == 0


def test_a_dead_engine_is_told_for_a_while_and_then_the_server_ends() -> None:
    with server() as process:
        engine, port = ready(process)
        assert ask(port, GET_HEALTH)[0] == 200
        os.kill(engine, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while ask(port, GET_HEALTH)[0] != 503:
            assert time.monotonic() < deadline
        code, _, _ = finish(process)
        assert code == 1


def test_an_engine_that_refuses_is_reported_in_a_line() -> None:
    with server("refuses") as process:
        code, out, err = finish(process)
        assert (code, err) == (1, "overt serve: there is no such model\n")
        assert "engine ended True" in out


def test_a_taken_port_is_reported_in_a_line_and_no_engine_starts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with server(port=port) as process:
            code, out, err = finish(process)
    assert code == 1
    assert err == (
        f"overt serve: cannot listen on 127.0.0.1:{port}: Address already in use; choose another --host or --port\n"
    )
    assert "engine ended True" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_start(number: signal.Signals) -> None:
    with server("loads") as process:
        line_with(process, "loading")
        process.send_signal(number)
        code, out, err = finish(process)
        assert (code, err) == (128 + number, "")
        assert "engine ended True" in out
