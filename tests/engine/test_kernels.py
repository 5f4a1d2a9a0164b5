"""The Triton kernels: their numbers in Triton's interpreter, and that they compile for a GPU that is not here."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).with_name("kernel_cases.py")

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")


def run(*arguments: str, interpret: bool) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"TRITON_INTERPRET": "1" if interpret else "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=600)


def test_numbers_are_those_of_the_reference() -> None:
    result = run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(CASES), interpret=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "passed" in result.stdout


def test_kernels_compile_for_sm_90() -> None:
    result = run(str(CASES.with_name("kernel_compile.py")), interpret=False)
    assert result.returncode == 0, result.stdout + result.stderr
    # Attention without a softcap and sinks, then with.
    attention = ["_decode", "_combine", "_prefill"]
    assert result.stdout.split() == ["_write_kv", *attention, *attention, "_draw"]
