"""Prints what a command was asked for."""

import os
import sys


def show(text: str) -> None:
    """Prints a text to whoever reads it, even only its beginning."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Whoever reads has read enough; the interpreter must not try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
