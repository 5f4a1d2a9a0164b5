"""Fields that must fit each other, the model, the profile and the operator's limits."""

import re
import sys
from typing import Any, Literal, TypeVar

from overt.contract.deployment import Deployment
from overt.contract.effects import Effect
from overt.contract.errors import ApiError, shown, step, wrong_value
from overt.contract.field import MAX_BIAS, Route
from overt.contract.fields import by_name
from overt.contract.plan import Plan
from overt.contract.profiles import Profile

T = TypeVar("T")

NO_LIMIT = 2**31 - 1
"""More than any context or vocabulary holds, and within the core's integers."""

_LARGEST = 3.0e38
"""Of the core's floats."""

_TOKEN_ID = re.compile(r"[0-9]{1,20}", re.ASCII)

_INERT_IN_BEAMS = ("temperature", "top_p", "top_k", "min_p", "typical_p", "seed")
_NOT_IN_BEAMS: dict[str, Any] = {
    "repetition_penalty": 1,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "logit_bias": {},
    "allowed_token_ids": None,
    "bad_words": [],
    "min_tokens": 0,
    "min_new_tokens": 0,
    "stop_regex": [],
    "prompt_logprobs": None,
    "echo": False,
    "best_of": None,
}
"""With the values that ask for nothing."""

_NUMBERS = ("max_tokens", "temperature", "top_p", "top_k", "n", "presence_penalty", "frequency_penalty")
"""For which some servers take no null."""


def given(value: T | None, otherwise: T) -> T:
    """A default for null."""
    return otherwise if value is None else value


def nulls(plan: Plan, fields: set[str], body: dict[str, Any]) -> None:
    """Refuses null where the profile does."""
    if plan.profile.nulls == "refuse_numbers" and plan.route == "completions":
        for name in _NUMBERS:
            if name in fields and body[name] is None:
                raise wrong_value(name, plan.known[name].wanted(), None)


def stream_options(body: dict[str, Any], profile: Profile, effects: list[Effect]) -> tuple[bool, bool, bool]:
    """Whether a stream has a usage chunk, counts on every chunk, and padding."""
    options, stream = body["stream_options"], bool(body["stream"])
    if options is None:
        return False, False, stream and profile.obfuscation == "default"
    if not stream:
        if profile.stray_stream_options == "refuse":
            raise ApiError(400, "`stream_options` needs `stream: true`; send both or neither.", param="stream_options")
        effects.append(Effect("stream_options", "inert", reason="there is no stream"))
        return False, False, False
    usage, continuous = bool(options.include_usage), bool(options.continuous_usage_stats)
    if continuous and not usage:
        match profile.lone_continuous_usage:
            case "implies":
                usage = True
                field, reason = "stream_options.include_usage", "`continuous_usage_stats` implies it"
                effects.append(Effect(field, "adapted", True, requested=options.include_usage, reason=reason))
            case "off":
                continuous = False
                reason = "it needs `include_usage: true`"
                effects.append(Effect("stream_options.continuous_usage_stats", "inert", requested=True, reason=reason))
            case "on":
                pass
    padded = given(options.include_obfuscation, profile.obfuscation == "default")
    return usage, continuous, padded and profile.obfuscation != "never"


def forced_usage(body: dict[str, Any], wanted: bool, effects: list[Effect]) -> None:
    """Tells of a stream that tells its usage though it was asked not to."""
    options = body["stream_options"]
    if options is not None and options.include_usage is False and not wanted:
        reason = "the operator has every stream tell it (--enable-force-include-usage)"
        effects.append(Effect("stream_options.include_usage", "adapted", True, requested=False, reason=reason))


def prompts(route: Route, body: dict[str, Any], deployment: Deployment) -> None:
    """Refuses more prompts than may come at once. What each has to be is the core's to say."""
    value, most = body.get("prompt"), deployment.limits.max_prompts
    if isinstance(value, list) and len(value) > most and not isinstance(value[0], int):
        raise wrong_value("prompt", by_name(route, deployment.limits)["prompt"].wanted(), value)


