"""The form of an answer: what the contract makes of constraints, calls and reasoning."""

import json
from dataclasses import replace
from typing import Any

import pytest

from contract.ask import DEPLOYMENT, ask, refused, told
from contract.test_params import TOOLS, chat, completions
from overt.contract.deployment import Deployment
from overt.contract.field import Route


def test_strict_tools_are_told_of_where_they_are_not_held() -> None:
    strict = [{"type": "function", "function": {"name": "f", "strict": True}}]
    assert chat(tools=strict)[1] == []
    effects = chat(replace(DEPLOYMENT, constrains=False), tools=strict)[1]
    assert told(effects) == [("tools[0].function.strict", "inert", None)]
    assert effects[0].label == "tools[].function.strict"
    effects = chat(replace(DEPLOYMENT, parser=None), tools=strict)[1]
    assert told(effects) == [("tools", "adapted", "prompt only"), ("tools[0].function.strict", "inert", None)]


NAMED: dict[str, Any] = {"type": "function", "function": {"name": "f"}}
ALLOWED: dict[str, Any] = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [NAMED]}}


def test_the_form_of_an_answer_arrives() -> None:
    thinks = replace(DEPLOYMENT, reasoning_parser="qwen3", bounds_thinking=True)
    params, effects = chat(
        thinks,
        response_format={"type": "json_object"},
        parallel_tool_calls=False,
        stream_reasoning=False,
        stream=True,
        thinking_token_budget=0,
        **TOOLS,
    )
    assert effects == []
    assert (params.constrained, params.one_call, params.functions) == (True, True, False)
    assert (params.merges_reasoning, params.gathers_reasoning, params.thinking_budget) == (False, True, 0)
    # What is left out is neither merged nor streamed, which is told.
    params, effects = chat(
        thinks, include_reasoning=False, separate_reasoning=False, stream_reasoning=False, stream=True
    )
    assert (params.reasoning_field, params.merges_reasoning) == ("none", False)
    assert told(effects) == [("separate_reasoning", "inert", None), ("stream_reasoning", "inert", None)]
    params, effects = chat(thinks, separate_reasoning=False)
    assert (params.merges_reasoning, effects) == (True, [])
    # Settings of JSON beside a constraint that is none.
    params, effects = chat(structured_outputs={"choice": ["a"], "disable_any_whitespace": True})
    assert told(effects) == [("structured_outputs.disable_any_whitespace", "inert", None)]
    # Of two switches the plainer one counts.
    effects = chat(reasoning_effort="none", enable_thinking=True)[1]
    assert "reasoning_effort" in [effect.field for effect in effects]
    assert chat(thinks, thinking_token_budget=-1)[0].thinking_budget is None
    params, effects = chat(functions=[{"name": "f"}], function_call={"name": "f"})
    assert (params.functions, params.tools, effects) == (True, True, [])
    assert completions(thinks, thinking_token_budget=7)[0].thinking_budget == 7
    # What another route alone has changes nothing.
    assert told(completions(parallel_tool_calls=False)[1]) == [("parallel_tool_calls", "inert", None)]


def test_fields_without_anything_to_change_are_told_once() -> None:
    thinks = replace(DEPLOYMENT, reasoning_parser="qwen3")
    for deployment in (DEPLOYMENT, thinks):
        assert told(chat(deployment, stream_reasoning=False)[1]) == [("stream_reasoning", "inert", None)]
    for deployment in (DEPLOYMENT, replace(DEPLOYMENT, parser=None)):
        assert told(chat(deployment, parallel_tool_calls=False)[1]) == [("parallel_tool_calls", "inert", None)]
    assert told(chat(parallel_tool_calls=False, **TOOLS, tool_choice="none")[1]) == [
        ("parallel_tool_calls", "inert", None)
    ]


@pytest.mark.parametrize(
    "choice", ["required", NAMED, ALLOWED | {"allowed_tools": {"mode": "required", "tools": [NAMED]}}]
)
def test_a_forced_call_comes_before_another_constraint(choice: Any) -> None:
    params, effects = chat(tool_choice=choice, regex="a", **TOOLS)
    assert not params.constrained
    assert told(effects) == [("regex", "inert", None)]
    params, effects = chat(tool_choice=ALLOWED, regex="a", **TOOLS)
    assert (params.constrained, effects) == (True, [])


@pytest.mark.parametrize(
    ("fields", "constrained"),
    [
        ({}, False),
        ({"response_format": {"type": "text"}, "structured_outputs": {}, "guided_choice": [], "regex": ""}, False),
        ({"guided_json_object": False, "guided_json": "", "structural_tag": "", "json_schema": ""}, False),
        ({"response_format": {"type": "json_object"}}, True),
        ({"guided_json_object": True, "guided_whitespace_pattern": " ?"}, True),
        ({"json_schema": "{}"}, True),
    ],
)
@pytest.mark.parametrize("route", ["chat", "completions"])
def test_what_asks_for_a_constraint(route: Route, fields: dict[str, Any], constrained: bool) -> None:
    params, effects = ask(route, fields)
    assert (params.constrained, effects) == (constrained, [])
    if constrained:
        assert refused(route, fields | {"use_beam_search": True, "n": 2}).param == next(iter(fields))
        off = replace(DEPLOYMENT, constrains=False)
        caught = refused(route, fields, off)
        assert (caught.status, caught.code, caught.param in fields) == (400, "unsupported_parameter", True)


def test_white_space_alone_holds_to_nothing() -> None:
    params, effects = chat(guided_whitespace_pattern=" ")
    assert not params.constrained
    assert told(effects) == [("guided_whitespace_pattern", "inert", None)]


def test_thinking_that_has_no_one_end_is_not_bounded() -> None:
    assert refused("chat", {"thinking_token_budget": 5}, replace(DEPLOYMENT, reasoning_parser="gpt-oss")).code == (
        "unsupported_parameter"
    )
    assert told(chat(thinking_token_budget=5)[1]) == [("thinking_token_budget", "inert", None)]


@pytest.mark.parametrize(
    ("template", "variables"),
    [
        ("{{ enable_thinking }}", {"enable_thinking": False}),
        ("{{ thinking }}", {"thinking": False}),
        ("{{ reasoning_effort }}", None),
    ],
)
def test_thinking_is_switched_as_the_template_knows_it(template: str, variables: dict[str, Any] | None) -> None:
    params, effects = chat(Deployment(("a",), 100, chat_template=template), enable_thinking=False)
    if variables is None:
        assert params.template_variables is None
        assert told(effects) == [("enable_thinking", "inert", None)]
        return
    assert params.template_variables is not None
    assert json.loads(params.template_variables) == variables
    assert effects == []
