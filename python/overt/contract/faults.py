"""What validation found wrong, in this server's own words."""

import re
from collections.abc import Mapping

from pydantic import ValidationError

from overt.contract.errors import ApiError, missing, step, wrong_value
from overt.contract.field import Field

_POSITION = re.compile(r"line (\d+) column (\d+)")


def invalid(known: Mapping[str, Field], error: ValidationError) -> ApiError:
    """What is wrong with a body, from the first fault that validation found. `known`: the route's rows by name."""
    fault = error.errors(include_url=False, include_context=False)[0]
    location, kind = fault["loc"], fault["type"]
    if kind == "json_invalid":
        return _invalid_json(str(fault["msg"]))
    if not location:
        return ApiError(400, "The body must be a JSON object.")
    path, name = _path(location)
    field = known.get(name)
    if kind == "missing":
        return missing(path, field.wanted() if field else "")
    if field is None:
        # A member of an object whose members have no rows.
        parent = known.get(name.partition(".")[0])
        return wrong_value(path, parent.item_wanted() if parent else "as documented", fault["input"])
    return wrong_value(path, field.item_wanted() if path.endswith("]") else field.wanted(), fault["input"])


def _invalid_json(message: str) -> ApiError:
    position = _POSITION.search(message)
    where = f" (line {position[1]}, column {position[2]})" if position else ""
    if "recursion" in message:
        return ApiError(400, f"The body is nested too deeply{where}.")
    return ApiError(400, f"The body is not valid JSON in UTF-8{where}.")


def _path(location: tuple[int | str, ...]) -> tuple[str, str]:
    """`("stop", 3)` as the path `stop[3]` and the field's name `stop`."""
    path, names = "", []
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part != "[key]":
            path += step(part) if path else part
            names.append(part)
    return path, ".".join(names)
