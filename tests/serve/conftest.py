"""Servers shared by the tests of a module: starting one costs seconds."""

from collections.abc import Iterator

import pytest

from serve.server import Server, serving


@pytest.fixture(scope="session")
def demo() -> Iterator[Server]:
    """The demo model."""
    with serving("demo", "--max-model-len", "1024", "--max-num-seqs", "32") as server:
        yield server


@pytest.fixture(scope="session")
def sim() -> Iterator[Server]:
    """The simulated runner at 2 ms a step."""
    with serving("demo", "--model-runner", "sim", "--sim-step-ms", "2") as server:
        yield server
