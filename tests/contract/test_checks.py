"""Fields that must fit each other, and what is told of those that change nothing."""

import dataclasses
import json
from typing import Any

import pytest

from contract.ask import ask as ask_with
from contract.ask import told
from overt.contract.deployment import Deployment
from overt.contract.effects import Effect
from overt.contract.errors import ApiError
from overt.contract.field import Route
from overt.contract.fields import FIELDS, by_name
from overt.contract.limits import DEFAULTS, Limits
from overt.contract.models import model_of
from overt.contract.params import GenerationParams

DEPLOYMENT = Deployment(("a",), 100, chat_template="{{ tools }}")
SMALL = Limits(
    **{limit.name: index for index, limit in enumerate(dataclasses.fields(Limits), 3)} | {"max_json_depth": 9}
)


def ask(
    route: Route, fields: dict[str, Any] | bytes, deployment: Deployment = DEPLOYMENT
) -> tuple[GenerationParams, list[Effect]]:
    return ask_with(route, fields, deployment)


BEAM = {"use_beam_search": True}
CONTRADICTIONS: list[tuple[Route, dict[str, Any], str, str]] = [
    ("chat", {"top_logprobs": 1}, "top_logprobs", "needs `logprobs: true`"),
    ("chat", {"logprobs": False, "top_logprobs": 1}, "top_logprobs", "needs `logprobs: true`"),
    ("completions", {"logprobs": 21}, "logprobs", "from 0 to 20"),
    ("completions", {"logprobs": -1}, "logprobs", "from 0 to 20"),
    ("completions", {"prompt_logprobs": -1}, "prompt_logprobs", "from 0 to 20"),
    ("completions", {"prompt_logprobs": 1, "stream": True}, "prompt_logprobs", "streamed"),
    ("chat", {"prompt_logprobs": 0, "stream": True}, "prompt_logprobs", "streamed"),
    ("chat", {"echo": True}, "echo", "does not implement"),
    ("chat", {"best_of": 2, "logprob_token_ids": [1]}, "logprob_token_ids", "does not implement"),
    ("completions", {"max_tokens": 0}, "max_tokens", "`echo: true`"),
    ("completions", {"max_tokens": 0, "echo": False}, "max_tokens", "`echo: true`"),
    ("completions", {"max_tokens": -1, "echo": True}, "max_tokens", "at least 0"),
    ("chat", {"max_tokens": 0}, "max_tokens", "at least 1"),
    ("completions", {"max_tokens": 0, "echo": True, "min_tokens": 1}, "min_tokens", "`max_tokens` (0)"),
    ("completions", {"min_tokens": 17}, "min_tokens", "`max_tokens` (16)"),
    ("chat", {"min_tokens": 5, "max_completion_tokens": 4}, "min_tokens", "`max_completion_tokens` (4)"),
    ("completions", {"n": 3, "best_of": 2}, "best_of", "less than `n`"),
    ("completions", {"best_of": 2, "stream": True}, "best_of", "streamed"),
    ("completions", {"best_of": 129}, "best_of", "from 1 to 128"),
    ("completions", {"n": 2, "best_of": 2} | BEAM, "best_of", "`use_beam_search`"),
    ("completions", {"best_of": 1} | BEAM, "best_of", "`use_beam_search`"),
    ("completions", {"stream": True} | BEAM, "stream", "`use_beam_search`"),
    ("completions", {"echo": True} | BEAM, "echo", "`use_beam_search`"),
    ("chat", {"repetition_penalty": 1.1} | BEAM, "repetition_penalty", "`use_beam_search`"),
    ("chat", {"frequency_penalty": 1} | BEAM, "frequency_penalty", "`use_beam_search`"),
    ("chat", {"presence_penalty": -1} | BEAM, "presence_penalty", "`use_beam_search`"),
    ("chat", {"logit_bias": {"1": 0}} | BEAM, "logit_bias", "`use_beam_search`"),
    ("chat", {"allowed_token_ids": [1]} | BEAM, "allowed_token_ids", "`use_beam_search`"),
    ("chat", {"bad_words": ["x"]} | BEAM, "bad_words", "`use_beam_search`"),
    ("chat", {"min_tokens": 1} | BEAM, "min_tokens", "`use_beam_search`"),
    ("chat", {"stop_regex": "x"} | BEAM, "stop_regex", "`use_beam_search`"),
    ("chat", {"prompt_logprobs": 0} | BEAM, "prompt_logprobs", "`use_beam_search`"),
    ("chat", {"no_stop_trim": True, "include_stop_str_in_output": False}, "no_stop_trim", "contradict"),
    ("chat", {"no_stop_trim": False, "include_stop_str_in_output": True}, "no_stop_trim", "contradict"),
    ("chat", {"stop": ["a"] * 20, "stop_regex": ["b"] * 13}, "stop_regex", "32 items together, and have 33"),
    ("chat", {"stop_regex": ["b"] * 33}, "stop_regex", "up to 32"),
    ("chat", {"allowed_token_ids": [1, 100]}, "allowed_token_ids[1]", "from 0 to 99"),
    ("chat", {"logit_bias": {"100": 1}}, "logit_bias", "from 0 to 99"),
    ("chat", {"logit_bias": {"-1": 1}}, "logit_bias", "from 0 to 99"),
    ("chat", {"logit_bias": {"١": 1}}, "logit_bias", "from 0 to 99"),
    ("chat", {"logit_bias": {" 1": 1}}, "logit_bias", "from 0 to 99"),
    ("chat", {"logit_bias": {"": 1}}, "logit_bias", "from 0 to 99"),
    ("chat", {"logit_bias": {"9" * 5000: 1}}, "logit_bias", "from 0 to 99"),
    ("chat", {"logit_bias": {"1": 101}}, "logit_bias", "from -100 to 100, and is 101"),
    ("chat", {"logit_bias": {"1": -100.5}}, "logit_bias", "from -100 to 100"),
    ("chat", {"logit_bias": {"1": float("nan")}}, "logit_bias", "from -100 to 100, and is NaN"),
    ("chat", {"logit_bias": {"1": "1"}}, "logit_bias", "from -100 to 100"),
    ("chat", {"logit_bias": {"1": True}}, "logit_bias", "from -100 to 100"),
    ("chat", {"logit_bias": {"1": None}}, "logit_bias", "from -100 to 100"),
    ("chat", {"logit_bias": {"1": 1, "01": 1}}, "logit_bias", "token 1 twice"),
]


