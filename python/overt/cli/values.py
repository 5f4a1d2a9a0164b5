"""What the values of flags may be."""

import argparse
import difflib
import json
import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

_SUFFIXES = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
_LARGEST = 2**63 - 1
_PEERS = ("vllm", "sglang")


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Reads a whole number in a range: `4096`, `4k` (4000), `4K` (4096), `1.5G`."""

    def read(text: str) -> int:
        factor = _SUFFIXES.get(text[-1:], 1)
        value = number(text[:-1] if factor > 1 else text) * factor
        if value != int(value) or not least <= value <= (_LARGEST if most is None else most):
            span = f"of at least {least}" if most is None else f"from {least} to {most}"
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number {span}")
        return int(value)

    return read


count = whole(1)


def port(text: str) -> int:
    """A port."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; ports are 0 to 65535")
    return int(text)


def _at_least(unit: str, least: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = number(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is too little; at least {least:g} {unit}")
        return value

    return read


def number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is no number")
    return value


seconds = _at_least("seconds", 0.001)
milliseconds = _at_least("milliseconds", 0.0)


def tool_parser(text: str) -> str:
    """A format of tool calls."""
    parsers = _parsers()
    return _parser_named(text, (*parsers.DECLARED, *parsers.names().tool))


def reasoning_parser(text: str) -> str:
    """A format of reasoning."""
    parsers = _parsers()
    return _parser_named(text, (*parsers.DECLARED, *parsers.names().reasoning))


def _parsers() -> ModuleType:
    # What they are called is known to the core and to packages alone, which a look at the help does not need.
    from overt.plugins import PluginError

    try:
        from overt import parsers
    except PluginError as error:
        raise argparse.ArgumentTypeError(f"{error}. Mend or uninstall the package that it is of") from error
    return parsers


def _parser_named(text: str, names: Sequence[str]) -> str:
    known = ("auto", "none", *names)
    if text not in known:
        near = difflib.get_close_matches(text, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise argparse.ArgumentTypeError(f"{text!r} is no format that is known; {hint}There are {', '.join(known)}")
    return text


def json_object(text: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is no JSON object")
    return value


def _integer(text: str) -> int:
    """An integer that 64 bits hold: others would become floats on their way."""
    value = int(text)
    if not -(2**63) <= value < 2**64:
        raise argparse.ArgumentTypeError(f"64 bits do not hold the integer {text[:80]}")
    return value


def words(text: str) -> list[str]:
    """One word, or a JSON list of them, as vLLM takes it."""
    if not text.startswith("["):
        return [text]
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is no JSON list of texts")
    return value


def key(text: str) -> str:
    """An API key. The message does not repeat it."""
    if not text or text != text.strip():
        raise argparse.ArgumentTypeError("an API key has at least one character, and no space around it")
    return text


def root_path(text: str) -> str:
    """A path that begins with a slash, without one at its end."""
    path = text.rstrip("/")
    if path and not path.startswith("/"):
        raise argparse.ArgumentTypeError(f"{text!r} must begin with a slash, such as /x")
    return path


def peers(text: str) -> tuple[str, ...]:
    """Peers' names with commas between them."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in _PEERS:
            raise argparse.ArgumentTypeError(f"{name!r} is not known; there is {' and '.join(_PEERS)}")
    return names
