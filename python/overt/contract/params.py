"""From a checked body to the parameters of a generation."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from overt.contract.effects import Effect
from overt.contract.errors import ApiError, wrong_value
from overt.contract.field import Route
from overt.contract.fields import by_name
from overt.contract.models import validate

T = TypeVar("T")

_NO_LIMIT = 2**31 - 1
"""More than any context or vocabulary holds, and within the core's integers."""

_SAMPLING = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0}

_OWN_VARIABLES = frozenset(
    {"messages", "tools", "documents", "add_generation_prompt", "continue_final_message", "chat_template"}
)
"""Template variables that fields of their own give."""


@dataclass(slots=True)
class GenerationParams:
    """What a request asks of sampling, stopping and framing. The core reads these attributes by name."""

    model: str
    """The served name to answer with."""
    request_id: str
    max_tokens: int | None
    """Tokens a choice; none: the rest of the context."""
    max_tokens_field: str
    """The field that gave `max_tokens`."""
    temperature: float
    top_p: float
    top_k: int
    """0: all."""
    min_p: float
    seed: int | None
    n: int
    stop: list[str]
    stop_token_ids: list[int]
    ignore_eos: bool
    skip_special_tokens: bool
    include_stop: bool
    stream: bool
    include_usage: bool
    priority: int
    user: str | None
    key: str | None
    cache_salt: str | None
    tools: bool
    """Whether tool calls are looked for in the answer."""
    add_generation_prompt: bool
    continue_final_message: bool


@dataclass(frozen=True, slots=True)
class Deployment:
    """What of the loaded model and the operator's flags decides over fields."""

    served: tuple[str, ...]
    """Names the model answers to, the default first."""
    vocab_size: int
    generation_config: Mapping[str, Any] = field(default_factory=dict)
    """Defaults that the model's makers give for sampling."""
    chat_template: str | None = None
    parser: str | None = None
    """The format that tool calls are read in; none: they stay text."""
    max_client_priority: int = 0

    sampling: Mapping[str, float] = field(init=False)
    """What sampling fields are where a request does not say."""

    def __post_init__(self) -> None:
        defaults = {name: self._default(name, value) for name, value in _SAMPLING.items()}
        object.__setattr__(self, "sampling", defaults)

    def _default(self, name: str, otherwise: float) -> float:
        """The model's default for a sampling field, where it gives a usable one."""
        value = self.generation_config.get(name)
        row = by_name("chat")[name]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return otherwise
        low = row.low if row.low is not None else row.above
        fits = (low is None or value >= low) and (row.high is None or value <= row.high)
        return value if fits and (row.above is None or value > row.above) else otherwise

    def named(self, model: str | None) -> str:
        """The served name for a request's `model`. Raises ApiError (404) for a name that is not served."""
        if model is None:
            return self.served[0]
        if model not in self.served:
            names = ", ".join(f"`{name}`" for name in self.served)
            raise ApiError(
                404,
                f"The model `{model[:80]}` is not served here. Served: {names}.",
                param="model",
                code="model_not_found",
                type="invalid_request_error",
            )
        return model


def read(route: Route, raw: bytes, deployment: Deployment, request_id: str) -> tuple[GenerationParams, list[Effect]]:
    """Checks a generation request's body. Returns its parameters and what is to be told about its fields.

    Raises ApiError for whatever can be refused without the prompt's tokens.
    """
    checked, effects = validate(route, raw)
    body: dict[str, Any] = checked.__dict__
    get = body.get
    model = deployment.named(body["model"])
    stream = bool(get("stream"))
    options = get("stream_options")
    if options is not None and not stream:
        raise ApiError(400, "`stream_options` needs `stream: true`; send both or neither.", param="stream_options")
    max_tokens, max_tokens_field = _max_tokens(route, body, effects)
    for index, token in enumerate(get("stop_token_ids") or ()):
        if token >= deployment.vocab_size:
            wanted = f"a token id from 0 to {deployment.vocab_size - 1}"
            raise wrong_value(f"stop_token_ids[{index}]", wanted, token)
    sampling = deployment.sampling
    top_k = _given(get("top_k"), sampling["top_k"])
    params = GenerationParams(
        model=model,
        request_id=request_id,
        max_tokens=max_tokens,
        max_tokens_field=max_tokens_field,
        temperature=_given(get("temperature"), sampling["temperature"]),
        top_p=_given(get("top_p"), sampling["top_p"]),
        top_k=min(max(int(top_k), 0), _NO_LIMIT),
        min_p=_given(get("min_p"), sampling["min_p"]),
        seed=get("seed"),
        n=_given(get("n"), 1),
        stop=get("stop") or [],
        stop_token_ids=get("stop_token_ids") or [],
        ignore_eos=bool(get("ignore_eos")),
        skip_special_tokens=_given(get("skip_special_tokens"), True),
        include_stop=bool(get("include_stop_str_in_output")),
        stream=stream,
        include_usage=options is not None and bool(options.include_usage),
        priority=_priority(get("priority"), deployment, effects),
        user=get("user"),
        key=None,
        cache_salt=get("cache_salt"),
        tools=False,
        add_generation_prompt=True,
        continue_final_message=False,
    )
    if route == "chat":
        _chat(body, deployment, params, effects)
    return params, effects


def _given(value: T | None, otherwise: T) -> T:
    return otherwise if value is None else value


def _max_tokens(route: Route, body: dict[str, Any], effects: list[Effect]) -> tuple[int | None, str]:
    field, value = "max_tokens", body["max_tokens"]
    if route == "completions":
        return min(_given(value, 16), _NO_LIMIT), field
    newer = body["max_completion_tokens"]
    if newer is not None:
        if value is not None and value != newer:
            effects.append(Effect("max_tokens", "inert"))
        field, value = "max_completion_tokens", newer
    return None if value is None else min(value, _NO_LIMIT), field


def _priority(asked: int | None, deployment: Deployment, effects: list[Effect]) -> int:
    if asked is None:
        return max(0, deployment.max_client_priority)
    applied = max(asked, deployment.max_client_priority)
    if applied != asked:
        effects.append(Effect("priority", "adapted", applied=applied))
    return applied


def _chat(body: dict[str, Any], deployment: Deployment, params: GenerationParams, effects: list[Effect]) -> None:
    check_template_fields(body, deployment, effects)
    tools, choice = body["tools"], body["tool_choice"]
    params.tools = bool(tools) and choice != "none"
    if params.tools:
        if deployment.parser is None:
            # The template shows the tools to the model, but its calls are not read from the text.
            effects.append(Effect("tools", "adapted", applied="prompt only"))
        for index, tool in enumerate(tools):
            function = tool.get("function")
            if isinstance(function, dict) and function.get("strict"):
                effects.append(Effect(f"tools[{index}].function.strict", "inert"))
    continued, opened = bool(body["continue_final_message"]), body["add_generation_prompt"]
    if continued and opened:
        raise ApiError(
            400,
            "`continue_final_message` and `add_generation_prompt` contradict each other: the last message "
            "is either continued or answered. Send one of them.",
            param="continue_final_message",
        )
    params.continue_final_message = continued
    params.add_generation_prompt = not continued and _given(opened, True)


def check_template_fields(body: Mapping[str, Any], deployment: Deployment, effects: list[Effect]) -> None:
    """Checks the fields that the chat template sees beside the messages."""
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