@pytest.mark.parametrize(("route", "fields", "param", "words"), CONTRADICTIONS)
def test_what_does_not_fit_is_refused(route: Route, fields: dict[str, Any], param: str, words: str) -> None:
    with pytest.raises(ApiError) as caught:
        ask(route, fields)
    assert (caught.value.status, caught.value.param) == (400, param)
    assert words in caught.value.message


FITTING: list[tuple[Route, dict[str, Any]]] = [
    ("chat", {"logprobs": True, "top_logprobs": 0}),
    ("chat", {"logprobs": False, "top_logprobs": 0}),
    ("completions", {"best_of": 1, "stream": True}),
    ("completions", {"n": 2, "best_of": 2}),
    ("chat", {"min_tokens": 10**30}),
    ("chat", {"stop": ["a"] * 20, "stop_regex": ["b"] * 12}),
    ("chat", {"no_stop_trim": True, "include_stop_str_in_output": True}),
    ("chat", {"length_penalty": 1}),
    ("chat", {"length_penalty": -5} | BEAM),
    (
        "chat",
        {"repetition_penalty": 1, "frequency_penalty": 0, "min_tokens": 0, "bad_words": [], "logit_bias": {}} | BEAM,
    ),
    ("completions", {"echo": False, "stop": ["a"], "stop_token_ids": [1], "logprobs": 1} | BEAM),
]


@pytest.mark.parametrize(("route", "fields"), FITTING)
def test_what_fits_is_honoured(route: Route, fields: dict[str, Any]) -> None:
    assert ask(route, fields)[1] == []


@pytest.mark.parametrize(
    ("fields", "inert"),
    [
        ({"length_penalty": 2}, ["length_penalty"]),
        ({"spaces_between_special_tokens": False}, ["spaces_between_special_tokens"]),
        ({"return_tokens_as_token_ids": True}, ["return_tokens_as_token_ids"]),
        (
            {"temperature": 0, "top_p": 1, "top_k": 3, "min_p": 0.5, "typical_p": 0.5, "seed": 4} | BEAM,
            ["temperature", "top_p", "top_k", "min_p", "typical_p", "seed"],
        ),
    ],
)
def test_what_changes_nothing_is_told(fields: dict[str, Any], inert: list[str]) -> None:
    params, effects = ask("chat", fields)
    assert told(effects) == [(name, "inert", None) for name in inert]
    assert all(effect.reason for effect in effects)
    if params.beam:
        assert (params.temperature, params.top_p, params.top_k, params.min_p, params.typical_p) == (1, 1, 0, 0, 1)


