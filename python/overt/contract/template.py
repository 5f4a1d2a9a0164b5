"""What the chat template decides over fields: its variables, and the keys of messages that it reads."""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from overt import _core

NO_TEMPLATE = "the model has no chat template"


def has_tools(body: Mapping[str, Any]) -> bool:
    """Whether the template is given tools."""
    choice = body.get("tool_choice")
    if choice is None:
        choice = body.get("function_call")
    return bool(body.get("tools") or body.get("functions")) and choice != "none"


class Template:
    """A chat template, read by the core. Raises ValueError for a text that is no Jinja."""

    def __init__(
        self, text: str, source: str = "", *, name: str = "default", special_tokens: Mapping[str, Any] | None = None
    ) -> None:
        self.text = text
        self.source = source
        self.name = name
        self._special_tokens = dict(special_tokens or {})
        self._core = _core.Template(text)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Names that it takes from outside, sorted."""
        return tuple(self._core.variables)

    @cached_property
    def hash(self) -> str:
        """16 hexadecimal digits of its text."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @cached_property
    def normalisations(self) -> tuple[str, ...]:
        """Names of what may be changed in messages and tools for its sake, found out by rendering probes."""
        return tuple(self._core.normalisations(json.dumps(self._special_tokens).encode()))

    @property
    def knows_developer(self) -> bool:
        """Whether messages of the developer are rendered as such."""
        return "developer_to_system" not in self.normalisations

    def reads(self, name: str) -> bool:
        """Whether it takes a variable of this name from outside."""
        return name in self.variables

    def reads_key(self, key: str) -> bool:
        """Whether it may read a message's key."""
        # Names of one thing, which rendering knows; older calls are rendered as calls of tools.
        names = _REASONING if key in _REASONING else ("tool_calls",) if key == "function_call" else (key,)
        return any(map(self._core.reads_key, names))

    def told(self) -> dict[str, Any]:
        """For reports."""
        return {"name": self.name, "source": self.source or None, "hash": self.hash}


_REASONING = ("reasoning", "reasoning_content", "thinking")

ALWAYS_READ = frozenset({"role", "content"})
"""Keys of messages that every template reads."""

KNOWN_KEYS: Mapping[str, str] = {
    "annotations": "Notes on an answer, such as the sources it cites.",
    "audio": "A spoken answer that came before.",
    "content": "The text, or a list of text parts.",
    "function_call": "An older form of tool_calls.",
    "name": "Who speaks, among several of a role; of a tool message, the tool.",
    "reasoning": "What the assistant thought.",
    "reasoning_content": "What the assistant thought.",
    "refusal": "The assistant's words where it refused.",
    "role": "Who speaks.",
    "thinking": "What the assistant thought.",
    "tool_call_id": "The call that a tool message answers.",
    "tool_calls": "Calls that the assistant made.",
}
"""Keys of messages that clients send."""
