"""The servers, and the count at the end."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from contract.proofs.ledger import LEDGER
from contract.proofs.servers import Servers, start


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Every proof's servers."""
    with ExitStack() as stack:
        yield start(tmp_path_factory.mktemp("proofs"), stack)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says how many fields are proven."""
    for line in LEDGER.lines():
        terminalreporter.write_line(line)
