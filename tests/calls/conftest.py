"""Servers of the scripted model that read and hold its answers in three ways."""

from collections.abc import Iterator

import pytest

from calls.said import ANSWERS, PARSERS
from serve.scripted import scripted
from serve.server import Server


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with scripted(tmp_path_factory.mktemp("calls"), ANSWERS, *PARSERS) as server:
        yield server


@pytest.fixture(scope="package")
def unheld(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Calls are read, and nothing is constrained."""
    folder = tmp_path_factory.mktemp("unheld")
    with scripted(folder, ANSWERS, *PARSERS, "--grammar-backend", "none") as server:
        yield server


@pytest.fixture(scope="package")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Nothing is read."""
    flags = ("--tool-call-parser", "none", "--reasoning-parser", "none")
    with scripted(tmp_path_factory.mktemp("bare"), ANSWERS, *flags) as server:
        yield server