def max_tokens(plan: Plan, body: dict[str, Any], effects: list[Effect]) -> tuple[int | None, str]:
    """Tokens of a choice, and the field that says so."""
    field, value = "max_tokens", body["max_tokens"]
    if plan.route == "completions":
        if value == 0 and not body["echo"]:
            raise ApiError(400, "`max_tokens` 0 needs `echo: true`: without it there is no answer.", param=field)
    else:
        newer = body["max_completion_tokens"]
        if newer is not None:
            if value is not None and value != newer:
                reason = "`max_completion_tokens` is the newer name and wins"
                effects.append(Effect("max_tokens", "inert", requested=value, reason=reason))
            field, value = "max_completion_tokens", newer
    if value is None:
        return plan.params.max_tokens, field
    return min(value, NO_LIMIT), field


def temperature(asked: float, profile: Profile, effects: list[Effect]) -> float:
    """As the profile has it."""
    least = profile.least_temperature
    if 0 < asked < least:
        reason = f"the profile {profile.name} has no lower one but 0"
        effects.append(Effect("temperature", "adapted", least, requested=asked, reason=reason))
        return least
    return min(asked, _LARGEST)


def top_k(asked: int, profile: Profile) -> int:
    """0: all."""
    if asked == 0 and profile.top_k_zero == "refuse":
        raise wrong_value("top_k", "-1 or an integer of at least 1", 0)
    return min(max(asked, 0), NO_LIMIT)


def copies(n: int, candidates: int, beam: bool, temperature: float, profile: Profile, effects: list[Effect]) -> bool:
    """Whether one choice is made and answered `n` times, since all would be the same."""
    if n == 1 or beam or temperature > 0 or candidates > n:
        return False
    match profile.greedy_choices:
        case "refuse":
            raise ApiError(400, f"`n` must be 1 at temperature 0, and is {n}: all choices are the same.", param="n")
        case "copies":
            reason = "at temperature 0 all choices are the same: one is computed and answered as often as asked"
            effects.append(Effect("n", "adapted", 1, requested=n, reason=reason))
            return True
        case "computed":
            return False


def token_ids(name: str, body: dict[str, Any], deployment: Deployment) -> None:
    """Refuses ids that the vocabulary does not have."""
    for index, token in enumerate(body.get(name) or ()):
        if token >= deployment.vocab_size:
            raise wrong_value(f"{name}[{index}]", f"a token id from 0 to {deployment.vocab_size - 1}", token)


def logit_bias(
    body: dict[str, Any], deployment: Deployment, profile: Profile, effects: list[Effect]
) -> list[tuple[int, float]]:
    """Tokens and what is added to their logits, by rising id."""
    asked = body["logit_bias"]
    if not asked:
        return []
    most = {"refuse": MAX_BIAS, "accept": _LARGEST, "clamp": sys.float_info.max}[profile.wide_logit_bias]
    biases: dict[int, float] = {}
    for key, value in asked.items():
        token = int(key) if _TOKEN_ID.fullmatch(key) else -1
        if not 0 <= token < deployment.vocab_size:
            wanted = f"token ids from 0 to {deployment.vocab_size - 1} as strings of digits"
            raise _bias(f"The keys of `logit_bias` must be {wanted}, and one is {shown(key)}.")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not -most <= value <= most:
            wanted = by_name("chat")["logit_bias"].item_wanted()
            if most == _LARGEST:
                wanted = f"a number from -{_LARGEST:g} to {_LARGEST:g}"
            error = wrong_value(f"logit_bias{step(key)}", wanted, value)
            raise _bias(error.message)
        if token in biases:
            raise _bias(f"`logit_bias` names token {token} twice, the second time as {shown(key)}.")
        biases[token] = float(value)
    if profile.wide_logit_bias == "clamp":
        for token, bias in biases.items():
            if not -MAX_BIAS <= bias <= MAX_BIAS:
                biases[token] = clamped = float(max(-MAX_BIAS, min(bias, MAX_BIAS)))
                reason = f"biases lie from -{MAX_BIAS} to {MAX_BIAS}"
                path = f"logit_bias.{token}"
                effects.append(Effect(path, "adapted", clamped, requested=bias, reason=reason, counted="logit_bias"))
    return sorted(biases.items())


