"""Formats of other packages: descriptions given by entry points of the group `overt.parsers`.

An entry point names a description, or a function that gives one: JSON, as text or as an object.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from overt import _core

GROUP: Final = "overt.parsers"


class PluginError(ValueError):
    """An entry point that gives no format; the message names it."""


def register(point: EntryPoint) -> str:
    """Makes the format of an entry point known. Returns its name. Raises PluginError."""
    try:
        description: Any = point.load()
        if isinstance(description, Callable):  # type: ignore[arg-type]
            description = description()
        if isinstance(description, Mapping):
            description = json.dumps(dict(description))
        if not isinstance(description, str):
            raise TypeError(f"it gives {type(description).__name__}, not JSON as text or an object")
        return _core.register_format(description)
    except Exception as error:
        raise PluginError(f"the entry point {point.name!r} of {GROUP} cannot be used: {error}") from error


@cache
def load() -> tuple[str, ...]:
    """Makes the formats of all installed packages known, once. Returns their names. Raises PluginError, which names
    the entry point, for one that cannot be used."""
    return tuple(register(point) for point in entry_points(group=GROUP))
