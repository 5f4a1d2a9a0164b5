"""Chat templates by themselves: rendered as transformers does, and shown with where every part came from.

from overt import templates

rendered = templates.render(source, [{"role": "user", "content": "Hi"}], add_generation_prompt=True)
print(rendered.text)
for span in rendered.provenance.spans:
    print(span.origin, repr(rendered.text[span.start : span.end]))
"""

import calendar
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from overt import _core

__all__ = ["Provenance", "Rendered", "Span", "TemplateError", "render"]

_A = TypeVar("_A")
_T = TypeVar("_T")

_COMPILED = 64
"""Templates that are kept compiled."""


class TemplateError(ValueError):
    """A template that is no Jinja, or that refuses or fails on its input."""

    def __init__(self, message: str, line: int | None, reason: str) -> None:
        super().__init__(message)
        self.line = line
        """Line of the template, from 1; None: no line of it is at fault."""
        self.reason = reason
        """What went wrong, without the place; the template's own words where it refused."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a prompt that came from one place."""

    start: int
    end: int
    """Characters of the text, the end excluded."""
    origin: str
    """"template", "message", "tool", "document", "kwarg" or "special_token"."""
    derived: bool
    """It is known by likeness only: the template looks into what it writes, or changes it."""
    of: Mapping[str, Any] = field(default_factory=dict)
    """Which one: `message` and `part` ("role", "content", "reasoning", "tool_call", …), `tool`, `document`, `name`."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a prompt came from."""

    spans: tuple[Span, ...]
    """They follow each other and cover the text."""
    exact: bool
    """No span is derived."""
    used: tuple[str, ...]
    """The keyword arguments that the template looked at."""


class Rendered:
    """A prompt. `str()` gives its text."""

    def __init__(self, text: str, template: _core.Template, request: bytes) -> None:
        self.text = text
        self._template = template
        self._request = request

    def __str__(self) -> str:
        return self.text

    @cached_property
    def provenance(self) -> Provenance:
        """Where every part of the text came from. Renders a few times more, when it is first asked for."""
        told = json.loads(_told(self._template.trace, self._request))
        return Provenance(tuple(map(_span, told["spans"])), told["exact"], tuple(told["used"]))


def render(
    template: str,
    messages: Sequence[Mapping[str, Any]],
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    documents: Sequence[Mapping[str, Any]] | None = None,
    add_generation_prompt: bool = False,
    continue_final_message: bool = False,
    special_tokens: Mapping[str, str] | None = None,
    clock: datetime | None = None,
    **kwargs: Any,
) -> Rendered:
    """Renders a chat template as `apply_chat_template(tokenize=False)` of transformers does, byte for byte.

    `template` is Jinja. `messages`, `tools`, `documents` and further variables are JSON-like. `special_tokens` are
    variables such as `bos_token`. `clock` is the local time that `strftime_now` tells; now if it is absent.

    Raises TemplateError with the line and the reason, TypeError or ValueError for values that are not JSON.
    """
    request: dict[str, Any] = {
        "messages": messages,
        "tools": tools,
        "documents": documents,
        "add_generation_prompt": add_generation_prompt,
        "continue_final_message": continue_final_message,
        "chat_template_kwargs": kwargs,
        "special_tokens": special_tokens or {},
        # Of one prompt, text and provenance are of one moment.
        "clock": calendar.timegm((clock or datetime.now()).timetuple()),
    }
    body = json.dumps(request, ensure_ascii=False, allow_nan=False).encode("utf-8")
    compiled = _compiled(template)
    return Rendered(_told(compiled.render, body), compiled, body)


@lru_cache(maxsize=_COMPILED)
def _compiled(template: str) -> _core.Template:
    return _told(_core.Template, template)


def _told(call: Callable[[_A], _T], argument: _A) -> _T:
    try:
        return call(argument)
    except _core.TemplateError as error:
        raise TemplateError(*error.args) from None


def _span(told: dict[str, Any]) -> Span:
    start, end, origin, derived = (told.pop(name) for name in ("start", "end", "origin", "derived"))
    return Span(start, end, origin, derived, told)
