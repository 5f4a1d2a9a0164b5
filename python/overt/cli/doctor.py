"""`overt doctor`: what this machine has, and what of it would keep a server from running."""

import argparse
import importlib
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple

from overt.cli import values

GIB = 2**30


class Finding(NamedTuple):
    """One line. `broken` keeps a server from running; `note` is good to know."""

    what: str
    state: Literal["ok", "note", "broken"]
    text: str


def doctor(argv: Sequence[str]) -> int:
    """Prints what it finds. Returns 1 where something is broken, else 0."""
    parser = argparse.ArgumentParser(prog="overt doctor", description="Looks whether a server can run here.")
    parser.add_argument("--host", default="127.0.0.1", help="where it would listen")
    parser.add_argument("--port", type=values.port, default=8000)
    where = parser.parse_args(argv)
    looks: list[Callable[[], Iterator[Finding]]] = [
        _python,
        _extension,
        _libraries,
        _gpu,
        _command,
        lambda: _port(where.host, where.port),
        _memory,
        _disk,
    ]
    broken = 0
    for look in looks:
        for finding in look():
            broken += finding.state == "broken"
            print(f"{finding.state:<7} {finding.what:<13} {finding.text}", flush=True)
    print(f"{broken} broken" if broken else "nothing is broken")
    return 1 if broken else 0


def _python() -> Iterator[Finding]:
    yield Finding("python", "ok", f"{platform.python_version()} at {sys.executable} on {platform.machine()}")


def _extension() -> Iterator[Finding]:
    try:
        from overt import _core
    except ImportError as error:
        yield Finding("overt", "broken", f"its extension does not load: {error}; install the package again")
    else:
        yield Finding("overt", "ok", f"{_core.__version__}, extension loaded")


def _libraries() -> Iterator[Finding]:
    for name in ("torch", "transformers", "fastapi", "uvicorn"):
        try:
            importlib.import_module(name)
        except Exception as error:
            # Libraries with parts in C fail in ways of their own.
            yield Finding(name, "broken", f"does not import: {type(error).__name__}: {error}")
        else:
            yield Finding(name, "ok", metadata.version(name))


def _gpu() -> Iterator[Finding]:
    try:
        import torch
    except Exception:
        return
    if torch.version.cuda is None:
        yield Finding("gpu", "note", "this torch is built without CUDA: models run on the CPU")
    elif not torch.cuda.is_available():
        yield Finding("gpu", "note", f"CUDA {torch.version.cuda}, and no GPU is seen: models run on the CPU")
    else:
        for index in range(torch.cuda.device_count()):
            gpu = torch.cuda.get_device_properties(index)
            used = "" if index == 0 else "; a server uses the first one it sees"
            size = f"{gpu.total_memory / GIB:.0f} GiB"
            yield Finding("gpu", "ok", f"{gpu.name}, {size}, CUDA {torch.version.cuda}{used}")


def _command() -> Iterator[Finding]:
    found = shutil.which("serve")
    if found is None:
        yield Finding("serve", "note", "not on the PATH; `python -m overt serve` is the same command")
    elif _is_ours(Path(found)):
        yield Finding("serve", "ok", found)
    else:
        yield Finding("serve", "note", f"{found} is another program's; use `overt serve` or `python -m overt serve`")


def _is_ours(script: Path) -> bool:
    with suppress(OSError):
        return b"overt.cli" in script.read_bytes()[:4096]
    return False


def _port(host: str, port: int) -> Iterator[Finding]:
    from overt.cli.launch import CannotServeError, bind

    try:
        bind(host, port).close()
    except CannotServeError as error:
        yield Finding("port", "broken", str(error))
    else:
        yield Finding("port", "ok", f"{host}:{port} is free")


def _memory() -> Iterator[Finding]:
    free = available_memory()
    if free is None:
        return
    text = f"{free / GIB:.1f} GiB free; a CPU needs a model's weights and KV in it"
    yield Finding("memory", "note" if free < 2 * GIB else "ok", text)


def available_memory() -> int | None:
    """Bytes that this process may take, within its container; None where the system does not tell."""
    with suppress(OSError, ValueError):
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        free = int(lines["MemAvailable"].split()[0]) * 1024
        with suppress(OSError, ValueError):
            limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
            free = min(free, limit - int(Path("/sys/fs/cgroup/memory.current").read_text()))
        return free
    return None


def _disk() -> Iterator[Finding]:
    home = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser()
    folder = next((parent for parent in (home, *home.parents) if parent.exists()), Path("/"))
    free = shutil.disk_usage(folder).free
    text = f"{free / GIB:.1f} GiB free for models from the Hub ({home}); HF_HOME names another place"
    yield Finding("disk", "note" if free < 10 * GIB else "ok", text)
