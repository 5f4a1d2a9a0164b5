"""Where reasonable servers differ: one table, one column a profile. `--profile` chooses, and the header
`overt-profile` for one request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

from overt.contract.errors import ApiError

DEFAULT = "overt"
NAMES = ("overt", "openai", "vllm", "sglang")
HEADER = "overt-profile"

Shape = Literal["openai", "vllm", "sglang"]


@dataclass(frozen=True, slots=True)
class Row:
    """One situation. A cell of None is as the first one; `told` puts cells that are no text into words."""

    situation: str
    overt: Any
    openai: Any = None
    vllm: Any = None
    sglang: Any = None
    told: Mapping[Any, str] = field(default_factory=dict)

    def cell(self, profile: str) -> Any:
        """The value under a profile."""
        value = getattr(self, profile)
        return self.overt if value is None else value

    def text(self, profile: str) -> str:
        """The same in words; empty where it is as overt has it."""
        value = getattr(self, profile)
        return "" if value is None else self.told.get(value, str(value))


_DONE = "400"
_STRAY = {"refuse": "400", "inert": "ignored, reported"}

ROWS: dict[str, Row] = {
    "overflow": Row(
        "prompt + max_tokens exceeds the context", "clamp", "refuse", "clamp_within", "refuse",
        {"clamp": "clamped, reported", "refuse": "400 naming both counts",
         "clamp_within": "clamped, reported; max_tokens above the whole context: 400"},
    ),
    "full_prompt": Row("the prompt alone fills or exceeds it", _DONE),
    "greedy": Row("temperature 0", "greedy"),
    "least_temperature": Row(
        "0 < temperature < 0.01", 0.0, vllm=0.01, told={0.0: "as given", 0.01: "raised to 0.01, reported"}
    ),
    "greedy_choices": Row(
        "n > 1 at temperature 0", "copies", "computed", "refuse", "computed",
        {"copies": "computed once, copied, reported", "computed": "n choices", "refuse": "400"},
    ),
    "stray_top_logprobs": Row("top_logprobs without logprobs", "refuse", sglang="inert", told=_STRAY),
    "unknown_model": Row(
        "unknown model", "refuse", sglang="accept",
        told={"refuse": "404, served names listed", "accept": "accepted, reported"},
    ),
    "absent_model": Row(
        "model absent", "default", "refuse", told={"default": "the default model, reported", "refuse": "400"}
    ),
    "adapters": Row(
        "`base:adapter` in model", "split", "whole", "whole", "split_any",
        {"split": "an adapter, after an exact match of a served name; one that is not loaded: 404",
         "whole": "404", "split_any": "an adapter; one that is not loaded: 400"},
    ),
    "stray_stream_options": Row("stream_options without stream", "refuse", sglang="inert", told=_STRAY),
    "empty_tools": Row("`tools: []`", "inert", "refuse", "refuse", told={"inert": "absent, reported", "refuse": "400"}),
    "suffix": Row(
        "suffix", "fill", sglang="inert",
        told={"fill": "fill-in-the-middle where the vocabulary has tokens for it, else 400",
              "inert": "ignored, reported"},
    ),
    "embeddings": Row(
        "embeddings on a generation model", "refuse", vllm="absent",
        told={"refuse": "400 telling which kind of model has them", "absent": "404"},
    ),
    "wide_logit_bias": Row(
        "logit_bias beyond ±100", "refuse", vllm="clamp", sglang="accept",
        told={"refuse": "400", "clamp": "clamped, reported", "accept": "as given"},
    ),
    "assistant_last": Row(
        "the last message is the assistant's", "new_turn", sglang="to_user",
        told={"new_turn": "a new turn as the template renders it, reported",
              "to_user": "its role becomes user, reported"},
    ),
    "error_shape": Row(
        "error shape", "openai", vllm="vllm", sglang="sglang",
        told={"openai": "`{\"error\": {message, type, param, code}}`, everywhere",
              "vllm": "the same with the status as code", "sglang": "flat, the status as code"},
    ),
    "reasoning_field": Row(
        "reasoning field", "both", "none", "reasoning", "reasoning_content",
        {"both": "`reasoning_content` and `reasoning`, or one of them by --reasoning-field", "none": "none",
         "reasoning": "`reasoning`", "reasoning_content": "`reasoning_content`"},
    ),
    "max_temperature": Row("temperature above 2", 2.0, sglang=inf, told={2.0: "400", inf: "as given"}),
    "top_k_zero": Row("top_k 0", "off", sglang="refuse", told={"refuse": "400"}),
    "max_stops": Row(
        "more than 4 stop strings", inf, 4, 4, told={inf: "as given, up to --max-stops (32)", 4: "400"}
    ),
    "max_top_logprobs": Row(
        "top_logprobs above 20", 0, 20, 20, inf,
        {0: "400 above --max-logprobs (20)", 20: "400", inf: "clamped to --max-logprobs, reported"},
    ),
    "lone_continuous_usage": Row(
        "`continuous_usage_stats` without `include_usage`", "implies", vllm="off", sglang="on",
        told={"implies": "implies it, reported", "off": "ignored, reported", "on": "counts on the chunks alone"},
    ),
    "obfuscation": Row(
        "`obfuscation` in stream chunks", "asked", "default", "never", "never",
        {"asked": "with `include_obfuscation: true`", "default": "unless `include_obfuscation: false`",
         "never": "never"},
    ),
    "choice_without_tools": Row("tool_choice required or named, without tools", _DONE),
    "choice_of_no_tool": Row("named tool_choice that is not in tools", _DONE),
    "completion_tokens": Row("completions: max_tokens absent", 16),
    "chat_tokens": Row(
        "chat: max_tokens absent", "rest", vllm="generation_config",
        told={"rest": "the rest of the context",
              "generation_config": "max_new_tokens of generation_config.json, else the rest of the context"},
    ),
    "generation_config": Row(
        "generation_config.json gives defaults", ("chat", "completions"), (), None, ("chat",),
        {("chat", "completions"): "on chat and completions", (): "never", ("chat",): "on chat only"},
    ),
    "nulls": Row(
        "null for an optional field", "absent", sglang="refuse_numbers",
        told={"refuse_numbers": "absent; 400 for completions' numbers"},
    ),
    "no_messages": Row("messages empty", _DONE),
    "empty_content": Row(
        "content when there are only tool calls", False, sglang=True, told={False: "null", True: '`""`'}
    ),
    "stop_field": Row(
        "stop reason field", "stop_reason", "none", sglang="matched_stop",
        told={"stop_reason": "`stop_reason`", "matched_stop": "`matched_stop`"},
    ),
    "id_prefix": Row(
        "ids", True, sglang=False, told={True: "`chatcmpl-…`, `cmpl-…`", False: "without a prefix"}
    ),
    "request_id_header": Row(
        "`X-Request-Id` on responses", "always", vllm="only with --enable-request-id-headers"
    ),
    "cached_tokens": Row(
        "usage.prompt_tokens_details", True, vllm=False,
        told={True: "always", False: "only with --enable-prompt-tokens-details"},
    ),
    "render_routes": Row("render routes", "open"),
    "extension": Row(
        "`overt` in responses", "config", "asked",
        told={"config": "where the request asks for it, and always with --report always",
              "asked": "only where the request asks for it"},
    ),
    "tell_ends": Row(
        "log probabilities of the token that ended a choice", False, vllm=True, told={False: "not told", True: "told"}
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Profile:
    """One column."""

    name: str
    overflow: Literal["clamp", "clamp_within", "refuse"]
    least_temperature: float
    greedy_choices: Literal["copies", "computed", "refuse"]
    stray_top_logprobs: Literal["refuse", "inert"]
    unknown_model: Literal["refuse", "accept"]
    absent_model: Literal["default", "refuse"]
    adapters: Literal["split", "whole", "split_any"]
    stray_stream_options: Literal["refuse", "inert"]
    empty_tools: Literal["inert", "refuse"]
    suffix: Literal["fill", "inert"]
    embeddings: Literal["refuse", "absent"]
    wide_logit_bias: Literal["refuse", "clamp", "accept"]
    assistant_last: Literal["new_turn", "to_user"]
    error_shape: Shape
    reasoning_field: Literal["both", "reasoning", "reasoning_content", "none"]
    max_temperature: float
    """Infinite: as given."""
    top_k_zero: Literal["off", "refuse"]
    max_stops: float
    """Beside the operator's limit."""
    max_top_logprobs: float
    """0: as the operator's limit has it; infinite: clamped to that."""
    lone_continuous_usage: Literal["implies", "off", "on"]
    obfuscation: Literal["asked", "default", "never"]
    completion_tokens: int
    chat_tokens: Literal["rest", "generation_config"]
    generation_config: tuple[str, ...]
    """Routes on which it gives defaults."""
    nulls: Literal["absent", "refuse_numbers"]
    empty_content: bool
    stop_field: Literal["stop_reason", "matched_stop", "none"]
    id_prefix: bool
    cached_tokens: bool
    extension: Literal["config", "asked"]
    tell_ends: bool

    def bound(self, field: str, high: float | None) -> float | None:
        """The greatest value of a field, where the server's own bound is `high`."""
        if field == "temperature":
            return None if self.max_temperature == inf else self.max_temperature
        if field == "stop" and high is not None:
            return min(high, self.max_stops)
        if field == "top_logprobs" and high is not None and self.max_top_logprobs:
            return None if self.max_top_logprobs == inf else min(high, self.max_top_logprobs)
        return high


def _column(name: str) -> Profile:
    members = [member for member in Profile.__dataclass_fields__ if member != "name"]
    return Profile(name=name, **{member: ROWS[member].cell(name) for member in members})


PROFILES: dict[str, Profile] = {name: _column(name) for name in NAMES}
OVERT = PROFILES[DEFAULT]


def profile_named(name: str) -> Profile:
    """A request's profile. Raises ApiError (400) for a name that is none."""
    profile = PROFILES.get(name)
    if profile is None:
        known = ", ".join(f"`{known}`" for known in NAMES)
        raise ApiError(400, f"`{HEADER}` must be one of {known}, and is {name[:40]!r}.", param=HEADER)
    return profile
