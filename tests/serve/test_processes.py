"""What is loaded where: the API process stays light."""

import subprocess
import sys
from pathlib import Path

from serve.server import Server


def _modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_overt_imports_no_framework() -> None:
    modules = _modules_after("import overt")
    assert "overt" in modules
    assert not modules & {"torch", "transformers", "fastapi", "pydantic", "numpy"}


def test_help_imports_no_framework() -> None:
    code = "from overt.cli import serve\nsys.argv = ['serve', '--help']\ntry:\n    serve()\nexcept SystemExit: pass"
    modules = _modules_after(code)
    assert "overt.cli" in modules
    assert not modules & {"torch", "transformers", "fastapi", "pydantic", "numpy"}


def test_the_api_process_maps_neither_torch_nor_transformers(demo: Server) -> None:
    pid = demo.process.pid
    maps = Path(f"/proc/{pid}/maps").read_text()
    assert "_core.abi3.so" in maps, "looked at the wrong process"
    assert "/torch/" not in maps
    assert "/transformers/" not in maps
    assert "/numpy/" not in maps
    engine = Path(f"/proc/{demo.engine_pid()}/maps").read_text()
    assert "/torch/" in engine


def test_the_simulated_engine_needs_no_torch(sim: Server) -> None:
    maps = Path(f"/proc/{sim.engine_pid()}/maps").read_text()
    assert "_core.abi3.so" in maps
    assert "/torch/" not in maps
