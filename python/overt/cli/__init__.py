"""The command line. Loads nothing heavy before it knows what is asked for."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """`overt COMMAND …`. Returns the exit code."""
    from overt.cli.commands import run

    try:
        return run(sys.argv[1:] if argv is None else list(argv))
    except ValueError as error:
        # A package that describes a format wrongly is told in a line; whatever else is a fault of ours.
        if type(error).__name__ != "PluginError":
            raise
        print(f"overt: {error}", file=sys.stderr)
        return 1


def serve(argv: Sequence[str] | None = None) -> int:
    """The console script `serve`: `overt serve`."""
    return main(["serve", *(sys.argv[1:] if argv is None else argv)])
