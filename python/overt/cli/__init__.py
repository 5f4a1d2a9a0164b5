"""The command line. Loads nothing heavy before it knows what is asked for."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """`overt COMMAND …`. Returns the exit code."""
    from overt.cli.commands import run

    return run(sys.argv[1:] if argv is None else list(argv))


def serve(argv: Sequence[str] | None = None) -> int:
    """The console script `serve`: `overt serve`."""
    return main(["serve", *(sys.argv[1:] if argv is None else argv)])
