"""What a real model says when it is held: calls of the offered tools, answers of a schema, both valid by an
independent validator; and the same text as ever where the grammar allows everything."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from serve.server import Server, serving

CHAT = "/v1/chat/completions"
LONG = bool(os.environ.get("OVERT_LONG_TESTS"))
SCHEMAS = Path(__file__).parents[2] / "rust" / "overt-grammar" / "tests" / "schemas" / "keywords.jsonl"

TASKS = [
    "What will the weather be in Oslo on Friday?",
    "Book a table for four at the harbour.",
    "Turn on the lights in the kitchen.",
    "Remind me to call my mother.",
    "Who won the match yesterday?",
    "Send 20 euros to Maria.",
    "Translate 'good morning' into Finnish.",
    "How long is the flight from Rome to Cairo?",
    "Play some quiet music.",
    "Is it colder in Lima or in Quito?",
    "Cancel my meeting at three.",
    "Add milk and eggs to the list.",
    "Show me the way to the station.",
    "What is 17 times 23?",
    "Set the heating to 21 degrees.",
    "Find a recipe with lentils.",
    "Wake me at half past six.",
    "Write {braces} and </tool_call> into a note.",
    "\u4eca\u5929\u5317\u4eac\u7684\u5929\u6c14\u600e\u4e48\u6837\uff1f",
    'Say "hello" to everybody\\nobody.',
]

EVERYTHING = "start: /(?s:.*)/"

TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 40},
                "unit": {"enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer", "minimum": 1, "maximum": 14},
            },
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
    {
        "name": "note",
        "parameters": {
            "type": "object",
            "properties": {
                "tags": {"type": "array", "items": {"type": "string", "maxLength": 12}, "minItems": 1, "maxItems": 3},
                "place": {
                    "type": "object",
                    "properties": {"name": {"type": ["string", "null"], "maxLength": 20}, "near": {"type": "boolean"}},
                    "required": ["name", "near"],
                    "additionalProperties": False,
                },
            },
            "required": ["tags", "place"],
            "additionalProperties": False,
        },
    },
    {"name": "stop", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}},
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    flags = ("--max-model-len", "2048", "--max-num-seqs", "16", "--tool-call-parser", "hermes")
    with serving("demo", *flags) as server:
        yield server


def _answers(server: Server, bodies: list[dict[str, Any]]) -> list[Any]:
    """The answers, which run beside each other."""
    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(lambda body: server.post(CHAT, body), bodies))


def _choice(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    choice: dict[str, Any] = answer.json()["choices"][0]
    return choice


def test_forced_calls_are_valid(server: Server) -> None:
    tools = [{"type": "function", "function": tool} for tool in TOOLS]
    bodies = []
    for number, task in enumerate(TASKS if LONG else TASKS[-2:]):
        for index, tool in enumerate(TOOLS):
            named = {"type": "function", "function": {"name": tool["name"]}}
            # Several calls only now and then: this model does not know when to stop.
            asked = {"messages": [{"role": "user", "content": task}], "max_tokens": 200, "seed": number}
            asked |= {"temperature": index / 2, "tools": tools[index:] + tools[:index]}
            bodies += [
                asked | {"tool_choice": choice, "parallel_tool_calls": number % 3 == index}
                for choice in ("required", named)
            ]
    finished = one_call = 0
    for body, answer in zip(bodies, _answers(server, bodies), strict=True):
        choice = _choice(answer)
        message, finish, named = choice["message"], choice["finish_reason"], body["tool_choice"] != "required"
        # An opener that the limit cut off is told as text: it is no call yet.
        assert not message["content"] or finish == "length"
        calls = message["tool_calls"]
        single = named or not body["parallel_tool_calls"]
        one_call += single
        if finish == "length":
            # The last one is cut off.
            calls = calls[:-1]
        else:
            finished += single
            assert finish == ("stop" if named else "tool_calls")
            assert len(calls) == 1 or not single
        for call in calls:
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            (tool,) = [tool for tool in TOOLS if tool["name"] == name]
            assert not named or name == body["tool_choice"]["function"]["name"]
            jsonschema.validate(arguments, tool["parameters"])
    assert finished >= 0.9 * one_call, (finished, one_call)


def test_forced_calls_stream_as_they_are_made(server: Server) -> None:
    body = {"messages": [{"role": "user", "content": TASKS[0]}], "max_tokens": 200, "temperature": 0}
    body |= {"tools": [{"type": "function", "function": TOOLS[0]}], "tool_choice": "required"}
    body |= {"parallel_tool_calls": False}
    whole = _choice(server.post(CHAT, body))["message"]["tool_calls"]
    parts = [part for chunk in server.chunks(CHAT, body) for part in chunk["choices"][0]["delta"].get("tool_calls", ())]
    assert "".join(part["function"].get("arguments", "") for part in parts) == whole[0]["function"]["arguments"]
    assert len(parts) > 3
    jsonschema.validate(json.loads(whole[0]["function"]["arguments"]), TOOLS[0]["parameters"])


def _cases() -> list[dict[str, Any]]:
    cases = [json.loads(line) for line in SCHEMAS.read_text().splitlines()]
    return cases if LONG else cases[4::15]


def test_answers_are_of_their_schema(server: Server) -> None:
    cases = _cases()
    bodies = [
        {
            # As clients ask: nothing but the prompt tells a model what is wanted.
            "messages": [{"role": "user", "content": f"Answer with a short example of {json.dumps(case['schema'])}"}],
            "max_tokens": 500,
            # Left to itself so small a model goes round and round in texts and lists that may be endless.
            "temperature": 0.7,
            "frequency_penalty": 0.5,
            "seed": number,
            "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": case["schema"]}},
        }
        for number, case in enumerate(cases)
    ]
    accepted, cut = 0, []
    for case, answer in zip(cases, _answers(server, bodies), strict=True):
        if "refused" in case:
            assert answer.status_code == 400, (case["name"], answer.text)
            error = answer.json()["error"]
            assert error["param"] == f"response_format.json_schema.schema{case['refused']}", case["name"]
            keyword = case["refused"].rpartition(".")[2]
            assert keyword in error["message"] or keyword in error["param"]
            continue
        accepted += 1
        choice = _choice(answer)
        if choice["finish_reason"] == "length":
            cut.append(case["name"])
            continue
        assert choice["finish_reason"] == "stop"
        judge = jsonschema.validators.validator_for(case["schema"], jsonschema.Draft202012Validator)
        checker = judge.FORMAT_CHECKER
        judge(case["schema"], format_checker=checker).validate(json.loads(choice["message"]["content"]))
    assert accepted >= (52 if LONG else 4), accepted
    assert len(cut) <= max(1, accepted // 10), cut


def test_a_grammar_that_allows_everything_changes_nothing(server: Server) -> None:
    for task in TASKS[:4]:
        body = {"messages": [{"role": "user", "content": task}], "max_tokens": 40, "temperature": 0}
        free = _choice(server.post(CHAT, body))
        for everything in (
            {"structured_outputs": {"regex": "(?s).*"}},
            {"structured_outputs": {"grammar": EVERYTHING}},
        ):
            held = _choice(server.post(CHAT, body | everything))
            assert held["message"]["content"] == free["message"]["content"]
            assert held["finish_reason"] == free["finish_reason"]


def test_rows_that_are_held_leave_their_neighbours_alone(server: Server) -> None:
    free = {"messages": [{"role": "user", "content": TASKS[0]}], "max_tokens": 24, "temperature": 0}
    alone = _choice(server.post(CHAT, free))["message"]["content"]
    held = free | {"guided_choice": ["yes", "no", "it depends"]}
    choices = [_choice(answer)["message"]["content"] for answer in _answers(server, [free, held] * 6)]
    assert set(choices[::2]) == {alone}
    assert set(choices[1::2]) <= {"yes", "no", "it depends"}
