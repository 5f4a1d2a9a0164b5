"""What the chat template decides over fields: its variables, and the keys of messages that it reads."""

import hashlib
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from overt.contract.variables import read_variables

_WORD = re.compile(r"\w+")
_WHOLE_MESSAGES = re.compile(
    r"\b(?:messages|message|msg|m)\s*(?:[-+]?\}\}|\|\s*(?:tojson|string|items|dictsort|list)\b|\.items\b)"
)
"""Where a template writes whole messages: it then reads all their keys."""

NO_TEMPLATE = "the model has no chat template"


class Template:
    """A chat template as text. What it does not mention it cannot read; what it mentions it may."""

    def __init__(self, text: str, source: str = "") -> None:
        self.text = text
        self.source = source
        self._words = frozenset(_WORD.findall(text))
        self._whole = bool(_WHOLE_MESSAGES.search(text))

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Names that it takes from outside, sorted."""
        return read_variables(self.text)

    @cached_property
    def hash(self) -> str:
        """16 hexadecimal digits of its text."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def mentions(self, name: str) -> bool:
        """Whether the name stands in its text."""
        return name in self._words or (not _WORD.fullmatch(name) and name in self.text)

    def reads_key(self, key: str) -> bool:
        """Whether it may read a message's key."""
        if self._whole or self.mentions(key):
            return True
        # Two names of one thing, which rendering knows.
        return key in _REASONING and any(map(self.mentions, _REASONING))

    def told(self) -> dict[str, Any]:
        """For reports."""
        return {"source": self.source or None, "hash": self.hash}


_REASONING = ("reasoning", "reasoning_content")

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
    "tool_call_id": "The call that a tool message answers.",
    "tool_calls": "Calls that the assistant made.",
}
"""Keys of messages that clients send."""
