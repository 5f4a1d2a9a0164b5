"""The flags that give defaults: whether they can mean what they say."""

import difflib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_FIELDS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "typical_p": "typical_p",
    "repetition_penalty": "repetition_penalty",
    "max_new_tokens": "max_tokens",
}
"""Names that a generation config may have here, and the request fields whose ranges they keep."""


def wrong_folder(given: str) -> str | None:
    """What is wrong with --generation-config."""
    if given in ("auto", "vllm", "none"):
        return None
    file = Path(given) / "generation_config.json"
    try:
        readable = isinstance(json.loads(file.read_text(encoding="utf-8")), dict)
    except OSError:
        return (
            f"--generation-config {given}: there is no {file}; give auto (the model's own), none or vllm (no "
            "defaults), or a folder that has the file"
        )
    except ValueError:
        readable = False
    return None if readable else f"--generation-config {given}: {file} is no JSON object"


def wrong_override(given: Mapping[str, Any]) -> str | None:
    """What is wrong with --override-generation-config: a name that is none, or a value out of its range."""
    from overt.contract.fields import by_name

    rows = by_name("chat")
    for name, value in given.items():
        if name not in _FIELDS:
            near = difflib.get_close_matches(name, _FIELDS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(_FIELDS)}"
            return f"--override-generation-config: {name!r} is no sampling default; {hint}"
        row = rows[_FIELDS[name]]
        whole = row.kind != "integer" or isinstance(value, int)
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and whole and math.isfinite(value)
        if (
            not number
            or (row.low is not None and value < row.low)
            or (row.above is not None and value <= row.above)
            or (row.high is not None and value > row.high)
        ):
            return f"--override-generation-config: {name} must be {row.wanted()}, and is {json.dumps(value)}"
    return None


def wrong_variables(given: Mapping[str, Any]) -> str | None:
    """What is wrong with --default-chat-template-kwargs: a variable that the server or a field of requests gives."""
    from overt.contract.conversation import OWN_VARIABLES

    own = next((name for name in given if name in OWN_VARIABLES), None)
    if own is None:
        return None
    return f"--default-chat-template-kwargs may not set {own}, which every request or the server itself gives"
