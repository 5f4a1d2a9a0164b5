"""What a chat asks of its template: messages, tools and variables."""

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from overt.contract.deployment import Deployment
from overt.contract.effects import UNKNOWN, Effect
from overt.contract.errors import ApiError, step, wrong_value
from overt.contract.fields import by_name
from overt.contract.profiles import Profile
from overt.contract.standings import THINKING
from overt.contract.template import ALWAYS_READ, KNOWN_KEYS, Template

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


def has_tools(body: Mapping[str, Any]) -> bool:
    """Whether the template is given tools."""
    return bool(body["tools"]) and body["tool_choice"] != "none"


def check_choice(body: Mapping[str, Any]) -> None:
    """Refuses choices of tools that are none, or that cannot be kept."""
    if body["tool_choice"] not in (None, "none", "auto"):
        _refuse_choice(body["tool_choice"], body["tools"])


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


def check_spelled(raw: bytes, body: Mapping[str, Any], deployment: Deployment, effects: list[Effect]) -> None:
    """Tells of special tokens that the conversation's text spells: the tokenizer reads them as such."""
    spelled = deployment.spelled_tokens
    # Most requests have none: the whole body is looked at first, escapes of JSON apart.
    if spelled is None or deployment.escapes or not (b"\\u00" in raw or spelled(raw.decode("utf-8", "replace"))):
        return
    told = 0
    for name in ("messages", "tools", "documents", "chat_template_kwargs"):
        for path, text in _strings(name, body[name]):
            tokens = spelled(text)
            if not tokens or told == _MAX_TOLD_KEYS:
                continue
            told += 1
            what = ", ".join(f"`{token}`" for token in tokens[:4])
            reason = f"{what} in it is read as a special token; the operator can have it read as text"
            effects.append(Effect(path, "adapted", "special tokens", requested=text, reason=reason))


def _strings(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every string of a JSON value, with its path."""
    waiting: list[tuple[str, Any]] = [(path, value)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, list):
            waiting.extend((f"{path}[{index}]", item) for index, item in reversed(list(enumerate(value))))
        elif isinstance(value, dict):
            waiting.extend((path + step(key), item) for key, item in reversed(value.items()))


def reasoning_effort(body: Mapping[str, Any], template: Template | None, effects: list[Effect]) -> dict[str, Any]:
    """The template's variables that `reasoning_effort` gives, where the request does not give them itself."""
    effort = body["reasoning_effort"]
    if effort is None or template is None:
        return {}
    switches = {name: effort != "none" for name in THINKING if template.reads(name)}
    if template.reads("reasoning_effort"):
        return {"reasoning_effort": effort} | switches
    if switches:
        given = body["chat_template_kwargs"] or {}
        applied = ", ".join(f"{name}={str(given.get(name, on)).lower()}" for name, on in switches.items())
        reason = "the chat template knows no efforts: it can only be told to think or not to"
        effects.append(Effect("reasoning_effort", "adapted", applied, requested=effort, reason=reason))
    return switches


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


def template_variables(
    body: Mapping[str, Any], deployment: Deployment, template: Template | None, effects: list[Effect]
) -> str | None:
    """Variables that the operator and fields give, as JSON."""
    variables = dict(deployment.template_variables) | reasoning_effort(body, template, effects)
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


def check_strict_tools(tools: list[dict[str, Any]], effects: list[Effect]) -> None:
    """Tells of schemas that are not enforced."""
    for index, tool in enumerate(tools):
        function = tool.get("function")
        if isinstance(function, dict) and function.get("strict"):
            reason = "calls are not constrained to the schema yet"
            effects.append(Effect(f"tools[{index}].function.strict", "inert", requested=True, reason=reason))


def _refuse_choice(choice: Any, tools: Any) -> None:
    named = isinstance(choice, dict) and choice.get("type") == "function"
    if choice != "required" and not named:
        raise wrong_value("tool_choice", by_name("chat")["tool_choice"].wanted(), choice)
    what = "required" if choice == "required" else "of one function"
    if not tools:
        raise ApiError(400, f"`tool_choice` {what} needs `tools`.", param="tool_choice")
    if named and not _has(tools, choice):
        raise ApiError(400, "`tool_choice` names a function that is not in `tools`.", param="tool_choice")
    raise ApiError(
        400,
        f"`tool_choice` {what} is known, but this server does not implement it yet: a call cannot be forced. "
        'Use "auto" or "none".',
        param="tool_choice",
        code="unsupported_parameter",
    )


def _has(tools: list[dict[str, Any]], choice: dict[str, Any]) -> bool:
    function = choice.get("function")
    wanted = function.get("name") if isinstance(function, dict) else None
    functions = (tool.get("function") for tool in tools)
    return any(isinstance(function, dict) and function.get("name") == wanted for function in functions)
