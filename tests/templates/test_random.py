"""Random templates render as transformers renders them, or both refuse."""

import json
import os
import re
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overt import _core
from templates.expressions import CONTEXT
from templates.statements import Grammar

pytest.importorskip("jinja2")
chat_template_utils = pytest.importorskip("transformers.utils.chat_template_utils")

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Héllo\n world"},
    {"role": "assistant", "content": "Yes.", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]},
]
EXAMPLES = 40_000 if os.environ.get("OVERT_LONG_TESTS") else 400

ADDRESS = re.compile(r"at0x|x0ta|0x7f|<bound|<builtin|<function|<class")
"""Where an object lies in CPython's memory: not to be compared."""


def shows_address(rendered: str) -> bool:
    """Whether it may hold an address, however a filter took it apart."""
    return bool(ADDRESS.search(re.sub(r"[\s',\"]+", "", rendered).lower()))


def ours(template: str) -> str:
    """Raises ValueError where the template is refused."""
    request = {"messages": MESSAGES, "chat_template_kwargs": CONTEXT, "special_tokens": {}}
    return _core.Template(template).render(json.dumps(request).encode())


def theirs(template: str) -> str:
    """Raises whatever it will."""
    rendered: tuple[list[str], Any] = chat_template_utils.render_jinja_template(
        conversations=[MESSAGES], chat_template=template, **CONTEXT
    )
    return rendered[0][0]


def difference(template: str) -> str | None:
    """How the two renderings differ, if they do."""
    try:
        expected = theirs(template)
    except Exception as error:
        expected, refusal = None, error
    if expected is not None and shows_address(expected):
        return None
    try:
        got = ours(template)
    except ValueError as error:
        return None if expected is None else f"refused: {error}; expected {expected!r}"
    if expected is None:
        return f"rendered {got!r}, transformers refuses: {refusal!r}"
    return None if got == expected else f"rendered {got!r}, expected {expected!r}"


@settings(
    max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None
)
@given(st.randoms(use_true_random=False))
def test_renders_as_transformers(chance: Random) -> None:
    template = Grammar(chance).template(3)
    assert difference(template) is None, template
