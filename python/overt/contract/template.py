"""Fields that the chat template sees beside the messages."""

import re
from collections.abc import Mapping
from typing import Any

from overt.contract.deployment import Deployment
from overt.contract.effects import Effect
from overt.contract.errors import ApiError, wrong_value
from overt.contract.fields import by_name

_OWN_VARIABLES = frozenset(
    {"messages", "tools", "documents", "add_generation_prompt", "continue_final_message", "chat_template"}
)
"""Template variables that fields of their own give."""


def check_template_fields(body: Mapping[str, Any], deployment: Deployment, effects: list[Effect]) -> None:
    """Checks them, on whichever route has them."""
    tools, choice = body["tools"], body["tool_choice"]
    if choice not in (None, "none", "auto"):
        _refuse_choice(choice, tools)
    for name in body["chat_template_kwargs"] or ():
        if name in _OWN_VARIABLES:
            raise ApiError(
                400,
                f"`chat_template_kwargs` may not set `{name}`"
                + (", which only the operator gives." if name == "chat_template" else ": send the field itself."),
                param=f"chat_template_kwargs.{name}",
            )
    if tools == []:
        effects.append(Effect("tools", "inert"))
    template = deployment.chat_template
    if template is not None:
        # A name that does not stand in the template's text cannot be read by it.
        for name in body["chat_template_kwargs"] or ():
            if not re.search(rf"\b{re.escape(name)}\b", template):
                effects.append(Effect(f"chat_template_kwargs.{name}", "inert"))
        for name in ("tools", "documents"):
            if body[name] and name not in template:
                effects.append(Effect(name, "inert"))


def _refuse_choice(choice: Any, tools: Any) -> None:
    named = isinstance(choice, dict) and choice.get("type") == "function"
    if choice != "required" and not named:
        raise wrong_value("tool_choice", by_name("chat")["tool_choice"].wanted(), choice)
    what = "required" if choice == "required" else "of one function"
    if not tools:
        raise ApiError(400, f"`tool_choice` {what} needs `tools`.", param="tool_choice")
    raise ApiError(
        400,
        f"`tool_choice` {what} is known, but this server does not implement it yet: a call cannot be forced. "
        'Use "auto" or "none".',
        param="tool_choice",
        code="unsupported_parameter",
    )
