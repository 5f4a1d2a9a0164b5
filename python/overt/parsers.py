"""Parsers of model output by themselves: reasoning, text and tool calls as ordered events, as the server reads them.

from overt import parsers

parser = parsers.Parser("hermes", "qwen3", tools=[{"type": "function", "function": {"name": "ls"}}])
for piece in ("<tool_call>", '{"name": "ls", "arg', 'uments": {}}', "</tool_call>"):
    for event in parser.push(piece):
        print(event)
print(parser.finish())
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

from overt import _core, plugins

__all__ = ["Event", "Names", "Parser", "names"]

Kind = Literal["content", "reasoning", "call_start", "call_arguments", "call_end"]


class Names(NamedTuple):
    """Names that `Parser` knows, sorted; a format has several."""

    tool: tuple[str, ...]
    reasoning: tuple[str, ...]


DECLARED = ("response_template", "hf", "beam")
"""Names of the format that a checkpoint's own `response_template` declares: a server has it, `Parser` does not."""

PLUGINS = plugins.load()
"""Formats that other packages describe."""


def names() -> Names:
    """The names of all parsers."""
    tool, reasoning = (
        tuple(name for name in known if name not in DECLARED)
        for known in (_core.tool_parsers(), _core.reasoning_parsers())
    )
    return Names(tool, reasoning)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that the model said."""

    kind: Kind
    text: str = ""
    """Of `content` and `reasoning`, and a fragment of the arguments of `call_arguments`."""
    index: int | None = None
    """Which call, from 0; of the three kinds of call."""
    id: str | None = None
    """Of `call_start`."""
    name: str | None = None
    """Of `call_start`: the function's."""


class Parser:
    """Reads the output of one choice, piece by piece; the events joined do not depend on the cuts."""

    def __init__(
        self,
        tool_parser: str | None = None,
        reasoning_parser: str | None = None,
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: str | Mapping[str, Any] = "auto",
        prompt_tail: str = "",
        seed: int = 0,
    ) -> None:
        """`tools` and `tool_choice` are as chat requests spell them; without tools nothing is read as a call.
        `prompt_tail` is the end of the rendered prompt, which tells whether thinking is open; `seed` makes the calls'
        ids. Raises ValueError for a name that `names` does not have and for a choice that is none.
        """
        choice, named = _choice(tool_choice)
        tools_json = json.dumps(list(tools)).encode()
        self._core = _core.Parser(tool_parser, reasoning_parser, tools_json, choice, named, prompt_tail, seed)

    def push(self, text: str, special_token: bool = False) -> list[Event]:
        """Reads a piece of output: text, or the spelling of exactly one special token."""
        return _events(self._core.push(text, special_token))

    def finish(self) -> list[Event]:
        """The output has ended: what was held back is said."""
        return _events(self._core.finish())


def _choice(choice: str | Mapping[str, Any]) -> tuple[str, str | None]:
    if isinstance(choice, str):
        return choice, None
    inner = choice.get(choice.get("type", "function"))
    name = inner.get("name") if isinstance(inner, Mapping) else None
    if not isinstance(name, str):
        raise ValueError(f"a choice of one tool names it: {choice!r} does not")
    return "named", name


def _events(told: Sequence[tuple[str, int | None, str | None, str | None, str]]) -> list[Event]:
    return [Event(cast(Kind, kind), text, index, id_, name) for kind, index, id_, name, text in told]