# --- limits ---

OVER: list[tuple[Route, str, Any, str]] = [
    ("chat", "n", SMALL.max_n + 1, "max_n"),
    ("completions", "best_of", SMALL.max_n + 1, "max_n"),
    ("chat", "stop", ["x"] * (SMALL.max_stops + 1), "max_stops"),
    ("chat", "stop_regex", ["x"] * (SMALL.max_stops + 1), "max_stops"),
    ("chat", "stop_token_ids", [1] * (SMALL.max_stop_token_ids + 1), "max_stop_token_ids"),
    ("chat", "logit_bias", {str(i): 1 for i in range(SMALL.max_logit_bias + 1)}, "max_logit_bias"),
    ("chat", "allowed_token_ids", [1] * (SMALL.max_allowed_token_ids + 1), "max_allowed_token_ids"),
    ("chat", "bad_words", ["x"] * (SMALL.max_bad_words + 1), "max_bad_words"),
    ("chat", "messages", [{"role": "user", "content": "x"}] * (SMALL.max_messages + 1), "max_messages"),
    ("completions", "prompt", ["x"] * (SMALL.max_prompts + 1), "max_prompts"),
    ("completions", "prompt", [[1]] * (SMALL.max_prompts + 1), "max_prompts"),
    ("completions", "logprobs", SMALL.max_logprobs + 1, "max_logprobs"),
    ("chat", "top_logprobs", SMALL.max_logprobs + 1, "max_logprobs"),
    ("chat", "prompt_logprobs", SMALL.max_logprobs + 1, "max_logprobs"),
]


@pytest.mark.parametrize(("route", "name", "value", "limit"), OVER)
def test_a_limit_holds_and_its_number_is_told(route: Route, name: str, value: Any, limit: str) -> None:
    fields = {name: value, "logprobs": True} if name == "top_logprobs" else {name: value}
    with pytest.raises(ApiError) as caught:
        ask(route, fields, dataclasses.replace(DEPLOYMENT, limits=SMALL))
    assert (caught.value.status, caught.value.param) == (400, name)
    assert str(getattr(SMALL, limit)) in caught.value.message
    # The bound is the operator's alone: without it the value is taken.
    roomy = dataclasses.replace(SMALL, **{limit: 30})
    assert ask(route, fields, dataclasses.replace(DEPLOYMENT, limits=roomy))[1] == []


def test_a_prompt_of_many_tokens_is_one_prompt() -> None:
    ask("completions", {"prompt": [1] * 50}, dataclasses.replace(DEPLOYMENT, limits=SMALL))


def test_deep_bodies_are_refused_before_they_are_read() -> None:
    deployment = dataclasses.replace(DEPLOYMENT, limits=SMALL)
    ask("chat", {"tools": json.loads("[" + '{"a":' * 7 + "1" + "}" * 7 + "]")}, deployment)
    for deep in ("[" * 9 + "]" * 9, "[" * 10_000):
        with pytest.raises(ApiError) as caught:
            ask("chat", b'{"messages": %b' % deep.encode(), deployment)
        assert (caught.value.status, caught.value.param) == (400, None)
        assert f"{deep.count('[') + 1} arrays and objects within each other; at most 9" in caught.value.message


def test_every_limit_of_the_table_exists_and_reaches_the_schema() -> None:
    names = {limit.name for limit in dataclasses.fields(Limits)}
    used = {field.limit for field in FIELDS if field.limit}
    assert used <= names
    assert names - used == {"max_body_bytes", "max_choices", "max_json_depth", "max_prompt_logprobs_bytes"}
    for field in FIELDS:
        assert not (field.limit and field.high is not None), f"{field.name} is bounded twice"
    schema = json.dumps(model_of("chat", SMALL).model_json_schema())
    for limit in ("max_n", "max_stops", "max_stop_token_ids", "max_bad_words", "max_allowed_token_ids"):
        assert f": {getattr(SMALL, limit)}" in schema
    assert f'"maxProperties": {SMALL.max_logit_bias}' in schema
    assert by_name("chat")["n"].high == DEFAULTS.max_n
