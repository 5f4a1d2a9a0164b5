"""From a request's bytes to the parameters of its generation."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from overt.contract import checks
from overt.contract.asked import Asked, body_id
from overt.contract.conversation import (
    check_last,
    check_messages,
    check_spelled,
    check_strict_tools,
    check_template_fields,
    has_tools,
    template_variables,
    turn,
)
from overt.contract.deployment import NEUTRAL, Deployment
from overt.contract.effects import Effect, objects
from overt.contract.field import Route
from overt.contract.models import validate
from overt.contract.params import GenerationParams
from overt.contract.plan import Plan
from overt.contract.scheduling import priority


@dataclass(slots=True)
class _Reading:
    """One request being read."""

    plan: Plan
    raw: bytes
    deployment: Deployment
    asked: Asked
    body: dict[str, Any]
    """Every field of the model, null where it was not sent."""
    params: GenerationParams
    effects: list[Effect]


def read(route: Route, raw: bytes, deployment: Deployment, asked: Asked) -> tuple[GenerationParams, list[Effect]]:
    """Checks a generation request's body. Returns its parameters and what is to be told about its fields, those of
    the headers included.

    Raises ApiError for whatever can be refused without the prompt's tokens.
    """
    profile = asked.profile
    plan = deployment.plan(route, profile)
    checked, effects = validate(plan, raw)
    if asked.effects:
        effects = asked.effects + effects
    body: dict[str, Any] = checked.__dict__
    sent = checked.model_fields_set
    params = plan.params.copy()
    reading = _Reading(plan, raw, deployment, asked, body, params, effects)
    params.model = deployment.named(body["model"], profile, effects)
    params.request_id = asked.request_id
    for name in sent:
        attribute = _PLAIN.get(name)
        # What another route alone has is no member of this body.
        if attribute is not None and (value := body.get(name)) is not None:
            setattr(params, attribute, value)
    params.id = plan.prefix + body_id(body, asked, effects)
    params.include_usage, params.continuous_usage, params.obfuscation = checks.stream_options(body, profile, effects)
    if deployment.always_tells_usage and params.stream:
        checks.forced_usage(body, params.include_usage, effects)
        params.include_usage = params.continuous_usage = True
    # Most requests send few fields: each step is taken for those that send one of its own.
    for fields, step in _STEPS:
        if not fields.isdisjoint(sent):
            step(reading)
    params.best_of = max(params.best_of, params.n)
    if params.n > 1:
        params.copies = checks.copies(params.n, params.best_of, params.beam, params.temperature, profile, effects)
    if asked.priority is not None or body["priority"] is not None or body["service_tier"] is not None:
        params.priority, tier = priority(body, asked, deployment, effects)
        params.extra = _member("service_tier", tier)
    if body["metadata"]:
        params.extra += ("," if params.extra else "") + _member("metadata", body["metadata"])
    if route == "chat":
        _chat(reading)
    else:
        checks.nulls(plan, sent, body)
        checks.prompts(route, body, deployment)
    _own_options(reading)
    return params, effects


def _member(name: str, value: Any) -> str:
    """A member of the whole answer, as JSON."""
    return "" if value is None else f'"{name}":{json.dumps(value, ensure_ascii=False, separators=(",", ":"))}'


# --- steps ---

_PLAIN = {
    name: name
    for name in (
        "seed",
        "n",
        "stop",
        "stop_token_ids",
        "ignore_eos",
        "skip_special_tokens",
        "stream",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "allowed_token_ids",
        "bad_words",
        "length_penalty",
        "stop_regex",
        "echo",
        "add_special_tokens",
        "top_p",
        "min_p",
        "typical_p",
    )
} | {
    "return_tokens_as_token_ids": "tokens_as_ids",
    "return_token_ids": "token_ids",
    "return_prompt_text": "prompt_text",
}
"""Fields that are taken as they are, by the parameter they give."""


def _length(reading: _Reading) -> None:
    params = reading.params
    params.max_tokens, params.max_tokens_field = checks.max_tokens(reading.plan, reading.body, reading.effects)
    sent = (reading.body.get(name) for name in ("max_tokens", "max_completion_tokens"))
    params.max_tokens_sent = any(value is not None for value in sent)


def _least(reading: _Reading) -> None:
    params = reading.params
    params.min_tokens = checks.min_tokens(reading.body, params.max_tokens, params.max_tokens_field)


def _temperature(reading: _Reading) -> None:
    asked = reading.body["temperature"]
    if asked is not None:
        reading.params.temperature = checks.temperature(asked, reading.plan.profile, reading.effects)


def _top_k(reading: _Reading) -> None:
    asked = reading.body["top_k"]
    if asked is not None:
        reading.params.top_k = checks.top_k(asked, reading.plan.profile)


def _bias(reading: _Reading) -> None:
    profile = reading.plan.profile
    reading.params.logit_bias = checks.logit_bias(reading.body, reading.deployment, profile, reading.effects)


def _ids(reading: _Reading) -> None:
    for name in ("stop_token_ids", "allowed_token_ids"):
        checks.token_ids(name, reading.body, reading.deployment)


def _stops(reading: _Reading) -> None:
    checks.stops(reading.body, reading.deployment)


def _include_stop(reading: _Reading) -> None:
    reading.params.include_stop = checks.include_stop(reading.body)


def _best_of(reading: _Reading) -> None:
    reading.params.best_of = checks.best_of(reading.body, reading.params.n)


def _beam(reading: _Reading) -> None:
    params = reading.params
    params.beam = checks.beam(reading.body, reading.effects)
    if params.beam:
        for name, value in NEUTRAL.items():
            setattr(params, name, value)


def _logprobs(reading: _Reading) -> None:
    body, params, deployment = reading.body, reading.params, reading.deployment
    params.logprobs = checks.logprobs(reading.plan, body, deployment.limits.max_logprobs, reading.effects)
    params.prompt_logprobs = checks.prompt_logprobs(body)
    checks.told_echo(params.echo and params.logprobs is not None, deployment)
    wanted = body["return_tokens_as_token_ids"]
    if wanted and params.logprobs is None and params.prompt_logprobs is None:
        reason = "no log probabilities are asked for"
        reading.effects.append(Effect("return_tokens_as_token_ids", "inert", requested=True, reason=reason))


def _truncation(reading: _Reading) -> None:
    params = reading.params
    params.truncate_prompt_tokens, params.truncation_side = checks.truncation(reading.body, reading.effects)


def _suffix(reading: _Reading) -> None:
    reading.params.suffix = checks.suffix(reading.plan, reading.body)


def _special(reading: _Reading) -> None:
    """Token ids are taken as they are."""
    wanted, prompt = reading.body["add_special_tokens"], reading.body.get("prompt")
    if wanted is None or not isinstance(prompt, list) or not prompt or isinstance(prompt[0], str):
        return
    reason = "the prompt is of token ids, which are taken as they are"
    reading.effects.append(Effect("add_special_tokens", "inert", requested=wanted, reason=reason))


def _user(reading: _Reading) -> None:
    reading.params.user = checks.user(reading.body, reading.effects)


def _cache(reading: _Reading) -> None:
    reading.params.cache_salt = checks.cache_partition(reading.body)


def _spaces(reading: _Reading) -> None:
    if reading.body["spaces_between_special_tokens"] is False:
        reason = "no tokenizer that is read here writes such spaces"
        reading.effects.append(Effect("spaces_between_special_tokens", "inert", requested=False, reason=reason))


_STEPS: tuple[tuple[frozenset[str], Callable[[_Reading], None]], ...] = tuple(
    (frozenset(fields.split()), step)
    for fields, step in (
        ("max_tokens max_completion_tokens", _length),
        ("min_tokens min_new_tokens", _least),
        ("temperature", _temperature),
        ("top_k", _top_k),
        ("logit_bias", _bias),
        ("stop_token_ids allowed_token_ids", _ids),
        ("stop stop_regex", _stops),
        ("include_stop_str_in_output no_stop_trim", _include_stop),
        ("best_of", _best_of),
        ("use_beam_search length_penalty", _beam),
        ("logprobs top_logprobs prompt_logprobs return_tokens_as_token_ids", _logprobs),
        ("truncate_prompt_tokens truncation_side", _truncation),
        ("suffix", _suffix),
        ("add_special_tokens", _special),
        ("user safety_identifier", _user),
        ("cache_salt prompt_cache_key extra_key", _cache),
        ("spaces_between_special_tokens", _spaces),
    )
)
"""In order; each with the fields that it reads."""


def _chat(reading: _Reading) -> None:
    body, params, effects = reading.body, reading.params, reading.effects
    deployment, profile = reading.deployment, reading.plan.profile
    check_template_fields(body, deployment, profile, effects)
    messages, tools = body["messages"], body["tools"]
    params.tools = has_tools(body)
    template = deployment.template_for(params.tools)
    check_messages(messages, template, effects)
    check_spelled(reading.raw, body, deployment, effects)
    params.template_variables = template_variables(body, deployment, template, effects)
    if params.tools:
        if deployment.parser is None and "tools" not in reading.plan.watched[""]:
            reason = "the model sees the tools, but no parser reads its calls: they stay text"
            effects.append(Effect("tools", "adapted", "prompt only", requested=tools, reason=reason))
        check_strict_tools(tools, effects)
    params.continue_final_message, params.add_generation_prompt = turn(body)
    if not params.continue_final_message:
        params.assistant_to_user = check_last(messages, profile, params.add_generation_prompt, effects)


def _own_options(reading: _Reading) -> None:
    """Strict mode and the report, when all effects are known."""
    options, deployment = reading.body["overt"], reading.deployment
    strict, reports = reading.asked.strict, False
    if options is not None:
        strict, reports = strict or bool(options.strict), bool(options.report)
    if strict:
        reading.params.strict = [effect.clause() for effect in reading.effects]
    if reports or (deployment.always_reports and reading.plan.profile.extension == "config"):
        more = reading.plan.report_with_tools if reading.params.tools else reading.plan.report
        reading.params.report = (objects(reading.effects), more)
