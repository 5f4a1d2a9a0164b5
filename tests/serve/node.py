"""Scripts for Node, with packages that npm installs once."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "node"


def run_node(script: str, *args: str) -> Any:
    """What the script prints, as JSON; skips where there is no npm."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    wanted = json.loads((FOLDER / "package.json").read_text())["dependencies"]
    if not all((FOLDER / "node_modules" / name).is_dir() for name in wanted):
        subprocess.run(
            ["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=FOLDER, check=True, timeout=300
        )
    run = subprocess.run(["node", script, *args], cwd=FOLDER, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)
