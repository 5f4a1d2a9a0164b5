"""`python -m overt.engine --fd N`: started by `serve`, with its settings as one JSON document on stdin."""

import argparse
import signal
import sys

from overt.cli.config import ServeConfig
from overt.engine.process import serve


def main() -> int:
    parser = argparse.ArgumentParser(prog="overt.engine", description=__doc__)
    parser.add_argument("--fd", type=int, required=True, help="this process's end of the link")
    fd: int = parser.parse_args().fd
    # The API process decides when to stop: a Ctrl-C or a TERM to the whole group must not end running
    # streams. The engine leaves when the link closes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return serve(fd, ServeConfig.from_json(sys.stdin.read()))


if __name__ == "__main__":
    sys.exit(main())
