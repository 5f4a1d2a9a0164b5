"""What a chat asks of its template: messages, tools and variables."""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from overt.contract.calls import check_choice
from overt.contract.deployment import Deployment
from overt.contract.effects import UNKNOWN, Effect
from overt.contract.errors import ApiError
from overt.contract.profiles import Profile
from overt.contract.standings import THINKING
from overt.contract.template import ALWAYS_READ, KNOWN_KEYS, Template, has_tools

OWN_VARIABLES = frozenset(
    {"messages", "tools", "documents", "add_generation_prompt", "continue_final_message", "chat_template"}
)
"""Template variables that fields of their own give."""

_NOTHING: tuple[Any, ...] = (None, "", [], {})
_MAX_TOLD_KEYS = 16
_MAX_TOLD_PARTS = 256
"""More effects than a header ever names."""


def check_template_fields(
    body: Mapping[str, Any], deployment: Deployment, profile: Profile, effects: list[Effect]
) -> None:
    """Checks what the template sees beside the messages, on whichever route has it."""
    tools = body["tools"]
    check_choice(body)
    if tools == []:
        if profile.empty_tools == "refuse":
            raise ApiError(400, "`tools` must have at least one tool; leave it out to have none.", param="tools")
        effects.append(Effect("tools", "inert", requested=[], reason="there is no tool in it"))
    kwargs = body["chat_template_kwargs"]
    if not kwargs:
        return
    template = deployment.template_for(has_tools(body))
    for name, value in kwargs.items():
        if name in OWN_VARIABLES:
            raise ApiError(
                400,
                f"`chat_template_kwargs` may not set `{name}`"
                + (", which only the operator gives." if name == "chat_template" else ": send the field itself."),
                param=f"chat_template_kwargs.{name}",
            )
        if template is not None and not template.reads(name):
            effects.append(_unread(name, value, template))


def _unread(name: str, value: Any, template: Template) -> Effect:
    variables = [known for known in template.variables if known not in OWN_VARIABLES]
    near = next(iter(get_close_matches(name[:64], variables, n=1, cutoff=0.6)), None)
    reason = "the chat template does not read it"
    if near is not None:
        reason += f"; did you mean `{near}`?"
    nearest = None if near is None else f"chat_template_kwargs.{near}"
    return Effect(f"chat_template_kwargs.{name}", "inert", nearest=nearest, requested=value, reason=reason)


def check_messages(messages: list[dict[str, Any]], template: Template | None, effects: list[Effect]) -> None:
    """Tells of keys that the template does not read, each once, and of roles that it does not know."""
    seen = set(ALWAYS_READ)
    for index, message in enumerate(messages):
        content = message.get("content")
        if isinstance(content, list):
            _check_parts(f"messages[{index}].content", content, effects)
        if message.get("role") == "developer" and template is not None and not template.knows_developer:
            reason = "the chat template does not know the developer's role"
            path = f"messages[{index}].role"
            counted = "messages[].role"
            effects.append(Effect(path, "adapted", "system", requested="developer", reason=reason, counted=counted))
        if len(message) <= 2 and message.keys() <= ALWAYS_READ:
            continue
        for key, value in message.items():
            if key in seen or value in _NOTHING:
                continue
            seen.add(key)
            if template is not None and not template.reads_key(key):
                reason = "the chat template does not read it"
                label = f"messages[].{key}" if key in KNOWN_KEYS else UNKNOWN
                effects.append(Effect(f"messages[].{key[:64]}", "inert", requested=value, reason=reason, counted=label))
        if len(seen) > _MAX_TOLD_KEYS + len(ALWAYS_READ):
            break