def _bias(message: str) -> ApiError:
    return ApiError(400, message, param="logit_bias")


def stops(body: dict[str, Any], deployment: Deployment) -> None:
    """Refuses more stop strings and patterns together than there may be."""
    together, most = len(body.get("stop") or ()) + len(body.get("stop_regex") or ()), deployment.limits.max_stops
    if together > most:
        raise ApiError(
            400, f"`stop` and `stop_regex` may have {most} items together, and have {together}.", param="stop_regex"
        )


def include_stop(body: dict[str, Any]) -> bool:
    """Whether the text that ends a choice stays, by either name."""
    named, other = body["include_stop_str_in_output"], body["no_stop_trim"]
    if named is not None and other is not None and named != other:
        raise ApiError(
            400,
            "`no_stop_trim` and `include_stop_str_in_output` are one and contradict each other. Send one of them.",
            param="no_stop_trim",
        )
    return bool(named or other)


def min_tokens(body: dict[str, Any], max_tokens: int | None, max_tokens_field: str) -> int:
    """Tokens before a choice may end."""
    field, least = "min_tokens", body["min_tokens"]
    other = body["min_new_tokens"]
    if other is not None:
        if least is not None and least != other:
            raise ApiError(
                400, "`min_new_tokens` and `min_tokens` are one and contradict each other. Send one of them.",
                param="min_new_tokens",
            )  # fmt: skip
        field, least = ("min_new_tokens", other) if least is None else (field, least)
    if least is None:
        return 0
    if max_tokens is not None and least > max_tokens:
        raise ApiError(
            400,
            f"`{field}` ({least}) is greater than `{max_tokens_field}` ({max_tokens}); send at most that.",
            param=field,
        )
    return min(int(least), NO_LIMIT)


def best_of(body: dict[str, Any], n: int) -> int:
    """Candidates for each prompt."""
    candidates: int | None = body.get("best_of")
    if candidates is None:
        return n
    if candidates < n:
        raise ApiError(
            400, f"`best_of` ({candidates}) is less than `n` ({n}): so many choices there are not.", param="best_of"
        )
    if candidates > 1 and body["stream"]:
        raise ApiError(
            400,
            "`best_of` above 1 cannot be streamed: the best are known at the end only. Leave out one of the two.",
            param="best_of",
        )
    return candidates


def logprobs(plan: Plan, body: dict[str, Any], most: int, effects: list[Effect]) -> int | None:
    """Alternatives beside each token of the answer; none: no log probabilities. `most`: the operator's limit."""
    if plan.route == "completions":
        wanted: int | None = body["logprobs"]
        return wanted
    top: int = body["top_logprobs"] or 0
    if body["logprobs"]:
        if top > most:
            # Only profiles that take any number come here.
            reason = f"the operator's --max-logprobs is {most}"
            effects.append(Effect("top_logprobs", "adapted", most, requested=top, reason=reason))
        return min(top, most)
    if top:
        if plan.profile.stray_top_logprobs == "refuse":
            raise ApiError(400, "`top_logprobs` needs `logprobs: true`; send both or neither.", param="top_logprobs")
        effects.append(Effect("top_logprobs", "inert", requested=top, reason="it needs `logprobs: true`"))
    return None


def prompt_logprobs(body: dict[str, Any]) -> int | None:
    """The same for the prompt."""
    wanted: int | None = body["prompt_logprobs"]
    if wanted is not None and body["stream"]:
        raise ApiError(
            400, "`prompt_logprobs` cannot be streamed. Leave it out, or send `stream: false`.", param="prompt_logprobs"
        )
    return wanted


