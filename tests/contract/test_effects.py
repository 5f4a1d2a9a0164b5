"""What is told of fields: each with its reason, in strict mode as a refusal, in reports as JSON, in counts by label."""

import json
from dataclasses import replace
from typing import Any

import pytest

from contract.ask import DEPLOYMENT, ask, refused, told
from overt.contract.deployment import Deployment
from overt.contract.effects import UNKNOWN, Effect, objects, refuse_strict
from overt.contract.errors import ApiError
from overt.contract.field import Route

MESSAGE: dict[str, Any] = {"role": "user", "content": "x"}
BLIND = replace(DEPLOYMENT, chat_template="{% for m in messages %}{{ m.content }}{% endfor %}", parser=None)


CASES: list[tuple[Route, dict[str, Any], list[tuple[str, str, Any]]]] = [
    ("chat", {"store": True}, [("store", "inert", None)]),
    ("chat", {"store": False}, []),
    ("chat", {"store": None}, []),
    ("chat", {"prediction": {"type": "content", "content": "x"}}, [("prediction", "inert", None)]),
    ("chat", {"prompt_cache_retention": "24h"}, [("prompt_cache_retention", "inert", None)]),
    ("chat", {"prompt_cache_retention": "in_memory"}, []),
    ("chat", {"session_id": "s"}, [("session_id", "inert", None)]),
    ("chat", {"user": "u", "safety_identifier": "v"}, [("safety_identifier", "inert", None)]),
    ("chat", {"user": "u", "safety_identifier": "u"}, []),
    ("chat", {"truncation_side": "left"}, [("truncation_side", "inert", None)]),
    ("chat", {"truncation_side": "right", "truncate_prompt_tokens": 3}, []),
    ("chat", {"service_tier": "priority"}, [("service_tier", "adapted", "default")]),
    ("chat", {"service_tier": "scale"}, [("service_tier", "adapted", "default")]),
    ("chat", {"service_tier": "flex"}, []),
    ("chat", {"service_tier": "auto"}, []),
    ("chat", {"service_tier": "flex", "priority": 3}, [("service_tier", "inert", None)]),
    ("chat", {"request_id": "not usable"}, [("request_id", "inert", None)]),
    ("chat", {"request_id": "one", "rid": "two"}, [("rid", "inert", None)]),
    ("chat", {"overt": {"strict": False, "reports": True}}, [("overt.reports", "inert", None)]),
    ("chat", {"metadata": {"a": "b"}, "prompt_cache_key": "k", "safety_identifier": "u", "rid": "r"}, []),
    ("chat", {"min_new_tokens": 3}, []),
    ("chat", {"return_tokens_as_token_ids": True, "prompt_logprobs": 1}, []),
    ("completions", {"suffix": ""}, []),
]


@pytest.mark.parametrize(("route", "fields", "wanted"), CASES)
def test_effects(route: Route, fields: dict[str, Any], wanted: list[tuple[str, str, Any]]) -> None:
    effects = ask(route, fields)[1]
    assert told(effects) == wanted
    assert all(effect.reason and not effect.reason.endswith(".") for effect in effects)


def test_keys_of_messages_that_the_template_does_not_read_are_told_once() -> None:
    first: dict[str, Any] = MESSAGE | {
        "name": "bob",
        "refusal": None,
        "annotations": [],
        "audio": {"id": "x"},
        "color": "red",
    }
    effects = ask("chat", {"messages": [first, MESSAGE | {"name": "eve"}]}, BLIND)[1]
    assert told(effects) == [
        ("messages[].name", "inert", None),
        ("messages[].audio", "inert", None),
        ("messages[].color", "inert", None),
    ]
    assert [effect.label for effect in effects] == ["messages[].name", "messages[].audio", UNKNOWN]
    reading = replace(BLIND, chat_template=(BLIND.chat_template or "") + "{{ m['name'] }}")
    assert ask("chat", {"messages": [MESSAGE | {"name": "bob"}]}, reading)[1] == []
    for whole in ("{{ messages }}", "{{ messages | tojson }}", "{% for k in m.items() %}{% endfor %}"):
        assert ask("chat", {"messages": [first]}, replace(BLIND, chat_template=whole))[1] == []
    # One thing by two names.
    reading = replace(BLIND, chat_template="{% for m in messages %}{{ m.reasoning_content }}{% endfor %}")
    assert ask("chat", {"messages": [MESSAGE | {"reasoning": "hm"}, MESSAGE]}, reading)[1] == []


def test_many_unread_keys_do_not_grow_the_list() -> None:
    message = MESSAGE | {f"key{index}": index + 1 for index in range(500)}
    assert len(ask("chat", {"messages": [message] * 3}, BLIND)[1]) <= 501


