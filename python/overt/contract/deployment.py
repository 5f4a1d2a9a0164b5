"""What of the loaded model and the operator's flags decides over fields."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from overt import _core
from overt.contract.effects import Effect
from overt.contract.errors import ApiError, missing
from overt.contract.field import Field, Route, Standing
from overt.contract.fields import by_name
from overt.contract.limits import DEFAULTS, Limits
from overt.contract.models import model_of, nested
from overt.contract.params import GenerationParams
from overt.contract.plan import Plan
from overt.contract.profiles import DEFAULT, OVERT, PROFILES, Profile
from overt.contract.template import Template

if TYPE_CHECKING:
    from overt._core import Front
    from overt.cli.config import ServeConfig

NEUTRAL: Mapping[str, float] = {
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "typical_p": 1.0,
    "repetition_penalty": 1.0,
}
"""Sampling fields for which models have defaults, at the values that change nothing."""

_PREFIXES = {"chat": "chatcmpl-", "completions": "cmpl-"}
_PROTOCOL_DEFAULT = "server"


@dataclass(frozen=True, slots=True)
class Deployment:
    """One model as it is served."""

    served: tuple[str, ...]
    """Names the model answers to, the default first."""
    vocab_size: int
    generation_config: Mapping[str, Any] = field(default_factory=dict)
    """Defaults that the model's makers give for sampling."""
    chat_template: str | None = None
    parser: str | None = None
    """The format that tool calls are read in; none: they stay text."""
    reasoning_parser: str | None = None
    """The format that reasoning is read in; none: it stays text."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """What the core told of these formats, and why they were chosen."""
    constrains: bool = True
    """Outputs can be held to grammars."""
    bounds_thinking: bool = False
    """The end of thinking can be forced."""
    max_client_priority: int = 0
    tells_prompt_logprobs: bool = True
    """Whether the model's code gives the logits of prompt tokens."""
    limits: Limits = DEFAULTS
    default_profile: str = DEFAULT
    strict: bool = False
    """Every request is strict."""
    always_reports: bool = False
    """Every answer tells what became of its fields."""
    reasoning_field: str | None = None
    """Instead of the default profile's."""
    fills_gaps: bool = False
    """Whether the vocabulary has tokens for prompts with a gap."""
    prefix_caching: bool = True
    guarded: bool = False
    """Requests need a key."""
    tells_cached_tokens: bool = False
    """Also under profiles that do not by themselves."""
    tokens_as_ids: bool = False
    """Default of `return_tokens_as_token_ids`."""
    always_tells_usage: bool = False
    """On streams, whatever `stream_options` says."""
    template_source: str = ""
    tool_template: str | None = None
    """The chat template of conversations with tools, where the model has another for them."""
    tool_template_source: str = ""
    template_variables: Mapping[str, Any] = field(default_factory=dict)
    """Variables of the chat template that the operator gives."""
    special_tokens: Mapping[str, Any] = field(default_factory=dict)
    """As templates see them: `bos_token`, …"""
    escapes: bool = False
    """Special tokens that a client's text spells are plain text."""
    model: Mapping[str, Any] = field(default_factory=dict)
    """What the engine told of the model: name, source, max_model_len, dtype, device, architecture, fingerprint."""
    engine: Mapping[str, int] = field(default_factory=dict)
    """What the engine told of its limits."""

    template: Template | None = field(init=False, compare=False)
    _with_tools: Template | None = field(init=False, compare=False, repr=False)
    _plans: dict[tuple[str, str], Plan] = field(init=False, compare=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        tokens = self.special_tokens
        text, other = self.chat_template, self.tool_template
        template = None if text is None else Template(text, self.template_source, special_tokens=tokens)
        with_tools = template
        if other is not None:
            with_tools = Template(other, self.tool_template_source, name="tool_use", special_tokens=tokens)
        object.__setattr__(self, "template", template)
        object.__setattr__(self, "_with_tools", with_tools)

    def template_for(self, tools: bool) -> Template | None:
        """The template of conversations with or without tools."""
        return self._with_tools if tools else self.template

    @property
    def profile(self) -> Profile:
        """Of requests that name none."""
        return PROFILES[self.default_profile]

    @property
    def error_shape(self) -> str:
        """Of errors outside of requests that name a profile."""
        return self.profile.error_shape

    @property
    def max_model_len(self) -> int | None:
        """Tokens of the context, where there is a model."""
        length: int | None = self.model.get("max_model_len")
        return length

    def plan(self, route: Route, profile: Profile) -> Plan:
        """What is worked out once for a route under a profile."""
        plan = self._plans.get((route, profile.name))
        if plan is None:
            plan = self._plans[route, profile.name] = self._planned(route, profile)
        return plan

    def _planned(self, route: Route, profile: Profile) -> Plan:
        known = by_name(route, self.limits, profile)
        watched = with_tools = self._watched(route, profile, known)
        if self.tool_template is not None:
            # The deployment as a conversation with tools finds it.
            other = replace(self, chat_template=self.tool_template, template_source=self.tool_template_source)
            with_tools = other._watched(route, profile, known)
        return Plan(
            route=route,
            profile=profile,
            max_json_depth=self.limits.max_json_depth,
            model=model_of(route, self.limits, profile),
            known=known,
            watched=watched,
            watched_with_tools=with_tools,
            params=self._params(route, profile),
            prefix=_PREFIXES.get(route, "") if profile.id_prefix else "",
            report=self._report(route, profile, self.template),
            report_with_tools=self._report(route, profile, self._with_tools),
        )

    def _watched(self, route: Route, profile: Profile, known: Mapping[str, Field]) -> dict[str, dict[str, Standing]]:
        """Fields that are inert or refused at rest."""
        watched: dict[str, dict[str, Standing]] = {prefix: {} for prefix in ("", *map("{}.".format, nested(route)))}
        for row in known.values():
            standing = row.standing(self, profile)
            if row.effect != "refused" and standing.effect in ("inert", "refused"):
                parent, dot, key = row.name.rpartition(".")
                watched[parent + dot][key] = standing
        return watched

    def _params(self, route: Route, profile: Profile) -> GenerationParams:
        """What a generation is where the request does not say."""
        sampling = {name: self.sampling_default(name, route, profile)[0] for name in NEUTRAL}
        if sampling["temperature"] > 0:
            sampling["temperature"] = max(sampling["temperature"], profile.least_temperature)
        reasoning = self.reasoning_field if profile.name == self.default_profile else None
        return GenerationParams(
            model=self.served[0],
            request_id="",
            max_tokens=self._max_tokens(route, profile),
            max_tokens_field="max_tokens",
            max_tokens_sent=False,
            temperature=sampling["temperature"],
            top_p=sampling["top_p"],
            top_k=max(int(sampling["top_k"]), 0),
            min_p=sampling["min_p"],
            seed=None,
            n=1,
            stop=[],
            stop_token_ids=[],
            ignore_eos=False,
            skip_special_tokens=True,
            include_stop=False,
            stream=False,
            include_usage=False,
            priority=max(0, self.max_client_priority),
            user=None,
            key=None,
            cache_salt=None,
            tools=False,
            add_generation_prompt=True,
            continue_final_message=False,
            typical_p=sampling["typical_p"],
            repetition_penalty=sampling["repetition_penalty"],
            tokens_as_ids=self.tokens_as_ids,
            overflow=profile.overflow,
            fingerprint=self.fingerprint(profile),
            tell_ends=profile.tell_ends,
            stop_field=profile.stop_field,
            reasoning_field=cast(Any, reasoning or profile.reasoning_field),
            cached_tokens=profile.cached_tokens or self.tells_cached_tokens,
            empty_content=profile.empty_content,
            error_shape=profile.error_shape,
        )

    def sampling_default(self, name: str, route: Route, profile: Profile) -> tuple[float, str]:
        """A sampling field's default, and where it comes from: "generation_config" where the model gives a usable
        one and the profile listens to it."""
        otherwise = NEUTRAL[name]
        value = self.generation_config.get(name) if route in profile.generation_config else None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return otherwise, _PROTOCOL_DEFAULT
        row = by_name("chat")[name]
        low = row.low if row.low is not None else row.above
        fits = (low is None or value >= low) and (row.high is None or value <= row.high)
        if not fits or (row.above is not None and value <= row.above):
            return otherwise, _PROTOCOL_DEFAULT
        return value, "generation_config"

    def _max_tokens(self, route: Route, profile: Profile) -> int | None:
        if route == "completions":
            return profile.completion_tokens
        most = self.generation_config.get("max_new_tokens")
        wanted = profile.chat_tokens == "generation_config" and isinstance(most, int) and not isinstance(most, bool)
        return most if wanted and most is not None and most >= 1 else None

    def fingerprint(self, profile: Profile) -> str:
        """`system_fingerprint`: changes with whatever can change an answer."""
        of = [
            self.model.get("fingerprint"),
            self.model.get("dtype"),
            self.model.get("device"),
            *(None if template is None else template.hash for template in (self.template, self._with_tools)),
            self.parser,
            self.reasoning_parser,
            profile.name,
            _core.__version__,
        ]
        return "fp_" + hashlib.sha256(json.dumps(of, default=str).encode()).hexdigest()[:16]

    def _report(self, route: Route, profile: Profile, template: Template | None) -> str:
        members: dict[str, Any] = {"profile": profile.name}
        if route == "chat" and template is not None:
            members["template"] = template.told()
        return json.dumps(members, ensure_ascii=False, separators=(",", ":"))[1:-1]

    def named(self, model: str | None, profile: Profile = OVERT, effects: list[Effect] | None = None) -> str:
        """The name to answer with for a request's `model`. What is not served as it was asked for is appended to
        `effects`.

        Raises ApiError: 404 for a name that is not served, 400 where the profile wants a name and there is none.
        """
        if model is None:
            if profile.absent_model == "refuse":
                raise missing("model", "a served name")
            if effects is not None:
                reason = "it is absent: the default model answers"
                effects.append(Effect("model", "adapted", self.served[0], reason=reason))
            return self.served[0]
        if model in self.served:
            return model
        base, colon, adapter = model.partition(":")
        if colon and profile.adapters != "whole" and (base in self.served or profile.adapters == "split_any"):
            raise ApiError(
                400 if profile.adapters == "split_any" else 404,
                f"The adapter `{adapter[:80]}` is not loaded: this server has no adapters. Send the model alone.",
                param="model",
                code="model_not_found",
            )
        if profile.unknown_model == "accept":
            if effects is not None:
                reason = f"it is not served here, and the profile {profile.name} takes any name"
                effects.append(Effect("model", "adapted", self.served[0], requested=model, reason=reason))
            return model
        names = ", ".join(f"`{name}`" for name in self.served)
        raise ApiError(
            404,
            f"The model `{model[:80]}` is not served here. Served: {names}.",
            param="model",
            code="model_not_found",
        )


def deployment_of(config: "ServeConfig", hello: Mapping[str, Any], front: "Front") -> Deployment:
    """The deployment of a server with `config` whose engine has said `hello` (parsed) and is behind `front`."""
    model: dict[str, Any] = dict(hello["model"])
    default, with_tools = _templates(hello.get("chat_templates") or [])
    reading: dict[str, Any] = json.loads(front.reading or b"{}")
    return Deployment(
        served=_served(config, model),
        vocab_size=model["vocab_size"],
        generation_config=_generation_config(config, model.pop("generation_config", None) or {}),
        chat_template=default.get("text"),
        tool_template=with_tools.get("text"),
        parser=reading.get("tool_call_parser"),
        reasoning_parser=reading.get("reasoning_parser"),
        reading=reading,
        constrains=reading.get("constrains", True),
        bounds_thinking=reading.get("bounds_thinking", False),
        max_client_priority=config.max_client_priority,
        tells_prompt_logprobs=model.get("tells_prompt_logprobs", True),
        limits=config.limits,
        default_profile=config.profile,
        strict=config.strict,
        always_reports=config.report == "always",
        reasoning_field=config.reasoning_field,
        fills_gaps=front.fills_gaps,
        prefix_caching=config.enable_prefix_caching,
        guarded=bool(config.api_key),
        tells_cached_tokens=config.prompt_tokens_details,
        tokens_as_ids=config.return_tokens_as_token_ids,
        always_tells_usage=config.force_include_usage,
        template_source=default.get("source", ""),
        tool_template_source=with_tools.get("source", ""),
        template_variables=config.default_chat_template_kwargs,
        special_tokens=hello.get("special_tokens") or {},
        escapes=config.escape_special_tokens,
        model=model,
        engine=dict(hello.get("limits") or {}),
    )


def _templates(named: Sequence[Mapping[str, str]]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The template of conversations without tools, and the one of those with tools where it is another."""
    by_names = {template["name"]: template for template in named}
    return by_names.get("default", {}), by_names.get("tool_use", {})


def _generation_config(config: "ServeConfig", own: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults of the model's makers, as the operator wants them."""
    match config.generation_config:
        case "auto":
            chosen = dict(own)
        case "vllm" | "none":
            chosen = {}
        case folder:
            chosen = json.loads((Path(folder) / "generation_config.json").read_text(encoding="utf-8"))
    return chosen | config.override_generation_config


def _served(config: "ServeConfig", model: Mapping[str, Any]) -> tuple[str, ...]:
    if config.served_model_name:
        return tuple(config.served_model_name)
    # Clients written for another server name the model as it was given on the command line.
    return tuple(dict.fromkeys((model["name"], config.model)))
