"""JSON files of a checkpoint, and their values: every function raises ModelError naming the file and key that are not
as needed."""

import json
import math
import os
import reprlib
from pathlib import Path
from typing import Any

from overt.models.files import ModelError

MOST = 2**31 - 1
"""The largest count or token id."""


def read_json(file: Path, *, wanted: str) -> dict[str, Any]:
    """The JSON object in `file`. Raises ModelError where there is none; `wanted` says why it is needed."""
    try:
        document = json.loads(file.read_bytes())
    except FileNotFoundError as error:
        raise ModelError(f"{file} is missing{'; ' + wanted if wanted else ''}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{file} cannot be read as JSON: {error}") from error
    if not isinstance(document, dict):
        raise ModelError(f"{file} must hold a JSON object, not a {type(document).__name__}")
    return document


def optional_json(file: Path) -> dict[str, Any]:
    """The JSON object in `file`, empty where there is no such file. Raises ModelError."""
    return read_json(file, wanted="") if os.path.lexists(file) else {}


def table(value: Any, where: str) -> dict[str, Any]:
    """An object; null is an empty one."""
    if value is not None and not isinstance(value, dict):
        raise wrong(value, where, "an object")
    return value or {}


def array(value: Any, where: str) -> list[Any]:
    """A list; null is an empty one."""
    if value is not None and not isinstance(value, list):
        raise wrong(value, where, "a list")
    return value or []


def text(value: Any, where: str, needed: str = "a text") -> str:
    """A text that can be written as UTF-8: JSON may hold half a character."""
    if not isinstance(value, str):
        raise wrong(value, where, needed)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ModelError(f"{where} holds half a character (a lone surrogate); write it as UTF-8") from error
    return value


def whole(value: Any, where: str, *, least: int = 1) -> int:
    """A whole number from `least` to `MOST`."""
    if type(value) is not int or not least <= value <= MOST:
        raise wrong(value, where, f"a whole number from {least} to {MOST}")
    return value


def number(value: Any, where: str, *, above: float = -math.inf) -> float:
    """A finite number greater than `above`."""
    try:
        found = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:
        found = math.inf
    if not (math.isfinite(found) and found > above):
        raise wrong(value, where, "a finite number" + (f" above {above:g}" if math.isfinite(above) else ""))
    return found


def wrong(value: Any, where: str, needed: str) -> ModelError:
    """The error that says what stands at `where` instead of what is needed."""
    return ModelError(f"{where} is {reprlib.repr(value)}; it must be {needed}")
