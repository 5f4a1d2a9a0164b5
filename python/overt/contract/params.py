"""From a checked body to the parameters of a generation."""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from overt.contract import checks
from overt.contract.deployment import NEUTRAL, Deployment
from overt.contract.effects import Effect
from overt.contract.errors import ApiError
from overt.contract.field import Route
from overt.contract.models import validate
from overt.contract.template import check_template_fields

T = TypeVar("T")

_NO_LIMIT = 2**31 - 1
"""More than any context or vocabulary holds, and within the core's integers."""


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
    typical_p: float = 1.0
    """1: all."""
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: list[tuple[int, float]] = field(default_factory=list)
    """Tokens, each once, and what is added to their logits."""
    allowed_token_ids: list[int] | None = None
    """None: all."""
    bad_words: list[str] = field(default_factory=list)
    min_tokens: int = 0
    best_of: int = 1
    """Candidates for each prompt, at least `n`."""
    beam: bool = False
    """Beam search of the width `n`."""
    length_penalty: float = 1.0
    stop_regex: list[str] = field(default_factory=list)
    logprobs: int | None = None
    """Alternatives beside each token; none: no log probabilities."""
    prompt_logprobs: int | None = None
    """The same for the prompt."""
    echo: bool = False
    tokens_as_ids: bool = False
    """Tokens of log probabilities are written as their ids."""
    assistant_to_user: bool = False
    """A last message of the assistant is rendered as the user's."""
    add_special_tokens: bool | None = None
    """None: to text prompts the tokenizer adds its own special tokens, to rendered chats it does not."""
    suffix: str | None = None
    """What stands behind the gap that the answer fills."""
    truncate_prompt_tokens: int | None = None
    """Cuts prompts to so many tokens; -1: to what the context leaves beside `max_tokens`."""
    truncation_side: Literal["left", "right"] = "left"
    overflow: Literal["clamp", "clamp_within", "refuse"] = "clamp"
    """What happens to `max_tokens` beyond what the prompt leaves of the context; "clamp_within" refuses more than the
    whole context."""
    strict: list[str] | None = None
    """The request is served as sent or not at all: what of it is not honoured, a clause each. None: not strict."""
    id: str | None = None
    """The response's id; none: one is made."""
    fingerprint: str | None = None
    """`system_fingerprint`; none: the model's own."""
    extra: str = ""
    """JSON members of the whole answer, without braces."""
    report: tuple[str, str] | None = None
    """What the answer tells of its request's fields, as JSON: effects with commas between them, and further members."""
    copies: bool = False
    """One choice is made for each prompt and answered `n` times."""
    tell_ends: bool = False
    """Log probabilities tell of the token that ended a choice, too."""
    token_ids: bool = False
    continuous_usage: bool = False
    obfuscation: bool = False
    stop_field: Literal["stop_reason", "matched_stop", "none"] = "stop_reason"
    reasoning_field: Literal["both", "reasoning", "reasoning_content", "none"] = "both"
    cached_tokens: bool = True
    """`usage.prompt_tokens_details`."""
    empty_content: bool = False
    """Content beside nothing but calls is "" instead of null."""
    error_shape: Literal["openai", "vllm", "sglang"] = "openai"


def read(route: Route, raw: bytes, deployment: Deployment, request_id: str) -> tuple[GenerationParams, list[Effect]]:
    """Checks a generation request's body. Returns its parameters and what is to be told about its fields.

    Raises ApiError for whatever can be refused without the prompt's tokens.
    """
    checked, effects = validate(route, raw, deployment.limits)
    body: dict[str, Any] = checked.__dict__
    get = body.get
    model = deployment.named(body["model"])
    stream = bool(get("stream"))
    options = get("stream_options")
    if options is not None and not stream:
        raise ApiError(400, "`stream_options` needs `stream: true`; send both or neither.", param="stream_options")
    max_tokens, max_tokens_field = _max_tokens(route, body, effects)
    checks.prompts(route, body, deployment)
    for name in ("stop_token_ids", "allowed_token_ids"):
        checks.token_ids(name, body, deployment)
    checks.stops(body, deployment)
    beam = bool(get("use_beam_search"))
    checks.beam(body, effects)
    n = _given(get("n"), 1)
    sampling = NEUTRAL if beam else deployment.sampling
    given = {name: value for name in sampling if not beam and (value := get(name)) is not None}
    sampling = {**sampling, **given}
    params = GenerationParams(
        model=model,
        request_id=request_id,
        max_tokens=max_tokens,
        max_tokens_field=max_tokens_field,
        temperature=sampling["temperature"],
        top_p=sampling["top_p"],
        top_k=min(max(int(sampling["top_k"]), 0), _NO_LIMIT),
        min_p=sampling["min_p"],
        seed=get("seed"),
        n=n,
        stop=get("stop") or [],
        stop_token_ids=get("stop_token_ids") or [],
        ignore_eos=bool(get("ignore_eos")),
        skip_special_tokens=_given(get("skip_special_tokens"), True),
        include_stop=checks.include_stop(body),
        stream=stream,
        include_usage=options is not None and bool(options.include_usage),
        priority=_priority(get("priority"), deployment, effects),
        user=get("user"),
        key=None,
        cache_salt=get("cache_salt"),
        tools=False,
        add_generation_prompt=True,
        continue_final_message=False,
        typical_p=sampling["typical_p"],
        repetition_penalty=sampling["repetition_penalty"],
        presence_penalty=_given(get("presence_penalty"), 0.0),
        frequency_penalty=_given(get("frequency_penalty"), 0.0),
        logit_bias=checks.logit_bias(body, deployment),
        allowed_token_ids=get("allowed_token_ids"),
        bad_words=get("bad_words") or [],
        min_tokens=min(checks.min_tokens(body, max_tokens, max_tokens_field), _NO_LIMIT),
        best_of=checks.best_of(body, n),
        beam=beam,
        length_penalty=_given(get("length_penalty"), 1.0),
        stop_regex=get("stop_regex") or [],
        logprobs=checks.logprobs(route, body),
        prompt_logprobs=checks.prompt_logprobs(body),
        echo=bool(get("echo")),
        tokens_as_ids=bool(get("return_tokens_as_token_ids")),
    )
    if get("spaces_between_special_tokens") is False:
        # No tokenizer that is read here writes such spaces.
        effects.append(Effect("spaces_between_special_tokens", "inert"))
    if params.tokens_as_ids and params.logprobs is None:
        effects.append(Effect("return_tokens_as_token_ids", "inert"))
    checks.told_prompts(params.prompt_logprobs, params.echo and params.logprobs is not None, deployment)
    if route == "chat":
        _chat(body, deployment, params, effects)
    return params, effects


def _given(value: T | None, otherwise: T) -> T:
    return otherwise if value is None else value


def _max_tokens(route: Route, body: dict[str, Any], effects: list[Effect]) -> tuple[int | None, str]:
    field, value = "max_tokens", body["max_tokens"]
    if route == "completions":
        if value == 0 and not body["echo"]:
            raise ApiError(400, "`max_tokens` 0 needs `echo: true`: without it there is no answer.", param=field)
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