def told_echo(echoed: bool, deployment: Deployment) -> None:
    """Refuses log probabilities of echoed prompts where the model's code gives none."""
    if echoed and not deployment.tells_prompt_logprobs:
        raise ApiError(
            400,
            "`logprobs` of prompt tokens is not available: this model's code does not give their logits. Leave it out.",
            param="logprobs",
            code="unsupported_parameter",
        )


def beam(body: dict[str, Any], effects: list[Effect]) -> bool:
    """Refuses what contradicts a beam search, and tells what changes nothing in one, or without one."""
    if not body["use_beam_search"]:
        penalty = body["length_penalty"]
        if penalty not in (None, 1):
            reason = "it needs `use_beam_search: true`"
            effects.append(Effect("length_penalty", "inert", requested=penalty, reason=reason))
        return False
    if body["stream"]:
        raise ApiError(
            400,
            "`stream` cannot be combined with `use_beam_search`: the texts are known at the end only. "
            "Leave out one of the two.",
            param="stream",
        )
    for name, neutral in _NOT_IN_BEAMS.items():
        if body.get(name) not in (None, neutral):
            raise ApiError(
                400, f"`{name}` cannot be combined with `use_beam_search`. Leave out one of the two.", param=name
            )
    effects.extend(
        Effect(name, "inert", requested=body[name], reason="a beam search does not draw")
        for name in _INERT_IN_BEAMS
        if body.get(name) is not None
    )
    return True


def suffix(plan: Plan, body: dict[str, Any]) -> str | None:
    """The text behind the gap. What does not go with it is refused."""
    text: str | None = body.get("suffix")
    if not text or "suffix" in plan.watched[""]:
        return None
    if body["echo"]:
        raise _against_suffix("with `echo`: the answer stands in the gap, not behind the prompt")
    if body["truncate_prompt_tokens"] is not None:
        raise _against_suffix("with `truncate_prompt_tokens`: what marks the gap would be cut away")
    prompt = body["prompt"]
    first = prompt[0] if isinstance(prompt, list) and prompt else None
    if isinstance(first, (int, list)):
        raise _against_suffix("with token ids: send the text before the gap as `prompt`")
    return text


def _against_suffix(what: str) -> ApiError:
    return ApiError(400, f"`suffix` cannot be combined {what}. Leave out one of the two.", param="suffix")


def truncation(body: dict[str, Any], effects: list[Effect]) -> tuple[int | None, Literal["left", "right"]]:
    """Tokens that a prompt is cut to, and the end that is cut away."""
    most, side = body["truncate_prompt_tokens"], body["truncation_side"]
    if most is None:
        if side is not None:
            reason = "it needs `truncate_prompt_tokens`"
            effects.append(Effect("truncation_side", "inert", requested=side, reason=reason))
    elif most == 0:
        raise wrong_value("truncate_prompt_tokens", by_name("chat")["truncate_prompt_tokens"].wanted(), 0)
    else:
        most = min(most, NO_LIMIT)
    return most, side or "left"


def user(body: dict[str, Any], effects: list[Effect]) -> str | None:
    """Whom the request is for."""
    user: str | None = body["user"]
    other: str | None = body["safety_identifier"]
    if user and other and user != other:
        reason = "`user` says whom the request is for"
        effects.append(Effect("safety_identifier", "inert", requested=other, reason=reason))
    return user or other or None


def cache_partition(body: dict[str, Any]) -> str | None:
    """What must be equal for requests to share prefixes."""
    salt, key, extra = body["cache_salt"], body["prompt_cache_key"], body["extra_key"]
    if not key and not extra:
        return salt or None
    # Each length stands before its part, so that no two different partitions are spelt alike.
    return "".join(f"{len(part)}:{part}" for part in (salt or "", key or "", extra or ""))
