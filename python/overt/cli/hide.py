"""Takes secrets out of the command line that other users of the machine can read."""

import ctypes
from collections.abc import Sequence
from pathlib import Path

_ARG_START, _ARG_END = 47, 48
"""Places in /proc/self/stat, counted from 0 (see proc_pid_stat(5))."""


def hide(secrets: Sequence[str]) -> None:
    """Overwrites arguments of this process that are one of `secrets`, or end with one behind a `=`, with stars.

    Where the system has no /proc with their address, nothing happens.
    """
    if not secrets:
        return
    try:
        # The process's name may have spaces and brackets.
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = (int(fields[place - 2]) for place in (_ARG_START, _ARG_END))
    except (OSError, ValueError, IndexError):
        return
    if not 0 < start < end:
        return
    line = ctypes.string_at(start, end - start)
    masked = b"\0".join(_masked(word, secrets) for word in line.split(b"\0"))
    ctypes.memmove(start, masked, len(line))


def _masked(word: bytes, secrets: Sequence[str]) -> bytes:
    head, equals, value = word.partition(b"=")
    for secret in map(str.encode, secrets):
        if word == secret:
            return b"*" * len(word)
        if equals and value == secret:
            return head + equals + b"*" * len(value)
    return word
