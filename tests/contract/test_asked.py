"""Headers that mean something, ids, tiers, and partitions of the cache."""

from dataclasses import replace
from typing import Any

import pytest

from contract.ask import DEPLOYMENT, ask, refused, told


def test_ids() -> None:
    assert ask("chat", {}, x_request_id="mine")[0].id == "chatcmpl-mine"
    assert ask("chat", {"request_id": "body"})[0].id == "chatcmpl-body"
    assert ask("completions", {"rid": "body"})[0].id == "cmpl-body"
    params, effects = ask("chat", {"request_id": "body"}, x_request_id="mine")
    assert (params.id, told(effects)) == ("chatcmpl-mine", [("request_id", "inert", None)])
    params, effects = ask("chat", {}, x_request_id="not usable")
    assert (params.id, told(effects)) == ("chatcmpl-r", [("x-request-id", "inert", None)])
    assert ask("chat", {"rid": "body"}, overt_profile="sglang")[0].id == "body"


@pytest.mark.parametrize(
    ("header", "value", "effects"),
    [
        ("x_session_id", "s", [("x-session-id", "inert", None)]),
        ("traceparent", "00-1-2-01", [("traceparent", "inert", None)]),
        ("x_smg_routing_key", "k", [("x-smg-routing-key", "inert", None)]),
        ("x_session_id", "", []),
        ("authorization", "Bearer x", []),
        ("x_data_parallel_rank", "0", []),
        ("user_agent", "x", []),
    ],
)
def test_headers(header: str, value: str, effects: list[Any]) -> None:
    assert told(ask("chat", {}, **{header: value})[1]) == effects


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("x_data_parallel_rank", "1"),
        ("x_data_parallel_rank", "x"),
        ("x_vllm_priority", "soon"),
        ("x_vllm_priority", "99999999999"),
        ("x_body_compressed", "zstd"),
    ],
)
def test_headers_that_are_refused(header: str, value: str) -> None:
    assert refused("chat", {}, **{header: value}).param == header.replace("_", "-")


def test_ranks() -> None:
    for name in ("routed_dp_rank", "data_parallel_rank"):
        assert ask("chat", {name: 0})[1] == []
        assert refused("chat", {name: 1}).param == name


def test_priorities() -> None:
    open_to_clients = replace(DEPLOYMENT, max_client_priority=-5)
    assert ask("chat", {"priority": 3})[0].priority == 3
    assert ask("chat", {"priority": 3}, x_vllm_priority="7")[0].priority == 7
    assert told(ask("chat", {"priority": 3}, x_vllm_priority="7")[1]) == [("priority", "inert", None)]
    assert told(ask("chat", {}, x_vllm_priority="-7")[1]) == [("x-vllm-priority", "adapted", 0)]
    assert ask("chat", {}, open_to_clients, x_vllm_priority="-3")[0].priority == -3
    late = replace(DEPLOYMENT, max_client_priority=5)
    assert ask("chat", {}, late)[0].priority == 5


@pytest.mark.parametrize(
    ("tier", "cap", "priority", "answered"),
    [
        (None, 0, 0, ""),
        ("auto", 0, 0, '"service_tier":"default"'),
        ("default", -4, 0, '"service_tier":"default"'),
        ("flex", 0, 1, '"service_tier":"flex"'),
        ("flex", 5, 6, '"service_tier":"flex"'),
        ("priority", 0, 0, '"service_tier":"default"'),
        ("priority", -4, -4, '"service_tier":"priority"'),
        ("scale", -4, 0, '"service_tier":"default"'),
    ],
)
def test_tiers(tier: str | None, cap: int, priority: int, answered: str) -> None:
    params, _ = ask("chat", {"service_tier": tier}, replace(DEPLOYMENT, max_client_priority=cap))
    assert (params.priority, params.extra) == (priority, answered)


def test_metadata_comes_back() -> None:
    assert ask("chat", {"metadata": {"k": "é"}})[0].extra == '"metadata":{"k":"é"}'
    both = ask("chat", {"metadata": {"k": "v"}, "service_tier": "flex"})[0].extra
    assert both == '"service_tier":"flex","metadata":{"k":"v"}'
    assert ask("chat", {"metadata": {}})[0].extra == ""
    assert refused("chat", {"metadata": {str(index): "x" for index in range(17)}}).param == "metadata"


def test_users() -> None:
    assert ask("chat", {"user": "u"})[0].user == "u"
    assert ask("chat", {"safety_identifier": "s"})[0].user == "s"
    assert ask("chat", {"user": "u", "safety_identifier": "s"})[0].user == "u"
    assert ask("chat", {"user": ""})[0].user is None


def test_each_part_of_the_partition_counts() -> None:
    def salt(**fields: str) -> str | None:
        return ask("chat", fields)[0].cache_salt

    assert salt() is None
    assert salt(prompt_cache_key="") is None
    assert salt(cache_salt="s") == "s"
    parts = ({"cache_salt": "a"}, {"prompt_cache_key": "a"}, {"extra_key": "a"})
    pairs = ({"cache_salt": "a", "prompt_cache_key": "a"}, {"prompt_cache_key": "a", "extra_key": "a"})
    assert len({salt(**fields) for fields in (*parts, *pairs, {"prompt_cache_key": "aa"})}) == 6


def test_truncation() -> None:
    params, effects = ask("chat", {"truncate_prompt_tokens": -1})
    assert (params.truncate_prompt_tokens, params.truncation_side, effects) == (-1, "left", [])
    params, _ = ask("completions", {"truncate_prompt_tokens": 10**20, "truncation_side": "right"})
    assert (params.truncate_prompt_tokens, params.truncation_side) == (2**31 - 1, "right")
    for value in (0, -2):
        error = refused("chat", {"truncate_prompt_tokens": value})
        assert "-1 or an integer of at least 1" in error.message
    assert refused("chat", {"truncation_side": "middle"}).param == "truncation_side"


def test_suffix_goes_with_text_alone() -> None:
    assert ask("completions", {"suffix": "x", "prompt": ["a", "b"]})[0].suffix == "x"
    wrong: list[dict[str, Any]] = [{"prompt": [1]}, {"prompt": [[1]]}, {"echo": True}, {"truncate_prompt_tokens": 2}]
    for fields in wrong:
        assert refused("completions", {"suffix": "x"} | fields).param == "suffix"


def test_special_tokens_and_ids() -> None:
    for value in (None, True, False):
        assert ask("chat", {"add_special_tokens": value})[0].add_special_tokens is value
    assert ask("completions", {"return_token_ids": True})[0].token_ids
    deployment = replace(DEPLOYMENT, tokens_as_ids=True, always_tells_usage=True)
    params, effects = ask("chat", {"stream": True}, deployment)
    assert (params.tokens_as_ids, params.include_usage, params.continuous_usage, effects) == (True, True, True, [])
    assert not ask("chat", {"return_tokens_as_token_ids": False}, deployment)[0].tokens_as_ids
    asked_not = {"stream": True, "stream_options": {"include_usage": False}}
    assert told(ask("chat", asked_not, deployment)[1]) == [("stream_options.include_usage", "adapted", True)]
    assert not ask("chat", {}, deployment)[0].include_usage


def test_both_names_of_the_least_length() -> None:
    assert ask("chat", {"min_new_tokens": 4})[0].min_tokens == 4
    assert ask("chat", {"min_new_tokens": 4, "min_tokens": 4})[0].min_tokens == 4
    assert refused("chat", {"min_new_tokens": 4, "min_tokens": 5}).param == "min_new_tokens"
    assert refused("completions", {"min_new_tokens": 17}).param == "min_new_tokens"