def test_what_a_template_does_not_show() -> None:
    tools = {"tools": [{"type": "function", "function": {"name": "f"}}]}
    assert told(ask("chat", tools, BLIND)[1]) == [("tools", "inert", None)]
    assert told(ask("chat", {"documents": [{"a": 1}]}, BLIND)[1]) == [("documents", "inert", None)]
    assert ask("chat", {"documents": []}, BLIND)[1] == []
    error = refused("chat", {}, replace(DEPLOYMENT, chat_template=None))
    assert error.param == "messages"
    assert "--chat-template" in error.message


def test_what_a_deployment_lacks() -> None:
    poor = replace(DEPLOYMENT, fills_gaps=False, tells_prompt_logprobs=False, prefix_caching=False)
    assert refused("completions", {"suffix": "x"}, poor).param == "suffix"
    assert refused("chat", {"prompt_logprobs": 1}, poor).param == "prompt_logprobs"
    assert refused("completions", {"echo": True, "logprobs": 0}, poor).param == "logprobs"
    salted = {"cache_salt": "a", "prompt_cache_key": "b", "extra_key": "c"}
    assert {effect.field for effect in ask("chat", salted, poor)[1]} == set(salted)
    assert ask("chat", salted)[1] == []


# --- strict ---


def test_a_strict_request_gives_its_effects_to_the_core() -> None:
    fields = {"store": True, "temprature": 1, "overt": {"strict": True}}
    assert ask("chat", fields)[0].strict == [
        "`store` is inert: answers are not stored",
        "`temprature` is inert: no such field is known; did you mean `temperature`?",
    ]
    assert ask("chat", {"overt": {"strict": True}})[0].strict == []
    assert ask("chat", {"store": True})[0].strict is None
    assert ask("chat", {}, overt_strict="1")[0].strict == []
    assert ask("chat", {}, overt_strict="0")[0].strict is None
    assert ask("chat", {}, replace(DEPLOYMENT, strict=True))[0].strict == []
    assert ask("chat", {"n": 2, "temperature": 0}, overt_strict="true")[0].strict == [
        "`n` is adapted to 1: at temperature 0 all choices are the same: one is computed and answered as often as asked"
    ]
    # What the operator or a proxy wants, a body does not lift.
    assert ask("chat", {"overt": {"strict": False}}, overt_strict="1")[0].strict == []
    assert refused("chat", {}, overt_strict="yes").param == "overt-strict"


def test_strict_without_the_core() -> None:
    refuse_strict([])
    with pytest.raises(ApiError) as caught:
        refuse_strict([Effect("a", "inert", reason="r"), Effect("b", "adapted", 3, reason="s")])
    assert (caught.value.status, caught.value.code) == (400, "not_honoured")
    assert "2 of its fields" in caught.value.message
    assert "`a` is inert: r; `b` is adapted to 3: s" in caught.value.message


# --- reports ---


def test_a_report_is_json() -> None:
    fields = {"store": True, "user": "u", "safety_identifier": "é" * 300, "overt": {"report": True}}
    report = ask("chat", fields)[0].report
    assert report is not None
    effects, more = json.loads(f"[{report[0]}]"), json.loads(f"{{{report[1]}}}")
    assert [effect["field"] for effect in effects] == ["store", "safety_identifier"]
    assert effects[0] == {
        "field": "store",
        "effect": "inert",
        "requested": True,
        "applied": None,
        "reason": "answers are not stored",
    }
    assert effects[1]["requested"] == "é" * 200 + "…"
    assert more == {
        "profile": "overt",
        "template": {"name": "default", "source": None, "hash": DEPLOYMENT.template.hash},
    }  # type: ignore[union-attr]
    assert ask("completions", {"overt": {"report": True}})[0].report == ("", '"profile":"overt"')


def test_long_values_are_shortened_in_reports() -> None:
    value = json.loads(objects([Effect("x", "inert", requested={"k": "v" * 500})]))["requested"]
    assert isinstance(value, str)
    assert len(value) == 201


# --- counts ---


def test_labels_are_few() -> None:
    deployment = Deployment(("a",), 100, chat_template="x")
    fields = {"chat_template_kwargs": {"made_up": 1}, "unknown_one": 1, "stream_options": {"other": 1}, "stream": True}
    labels = [effect.label for effect in ask("chat", fields, deployment)[1]]
    assert labels == [UNKNOWN, UNKNOWN, "chat_template_kwargs"]
    assert Effect("messages[12]", "adapted").label == "messages[]"