def reasoning_effort(body: Mapping[str, Any], template: Template | None, effects: list[Effect]) -> dict[str, Any]:
    """The template's variables that `reasoning_effort` gives, where the request does not give them itself."""
    effort = body["reasoning_effort"]
    if effort is None or template is None:
        return {}
    knows = template.reads("reasoning_effort")
    variables: dict[str, Any] = {"reasoning_effort": effort} if knows else {}
    variables |= {name: effort != "none" for name in THINKING if template.reads(name)}
    given = body["chat_template_kwargs"] or {}
    own = [name for name, value in variables.items() if name in given and _short(given[name]) != _short(value)]
    if variables and (own or not knows):
        applied = ", ".join(f"{name}={_short(given.get(name, value))}" for name, value in variables.items())
        reasons = [] if knows else ["the chat template knows no efforts: it can only be told to think or not to"]
        if own:
            reasons.append(f"{' and '.join(f'`chat_template_kwargs.{name}`' for name in own)} wins")
        effects.append(Effect("reasoning_effort", "adapted", applied, requested=effort, reason="; ".join(reasons)))
    return variables


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:64]


def _check_parts(path: str, parts: list[Any], effects: list[Effect]) -> None:
    """Tells of keys of content parts: the template sees a part's text alone."""
    for index, part in enumerate(parts):
        if not isinstance(part, dict) or part.get("type") != "text":
            continue
        for key, value in part.items():
            if key not in ("type", "text") and value is not None and len(effects) < _MAX_TOLD_PARTS:
                reason = "of a text part the text alone is read"
                name = f"{path}[{index}].{key[:64]}"
                effects.append(Effect(name, "inert", requested=value, reason=reason, counted=UNKNOWN))


def turn(body: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether the last message is continued, and whether the template opens a turn behind it."""
    continued, opened = bool(body["continue_final_message"]), body["add_generation_prompt"]
    if continued and opened:
        raise ApiError(
            400,
            "`continue_final_message` and `add_generation_prompt` contradict each other: the last message "
            "is either continued or answered. Send one of them.",
            param="continue_final_message",
        )
    return continued, not continued and opened is not False


def enable_thinking(body: Mapping[str, Any], template: Template | None, effects: list[Effect]) -> dict[str, Any]:
    """The template's variables that `enable_thinking` gives; tells where others win."""
    wanted = body.get("enable_thinking")
    if wanted is None or template is None:
        return {}
    variables = {name: wanted for name in THINKING if template.reads(name)}
    given = body["chat_template_kwargs"] or {}
    own = [name for name in variables if name in given and _short(given[name]) != _short(wanted)]
    if own:
        applied = ", ".join(f"{name}={_short(given[name])}" for name in own)
        reason = f"{' and '.join(f'`chat_template_kwargs.{name}`' for name in own)} wins"
        effects.append(Effect("enable_thinking", "adapted", applied, requested=wanted, reason=reason))
    return variables


def template_variables(
    body: Mapping[str, Any], deployment: Deployment, template: Template | None, effects: list[Effect]
) -> str | None:
    """Variables that the operator and fields give, as JSON."""
    effort = reasoning_effort(body, template, effects)
    switch = enable_thinking(body, template, effects)
    lost = [name for name, value in switch.items() if effort.get(name, value) != value]
    if lost and not any(effect.field == "reasoning_effort" for effect in effects):
        applied = ", ".join(f"{name}={_short(switch[name])}" for name in lost)
        reason = "`enable_thinking` says whether the model thinks"
        effects.append(
            Effect("reasoning_effort", "adapted", applied, requested=body["reasoning_effort"], reason=reason)
        )
    variables = dict(deployment.template_variables) | effort | switch
    return json.dumps(variables) if variables else None


def check_last(messages: list[dict[str, Any]], profile: Profile, opened: bool, effects: list[Effect]) -> bool:
    """Tells what becomes of a last message of the assistant. `opened`: the template opens a turn behind it.

    Returns whether its role becomes the user's.
    """
    if messages[-1].get("role") != "assistant":
        return False
    path = f"messages[{len(messages) - 1}]"
    if profile.assistant_last == "to_user":
        reason = f"the profile {profile.name} takes a last message of the assistant for the user's"
        effects.append(Effect(f"{path}.role", "adapted", "user", requested="assistant", reason=reason))
        return True
    if opened:
        reason = "it is the assistant's: a new turn answers it; `continue_final_message: true` would continue it"
        effects.append(Effect(path, "adapted", "new turn", requested=messages[-1], reason=reason))
    return False
