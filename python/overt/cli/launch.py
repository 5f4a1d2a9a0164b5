"""`overt serve`: starts the engine process, waits for it, serves, and ends it again."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

from overt.cli.config import KEY_VARIABLES, ServeConfig
from overt.cli.hide import hide

if TYPE_CHECKING:
    from overt._core import Front
    from overt.contract.deployment import Deployment

READY_SLICE_MS = 200
"""How long a wait goes without a look at signals and at the engine process."""

ENGINE_EXIT_S = 5.0
"""Time for the engine to leave by itself once its link is closed."""


ENGINE_ENV = {
    # The model's threads meet hundreds of times a token. Asleep they cost a third of the speed; spinning as long as
    # the OpenMP runtime would by default, they fall to a tenth of it when anything else wants a core. This is some
    # tens of microseconds: 98 % of the speed alone, over a third of it beside a busy process (two cores).
    "GOMP_SPINCOUNT": "5000",
}
"""The engine's environment where the user's own says nothing else."""


class CannotServeError(Exception):
    """Why there is no server, for the operator."""


class InterruptedStartError(Exception):
    """A signal came before the server was ready."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def serve(config: ServeConfig) -> int:
    """Serves until told to stop. Returns the exit code: 0 after a drain, 1 where it cannot serve."""
    hide([*config.api_key, *([config.metrics_user_secret] if config.metrics_user_secret else ())])
    for note in config.notes:
        print(f"overt serve: {note}", file=sys.stderr, flush=True)
    try:
        with _interruptible(), contextlib.ExitStack() as stack:
            listener = stack.enter_context(bind(config.host, config.port))
            link, process = start_engine(config)
            stack.callback(end_engine, process)
            return _run(config, listener, link, process, stack.callback)
    except CannotServeError as error:
        print(f"overt serve: {error}", file=sys.stderr)
        return 1
    except InterruptedStartError as error:
        return 128 + error.number


def _run(
    config: ServeConfig,
    listener: socket.socket,
    link: socket.socket,
    process: subprocess.Popen[bytes],
    at_exit: Callable[[Callable[[], None]], object],
) -> int:
    from overt import _core
    from overt.api.app import create_app
    from overt.api.server import run
    from overt.api.state import front_config, make_state

    front = _core.Front(link.detach(), front_config(config))
    at_exit(front.close)
    hello = wait_ready(front, process)
    state = make_state(front, config, hello, _core.__version__)
    try:
        listener.listen(2048)
    except OSError as error:
        raise CannotServeError(_cannot_listen(config.host, config.port, error)) from error

    def announce() -> None:
        host, port = listener.getsockname()[:2]
        told = reads_text(state.deployment)
        print(ready_text(host, port, state.deployment.served[0], told, guarded=bool(config.api_key)), flush=True)

    return run(
        create_app(state),
        state,
        listener,
        engine_ended=lambda: process.poll() is not None,
        announce=announce,
        drain_timeout=config.drain_timeout,
        watchdog_timeout=config.watchdog_timeout,
    )


def bind(host: str, port: int) -> socket.socket:
    """A bound socket that does not listen yet: clients are refused rather than kept waiting.

    Raises CannotServeError where the address cannot be had.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotServeError(_cannot_listen(host, port, error)) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise CannotServeError(_cannot_listen(host, port, error)) from error
    return listener


def _cannot_listen(host: str, port: int, error: OSError) -> str:
    return f"cannot listen on {host}:{port}: {error.strerror or error}; choose another --host or --port"


def start_engine(config: ServeConfig) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Starts the engine process. Returns this process's end of the link, and the process."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "overt.engine", "--fd", str(theirs.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            env=ENGINE_ENV | {name: value for name, value in os.environ.items() if name not in KEY_VARIABLES},
        )
    assert process.stdin is not None
    # An engine that died at once is reported when it is waited for.
    with contextlib.suppress(BrokenPipeError), process.stdin:
        process.stdin.write(config.to_json().encode())
    return ours, process


def end_engine(process: subprocess.Popen[bytes]) -> None:
    """Waits for the engine process, whose link is closed, and ends it where it does not leave by itself."""
    try:
        process.wait(ENGINE_EXIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_ready(front: "Front", process: subprocess.Popen[bytes]) -> bytes:
    """The engine's hello. Raises CannotServeError with the engine's reason where there will be none."""
    while True:
        try:
            hello = front.wait_ready(READY_SLICE_MS)
        except RuntimeError as error:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
            code = process.returncode
            died = f" (exit code {code})" if code not in (None, 0, 1) else ""
            raise CannotServeError(f"{error}{died}") from error
        except InterruptedStartError:
            # While it loads, an engine does not look at its link.
            process.kill()
            raise
        if hello is not None:
            return hello


def reads_text(deployment: "Deployment") -> str:
    """What the operator reads of the formats that answers are read in, and why: two lines."""
    calls = _read_as(deployment.parser, "they stay text", deployment.reading.get("tool_call_parser_reason"))
    reasoning = _read_as(
        deployment.reasoning_parser, "it stays text", deployment.reading.get("reasoning_parser_reason")
    )
    return f"  tool calls: {calls}\n  reasoning:  {reasoning}\n"


def _read_as(name: str | None, without: str, reason: str | None) -> str:
    return (name or f"none, {without}") + (f" ({reason})" if reason else "")


def ready_text(host: str, port: int, model: str, told: str = "", *, guarded: bool = False) -> str:
    """What the operator reads when the server is ready: where it is, what else is `told` in whole lines, and a request
    that works."""
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    body = f'{{"model": "{model}", "messages": [{{"role": "user", "content": "Hello!"}}]}}'
    key = " -H 'Authorization: Bearer KEY'" if guarded else ""
    return (
        f"ready: {model} on {url}\n{told}"
        f"  curl {url}/v1/chat/completions -H 'Content-Type: application/json'{key} -d '{body}'"
    )


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Until the server has handlers of its own, Ctrl-C and TERM end the start, and the engine with it."""

    def stop(number: int, _: FrameType | None) -> None:
        raise InterruptedStartError(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
