"""Fields that must fit each other, the model and the operator's limits."""

import re
from typing import Any

from overt.contract.deployment import Deployment
from overt.contract.effects import Effect
from overt.contract.errors import ApiError, shown, step, wrong_value
from overt.contract.field import MAX_BIAS, Route
from overt.contract.fields import by_name

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
    "stop_regex": [],
    "prompt_logprobs": None,
    "echo": False,
    "best_of": None,
}
"""With the values that ask for nothing."""


def prompts(route: Route, body: dict[str, Any], deployment: Deployment) -> None:
    """Refuses more prompts than may come at once. What each has to be is the core's to say."""
    value, most = body.get("prompt"), deployment.limits.max_prompts
    if isinstance(value, list) and len(value) > most and not isinstance(value[0], int):
        raise wrong_value("prompt", by_name(route, deployment.limits)["prompt"].wanted(), value)


def token_ids(name: str, body: dict[str, Any], deployment: Deployment) -> None:
    """Refuses ids that the vocabulary does not have."""
    for index, token in enumerate(body.get(name) or ()):
        if token >= deployment.vocab_size:
            raise wrong_value(f"{name}[{index}]", f"a token id from 0 to {deployment.vocab_size - 1}", token)


def logit_bias(body: dict[str, Any], deployment: Deployment) -> list[tuple[int, float]]:
    """Tokens and what is added to their logits, by rising id."""
    biases: dict[int, float] = {}
    for key, value in (body.get("logit_bias") or {}).items():
        path = f"logit_bias{step(key)}"
        token = int(key) if _TOKEN_ID.fullmatch(key) else -1
        if not 0 <= token < deployment.vocab_size:
            wanted = f"token ids from 0 to {deployment.vocab_size - 1} as strings of digits"
            raise ApiError(400, f"The keys of `logit_bias` must be {wanted}, and one is {shown(key)}.", param=path)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not -MAX_BIAS <= value <= MAX_BIAS:
            raise wrong_value(path, by_name("chat")["logit_bias"].item_wanted(), value)
        if token in biases:
            raise ApiError(400, f"`logit_bias` names token {token} twice.", param=path)
        biases[token] = float(value)
    return sorted(biases.items())


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
    least: int = body["min_tokens"] or 0
    if max_tokens is not None and least > max_tokens:
        raise ApiError(
            400,
            f"`min_tokens` ({least}) is greater than `{max_tokens_field}` ({max_tokens}); send at most that.",
            param="min_tokens",
        )
    return least


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


def logprobs(route: Route, body: dict[str, Any]) -> int | None:
    """Alternatives beside each token of the answer; none: no log probabilities."""
    if route == "completions":
        wanted: int | None = body["logprobs"]
        return wanted
    top: int = body["top_logprobs"] or 0
    if body["logprobs"]:
        return top
    if top:
        raise ApiError(400, "`top_logprobs` needs `logprobs: true`; send both or neither.", param="top_logprobs")
    return None


def prompt_logprobs(body: dict[str, Any]) -> int | None:
    """The same for the prompt."""
    wanted: int | None = body["prompt_logprobs"]
    if wanted is not None and body["stream"]:
        raise ApiError(
            400, "`prompt_logprobs` cannot be streamed. Leave it out, or send `stream: false`.", param="prompt_logprobs"
        )
    return wanted


def told_prompts(wanted: int | None, echoed: bool, deployment: Deployment) -> None:
    """Refuses log probabilities of prompts where the model's code gives none."""
    if deployment.tells_prompt_logprobs or (wanted is None and not echoed):
        return
    field = "logprobs" if wanted is None else "prompt_logprobs"
    raise ApiError(
        400,
        f"`{field}` of prompt tokens is not available: this model's code does not give their logits. Leave it out.",
        param=field,
        code="unsupported_parameter",
    )


def beam(body: dict[str, Any], effects: list[Effect]) -> None:
    """Refuses what contradicts a beam search, and tells what changes nothing in one, or without one."""
    if not body["use_beam_search"]:
        if body["length_penalty"] not in (None, 1):
            effects.append(Effect("length_penalty", "inert"))
        return
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
    effects.extend(Effect(name, "inert") for name in _INERT_IN_BEAMS if body.get(name) is not None)
