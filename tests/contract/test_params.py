"""From bodies to generation parameters, and what is told about it."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.ask import BASE, DEPLOYMENT, ask, refused, told
from overt.contract.deployment import Deployment
from overt.contract.effects import MAX_BYTES, MAX_ENTRIES, Effect, header
from overt.contract.errors import ApiError
from overt.contract.field import Route
from overt.contract.fields import by_name
from overt.contract.params import GenerationParams
from overt.contract.profiles import OVERT, PROFILES

TOOLS: dict[str, Any] = {"tools": [{"type": "function", "function": {"name": "f"}}]}


def chat(deployment: Deployment = DEPLOYMENT, **fields: Any) -> tuple[GenerationParams, list[Effect]]:
    return ask("chat", fields, deployment)


def completions(deployment: Deployment = DEPLOYMENT, **fields: Any) -> tuple[GenerationParams, list[Effect]]:
    return ask("completions", fields, deployment)


def test_defaults() -> None:
    params, effects = chat()
    assert effects == []
    assert params == GenerationParams(
        model="a",
        request_id="r",
        max_tokens=None,
        max_tokens_field="max_tokens",
        max_tokens_sent=False,
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        min_p=0.0,
        seed=None,
        n=1,
        stop=[],
        stop_token_ids=[],
        ignore_eos=False,
        skip_special_tokens=True,
        include_stop=False,
        stream=False,
        include_usage=False,
        priority=0,
        user=None,
        key=None,
        cache_salt=None,
        tools=False,
        add_generation_prompt=True,
        continue_final_message=False,
        id="chatcmpl-r",
        fingerprint=DEPLOYMENT.fingerprint(OVERT),
    )
    assert completions()[0].max_tokens == 16


def test_every_field_arrives() -> None:
    params, effects = chat(
        model="b",
        max_completion_tokens=5,
        temperature=0.5,
        top_p=0.5,
        top_k=7,
        min_p=0.25,
        seed=-(2**63),
        n=3,
        stop="end",
        stop_token_ids=[99],
        ignore_eos=True,
        skip_special_tokens=False,
        include_stop_str_in_output=True,
        stream=True,
        stream_options={"include_usage": True},
        priority=4,
        user="u",
        cache_salt="s",
        add_generation_prompt=False,
        typical_p=0.9,
        repetition_penalty=1.5,
        presence_penalty=-2,
        frequency_penalty=2,
        logit_bias={"7": -100, "05": 2.5},
        allowed_token_ids=[5, 99],
        bad_words=["never"],
        min_tokens=5,
        stop_regex="[0-9]",
        logprobs=True,
        top_logprobs=20,
        return_tokens_as_token_ids=True,
        no_stop_trim=True,
        spaces_between_special_tokens=True,
        length_penalty=1.0,
        **TOOLS,
    )
    assert effects == []
    assert params == GenerationParams(
        model="b",
        request_id="r",
        max_tokens=5,
        max_tokens_field="max_completion_tokens",
        temperature=0.5,
        top_p=0.5,
        top_k=7,
        min_p=0.25,
        seed=-(2**63),
        n=3,
        stop=["end"],
        stop_token_ids=[99],
        ignore_eos=True,
        skip_special_tokens=False,
        include_stop=True,
        stream=True,
        include_usage=True,
        priority=4,
        user="u",
        key=None,
        cache_salt="s",
        tools=True,
        add_generation_prompt=False,
        continue_final_message=False,
        typical_p=0.9,
        repetition_penalty=1.5,
        presence_penalty=-2,
        frequency_penalty=2,
        logit_bias=[(5, 2.5), (7, -100)],
        allowed_token_ids=[5, 99],
        bad_words=["never"],
        min_tokens=5,
        best_of=3,
        stop_regex=["[0-9]"],
        logprobs=20,
        tokens_as_ids=True,
        id="chatcmpl-r",
        fingerprint=DEPLOYMENT.fingerprint(OVERT),
    )


def test_null_is_absent_and_what_another_route_has_is_unknown() -> None:
    rows: tuple[tuple[Route, Route], ...] = (("chat", "completions"), ("completions", "chat"))
    for route, other in rows:
        names = {name for name, row in by_name(route).items() if not row.required and "." not in name} - {"model"}
        names |= {name for name in by_name(other) if "." not in name} - set(BASE[route]) - {"messages", "prompt"}
        assert ask(route, dict.fromkeys(names)) == ask(route, {})
    assert ask("chat", {"echo": False})[1] == []
    for name, value in {"best_of": 3, "suffix": "x"}.items():
        assert told(ask("chat", {name: value})[1]) == [(name, "inert", None)]
    assert told(ask("completions", {"max_completion_tokens": 3})[1]) == [("max_completion_tokens", "inert", None)]
    assert told(ask("completions", {"top_logprobs": 3})[1]) == [("top_logprobs", "inert", None)]


def test_the_fields_of_completions_arrive() -> None:
    params, effects = completions(n=2, best_of=4, echo=True, logprobs=0, prompt_logprobs=3, max_tokens=0, min_tokens=0)
    assert effects == []
    assert (params.n, params.best_of, params.echo, params.max_tokens) == (2, 4, True, 0)
    assert (params.logprobs, params.prompt_logprobs) == (0, 3)
    params, effects = completions(use_beam_search=True, n=4, length_penalty=-0.5, logprobs=2)
    assert effects == []
    assert (params.beam, params.n, params.best_of, params.length_penalty, params.logprobs) == (True, 4, 4, -0.5, 2)


def test_the_model_s_makers_give_defaults_that_requests_override() -> None:
    config = {"temperature": 0.6, "top_p": 0.9, "top_k": 40, "min_p": "odd", "do_sample": True}
    deployment = replace(DEPLOYMENT, generation_config=config | {"repetition_penalty": 1.1, "typical_p": 0.8})
    params, _ = chat(deployment)
    assert (params.temperature, params.top_p, params.top_k, params.min_p) == (0.6, 0.9, 40, 0.0)
    assert (params.repetition_penalty, params.typical_p) == (1.1, 0.8)
    params, _ = chat(deployment, repetition_penalty=1, typical_p=1.0)
    assert (params.repetition_penalty, params.typical_p) == (1, 1)
    params, _ = chat(replace(DEPLOYMENT, generation_config={"repetition_penalty": 0, "typical_p": 0.0}))
    assert (params.repetition_penalty, params.typical_p) == (1, 1)
    params, effects = chat(deployment, use_beam_search=True)
    assert (params.temperature, params.top_k, params.repetition_penalty, effects) == (1, 0, 1, [])
    params, _ = chat(deployment, temperature=0, top_p=1, top_k=-1)
    assert (params.temperature, params.top_p, params.top_k) == (0, 1, 0)
    assert chat(replace(DEPLOYMENT, generation_config={"temperature": 9, "top_p": 0}))[0].temperature == 1.0


def test_the_newer_name_of_max_tokens_wins_and_the_loser_is_told() -> None:
    params, effects = chat(max_tokens=5, max_completion_tokens=6)
    assert (params.max_tokens, params.max_tokens_field) == (6, "max_completion_tokens")
    assert told(effects) == [("max_tokens", "inert", None)]
    assert chat(max_tokens=6, max_completion_tokens=6)[1] == []


@pytest.mark.parametrize("value", [2**31, 2**40, 10**30])
def test_numbers_beyond_the_core_s_integers_mean_no_limit(value: int) -> None:
    params, _ = chat(max_tokens=value, top_k=value)
    assert params.max_tokens == params.top_k == 2**31 - 1


def test_priority_is_capped_and_told() -> None:
    params, effects = chat(priority=-5)
    assert params.priority == 0
    assert told(effects) == [("priority", "adapted", 0)]
    assert effects[0].requested == -5
    assert chat(replace(DEPLOYMENT, max_client_priority=-9), priority=-5)[0].priority == -5
    assert chat(replace(DEPLOYMENT, max_client_priority=-9), priority=-5)[1] == []


def test_what_happens_to_tools_is_told() -> None:
    assert told(chat(tools=[])[1]) == [("tools", "inert", None)]
    assert not chat(tools=[])[0].tools
    assert not chat(tool_choice="none", **TOOLS)[0].tools
    plain = Deployment(("a",), 100, chat_template="{{ tools }}")
    assert told(chat(plain, **TOOLS)[1]) == [("tools", "adapted", "prompt only")]
    blind = Deployment(("a",), 100, chat_template="", parser="hermes")
    assert told(chat(blind, **TOOLS)[1]) == [("tools", "adapted", "calls only")]
    assert told(chat(replace(blind, parser=None), **TOOLS)[1]) == [("tools", "inert", None)]
    older = {"functions": [{"name": "f"}]}
    assert told(chat(plain, **older)[1]) == [("functions", "adapted", "prompt only")]
    assert told(chat(blind, **older)[1]) == [("functions", "adapted", "calls only")]
    assert told(chat(blind, tool_choice="none", **TOOLS)[1]) == []


def test_template_arguments_that_the_template_cannot_read_are_told() -> None:
    deployment = Deployment(("a",), 100, chat_template="{{ enable_thinking }}", parser=None)
    kwargs = {"enable_thinking": False, "thinking": False}
    effects = chat(deployment, chat_template_kwargs=kwargs)[1]
    assert told(effects) == [("chat_template_kwargs.thinking", "inert", None)]
    assert effects[0].nearest == "chat_template_kwargs.enable_thinking"
    assert effects[0].label == "chat_template_kwargs"


@pytest.mark.parametrize(
    ("template", "fields", "variables", "applied"),
    [
        ("{{ reasoning_effort }}", {}, {"reasoning_effort": "low"}, None),
        # What the request says of the same variable itself wins, and that is told.
        (
            "{{ reasoning_effort }}",
            {"chat_template_kwargs": {"reasoning_effort": "high"}},
            {"reasoning_effort": "low"},
            'reasoning_effort="high"',
        ),
        (
            "{{ reasoning_effort }}",
            {"chat_template_kwargs": {"reasoning_effort": "low"}},
            {"reasoning_effort": "low"},
            None,
        ),
        ("{{ enable_thinking }}", {}, {"enable_thinking": True}, "enable_thinking=true"),
        (
            "{{ enable_thinking }}",
            {"chat_template_kwargs": {"enable_thinking": None}},
            {"enable_thinking": True},
            "enable_thinking=null",
        ),
        (
            "{{ enable_thinking }}{{ thinking }}",
            {"chat_template_kwargs": {"thinking": 1}},
            {"enable_thinking": True, "thinking": True},
            "enable_thinking=true, thinking=1",
        ),
    ],
)
def test_efforts_as_the_template_knows_them(
    template: str, fields: dict[str, Any], variables: dict[str, Any], applied: str | None
) -> None:
    deployment = Deployment(("a",), 100, chat_template=template)
    params, effects = chat(deployment, reasoning_effort="low", **fields)
    assert params.template_variables is not None
    assert json.loads(params.template_variables) == variables
    assert told(effects) == ([] if applied is None else [("reasoning_effort", "adapted", applied)])
    wins = "chat_template_kwargs" in fields and applied is not None
    assert applied is None or ("wins" in effects[0].reason) == wins


def test_the_template_that_is_used_decides() -> None:
    """With tools it may be another one."""
    fields = {
        "documents": [{"text": "d"}],
        "add_generation_prompt": False,
        "reasoning_effort": "low",
        "chat_template_kwargs": {"mood": "glad"},
    }
    reads = "{{ tools }}{{ documents }}{{ add_generation_prompt }}{{ reasoning_effort }}{{ mood }}"
    names = ["add_generation_prompt", "chat_template_kwargs.mood", "documents", "reasoning_effort"]
    for templates, without, with_tools in (
        ({"chat_template": "{{ messages }}", "tool_template": reads}, names, []),
        ({"chat_template": reads, "tool_template": "{{ tools }}"}, [], names),
    ):
        deployment = Deployment(("a",), 100, parser="hermes", **templates)
        assert sorted(field for field, _, _ in told(chat(deployment, **fields)[1])) == without
        assert sorted(field for field, _, _ in told(chat(deployment, **fields, **TOOLS)[1])) == with_tools
        unwanted = chat(deployment, **fields, **TOOLS, tool_choice="none")[1]
        assert sorted(field for field, _, _ in told(unwanted)) == without


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": "c"}, "model"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"stop_token_ids": [1, 100]}, "stop_token_ids[1]"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "g"}}, **TOOLS}, "tool_choice"),
        ({"tool_choice": {"type": "custom", "custom": {"name": "g"}}, **TOOLS}, "tool_choice"),
        ({"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}, **TOOLS}, "tool_choice.allowed_tools"),
        ({"tool_choice": 1, **TOOLS}, "tool_choice"),
        ({"function_call": {"name": "f"}}, "function_call"),
        ({"function_call": {"name": "g"}, "functions": [{"name": "f"}]}, "function_call"),
        ({"function_call": "none", "tool_choice": "auto", **TOOLS}, "function_call"),
        ({"function_call": "often"}, "function_call"),
        ({"tool_choice": "sometimes", **TOOLS}, "tool_choice"),
        ({"continue_final_message": True, "add_generation_prompt": True}, "continue_final_message"),
        ({"chat_template_kwargs": {"tools": []}}, "chat_template_kwargs.tools"),
        ({"chat_template_kwargs": {"chat_template": "x"}}, "chat_template_kwargs.chat_template"),
    ],
)
def test_contradictions_are_refused(fields: dict[str, Any], param: str) -> None:
    error = refused("chat", fields)
    assert error.status == (404 if param == "model" else 400)
    assert error.param == param


def test_continuing_a_message_opens_no_turn() -> None:
    params, _ = chat(continue_final_message=True)
    assert params.continue_final_message
    assert not params.add_generation_prompt


def test_the_effects_header() -> None:
    assert header([]) is None
    effects = [
        Effect("max_tokens", "adapted", applied=1192),
        Effect('a"b\\c', "inert", nearest="n"),
        Effect("größe%", "adapted", applied="ü"),
        Effect("c", "adapted", applied=True),
    ]
    assert header(effects) == (
        b'"max_tokens";e=adapted;applied=1192, "a\\"b\\\\c";e=inert;nearest="n", '
        b'%"gr%c3%b6%c3%9fe%25";e=adapted;applied=%"%c3%bc", "c";e=adapted;applied=?1'
    )


@given(st.lists(st.text(min_size=1, max_size=300), max_size=60))
def test_the_header_is_bounded_ascii(names: list[str]) -> None:
    value = header([Effect(name.encode("utf-8", "replace").decode(), "inert") for name in names])
    if not names:
        assert value is None
        return
    assert value is not None
    assert len(value) <= MAX_BYTES
    assert all(32 <= byte < 127 for byte in value)
    shown = value.count(b";e=inert")
    assert shown <= MAX_ENTRIES
    if shown < len(names):
        assert value.endswith(b'"...";more=%d' % (len(names) - shown))


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_FIELDS = sorted({name.partition(".")[0] for route in ("chat", "completions") for name in by_name(route)})  # type: ignore[arg-type]


@given(
    st.sampled_from(["chat", "completions"]),
    st.dictionaries(st.sampled_from(_FIELDS) | st.text(max_size=8), _VALUES, max_size=6),
    st.sampled_from(sorted(PROFILES)),
    st.booleans(),
)
def test_whatever_comes_is_read_or_refused(route: Route, fields: dict[str, Any], profile: str, strict: bool) -> None:
    own = {"overt_profile": profile, "overt_strict": str(int(strict))}
    fault: ApiError | None = None
    try:
        params, effects = ask(route, fields, DEPLOYMENT, **own)
    except ApiError as error:
        fault = error
    if fault is not None:
        assert 400 <= fault.status < 500
        assert fault.body()
        return
    assert (params.strict is not None) == strict or "overt" in fields
    assert all(effect.reason for effect in effects)
    value = header(effects)
    assert value is None or len(value) <= MAX_BYTES
