"""From a request's bytes to the parameters of its generation."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from overt.contract import checks, standings
from overt.contract.asked import Asked, body_id
from overt.contract.calls import check_strict_tools, forces
from overt.contract.conversation import (
    check_last,
    check_messages,
    check_template_fields,
    template_variables,
    turn,
)
from overt.contract.deployment import NEUTRAL, Deployment
from overt.contract.effects import Effect, objects
from overt.contract.errors import ApiError, wrong_value
from overt.contract.field import Route
from overt.contract.models import same, validate
from overt.contract.params import GenerationParams
from overt.contract.plan import Plan
from overt.contract.scheduling import priority
from overt.contract.template import has_tools


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
    # What another route alone has is among the unknown ones here.
    sent = checked.model_fields_set - (checked.model_extra or {}).keys()
    params = plan.params.copy()
    reading = _Reading(plan, raw, deployment, asked, body, params, effects)
    params.model = deployment.named(body["model"], profile, effects)
    params.request_id = asked.request_id
    for name in sent:
        attribute = _PLAIN.get(name)
        if attribute is not None and (value := body[name]) is not None:
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


CONSTRAINTS = (
    "response_format structured_outputs guided_json guided_json_object guided_regex guided_choice guided_grammar "
    "structural_tag json_schema regex ebnf"
)
"""Fields that may hold the output to something."""
_WHITE = "guided_whitespace_pattern"
_OF_JSON = frozenset(("response_format", "guided_json", "guided_json_object", "json_schema", "structural_tag"))


def _white_space(reading: _Reading, asked: list[str]) -> None:
    """Tells of settings for JSON where none is asked for."""
    body, reason = reading.body, "no JSON is asked for"
    outputs = body["structured_outputs"] if "structured_outputs" in asked else None
    own = outputs if isinstance(outputs, dict) else {}
    of_json = any(own.get(name) is not None for name in ("json", "json_object", "structural_tag"))
    if not of_json:
        for name in ("whitespace_pattern", "disable_any_whitespace", "disable_additional_properties"):
            if own.get(name) not in (None, False):
                path = f"structured_outputs.{name}"
                reading.effects.append(Effect(path, "inert", requested=own[name], reason=reason, counted=path))
    if body[_WHITE] is not None and not of_json and not {*asked} & _OF_JSON:
        reading.effects.append(Effect(_WHITE, "inert", requested=body[_WHITE], reason=reason))


def _constraint(reading: _Reading) -> None:
    """The core reads what the answer is held to, from the body."""
    body, params = reading.body, reading.params
    asked = [
        name
        for name in CONSTRAINTS.split()
        if (value := body[name]) is not None and all(not same(value, noop) for noop in reading.plan.known[name].noop)
    ]
    _white_space(reading, asked)
    if asked and reading.plan.route == "chat" and forces(body):
        for name in (*asked, *([_WHITE] if body[_WHITE] is not None else [])):
            reason = "the choice of tools holds the answer to a call"
            reading.effects.append(Effect(name, "inert", requested=body[name], reason=reason))
        return
    for name in asked:
        if (row := reading.plan.known[name]).kind == "any" and not isinstance(body[name], (dict, str)):
            raise wrong_value(name, row.wanted(), body[name])
    params.constrained = bool(asked)
    if params.constrained and params.beam:
        raise ApiError(400, f"`{asked[0]}` cannot be kept by a beam search. Send one of them.", param=asked[0])


def _reasoning(reading: _Reading) -> None:
    body, params = reading.body, reading.params
    left_out = body["include_reasoning"] is False
    if left_out:
        params.reasoning_field = "none"
    params.merges_reasoning = body["separate_reasoning"] is False and not left_out
    params.gathers_reasoning = body["stream_reasoning"] is False and params.stream
    if reading.deployment.reasoning_parser is None:
        return
    unread: dict[str, str] = {}
    if left_out and body["separate_reasoning"] is False:
        unread["separate_reasoning"] = "`include_reasoning` leaves the reasoning out"
    if body["stream_reasoning"] is False:
        if not params.stream:
            unread["stream_reasoning"] = "the answer comes in one piece"
        elif left_out or params.merges_reasoning:
            unread["stream_reasoning"] = "no reasoning is told apart"
    for name, reason in unread.items():
        reading.effects.append(Effect(name, "inert", requested=False, reason=reason))


def _thinking(reading: _Reading) -> None:
    budget = reading.body["thinking_token_budget"]
    reading.params.thinking_budget = None if budget is None or budget < 0 else budget


def _calls(reading: _Reading) -> None:
    body, params = reading.body, reading.params
    params.one_call = body["parallel_tool_calls"] is False
    params.functions = bool(body["functions"])
    if params.one_call and reading.deployment.parser is not None and not has_tools(body):
        reason = "there are no tools"
        reading.effects.append(Effect("parallel_tool_calls", "inert", requested=False, reason=reason))


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
        (f"{CONSTRAINTS} {_WHITE}", _constraint),
        ("include_reasoning separate_reasoning stream_reasoning", _reasoning),
        ("thinking_token_budget", _thinking),
        ("parallel_tool_calls functions function_call", _calls),
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
    params.template_variables = template_variables(body, deployment, template, effects)
    if params.tools:
        name = "tools" if tools else "functions"
        told = standings.tools(deployment, profile)
        if told.effect == "adapted":
            applied = "prompt only" if deployment.parser is None else "calls only"
            effects.append(Effect(name, "adapted", applied, requested=body[name], reason=told.reason))
        check_strict_tools(body, deployment, effects)
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
