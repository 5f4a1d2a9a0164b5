"""What answers and calls are held to, in every spelling, and what is refused."""

import json
from typing import Any

import pytest

from calls.said import CLOSED, OF_X, F, G, calls, refused, told, whole
from serve.scripted import CHAT, ask, tool
from serve.server import Server

# --- what answers are held to ---


def test_calls_are_held_to_their_schemas(server: Server) -> None:
    for strict, choice in ((True, "auto"), (True, "required"), (False, "required"), (None, "required")):
        body = ask("call", tools=[tool("f", OF_X, strict=strict)], tool_choice=choice)
        assert calls(whole(server, body)[0]) == [("f", {"a": "x"})], (strict, choice)
        assert "strict" not in told(server, body)
    message, _, _ = whole(server, ask("call", tools=[tool("f", OF_X, strict=False)]))
    assert calls(message) == [("f", {"a": 1})], "a tool that is not strict is called freely"
    fitting = CLOSED | {"properties": {"a": {"type": "integer"}}}
    for choice in ("auto", "required"):
        body = ask("call", tools=[tool("f", fitting, strict=True)], tool_choice=choice)
        assert calls(whole(server, body)[0]) == [("f", {"a": 1})]
    free = ask("words", tools=[tool("f", OF_X, strict=True)])
    assert whole(server, free)[0]["content"] == "plain words"
    named = ask("words", tools=[tool("f", OF_X)], tool_choice={"type": "function", "function": {"name": "f"}})
    named |= {"enable_thinking": False}
    message, finish, _ = whole(server, named)
    assert (calls(message), message["content"], finish) == ([("f", {"a": "x"})], None, "stop")


def test_schemas_that_cannot_be_held_to_are_refused_by_path(server: Server) -> None:
    wrong = {"type": "object", "properties": {"a": {"type": "array", "contains": {"type": "integer"}}}}
    of_answer = {"type": "json_schema", "json_schema": {"name": "n", "schema": wrong}}
    path = "response_format.json_schema.schema.properties.a.contains"
    refused(server, ask("json", response_format=of_answer), path, "contains")
    for choice in ("auto", "required"):
        body = ask("call", tools=[G, tool("f", wrong, strict=True)], tool_choice=choice)
        refused(server, body, "tools[1].function.parameters.properties.a.contains", "contains")


SCHEMA = {"type": "object"}


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({}, ""),
        ({"type": None}, ""),
        ({"type": "structural_tag"}, ""),
        ({"type": "wat"}, ".type"),
        ({"type": "json_schema"}, ".json_schema"),
        ({"type": "json_schema", "json_schema": {"name": "n"}}, ".json_schema.schema"),
        ({"type": "json_schema", "json_schema": {"name": "n", "schema": 3}}, ".json_schema.schema"),
        ({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "wat"}}}, ".json_schema.schema.type"),
    ],
)
def test_formats_of_answers_are_refused_by_path(server: Server, wrong: Any, path: str) -> None:
    refused(server, ask("json", response_format=wrong), f"response_format{path}")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("structured_outputs", {"regex": "("}),
        ("structured_outputs", {"choice": []}),
        ("structured_outputs", {"regex": "a", "json": SCHEMA}),
        ("structured_outputs", {"wat": 1}),
        ("structured_outputs", "a"),
        ("guided_regex", "("),
        ("guided_regex", 3),
        ("regex", "(?=a)"),
        ("ebnf", "root ::= ("),
        ("guided_grammar", "root ::= other"),
        ("guided_json", '{"type":'),
        ("guided_choice", [1]),
        ("json_schema", "{"),
    ],
)
def test_constraints_are_refused_by_path(server: Server, field: str, value: Any) -> None:
    answer = server.post(CHAT, ask("json", **{field: value}))
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"].partition(".")[0].partition("[")[0] == field, answer.text


def test_two_constraints_are_refused(server: Server) -> None:
    refused(server, ask("json", response_format={"type": "json_object"}, regex="a"), "regex", "response_format")
    refused(server, ask("json", guided_choice=["a"], guided_json=SCHEMA), "guided_choice", "guided_json")


def test_every_spelling_of_a_constraint_is_kept(server: Server) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    of_schema: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": given}}},
            {"structured_outputs": {"json": given}},
        )
        for given in (schema, OF_X)
    ]
    for name in ("guided_json", "json_schema"):
        of_schema[0] += ({name: schema}, {name: json.dumps(schema)})
        of_schema[1] += ({name: OF_X}, {name: json.dumps(OF_X)})
    kept = [
        *of_schema[0],
        {"response_format": {"type": "json_object"}},
        {"structured_outputs": {"json_object": True}},
        {"guided_json_object": True},
        {"structured_outputs": {"regex": r'\{"a": \d\}'}},
        {"guided_regex": r'\{"a": \d\}'},
        {"regex": r'\{"a": \d\}'},
        {"structured_outputs": {"choice": ["no", '{"a": 1}']}},
        {"guided_choice": ["no", '{"a": 1}']},
        {"structured_outputs": {"grammar": 'root ::= "{\\"a\\": " [0-9] "}"'}},
        {"guided_grammar": 'start: "{\\"a\\": " /[0-9]/ "}"'},
        {"ebnf": 'root ::= "{\\"a\\": " [0-9] "}"'},
    ]
    turned: list[tuple[dict[str, Any], str]] = [
        *((fields, '{"a":"x"}') for fields in of_schema[1]),
        ({"structured_outputs": {"regex": "no"}}, "no"),
        ({"guided_choice": ["no"]}, "no"),
        ({"ebnf": 'root ::= "no"'}, "no"),
    ]
    for fields in kept:
        message, finish, _ = whole(server, ask("json", **fields))
        assert (message["content"], finish) == ('{"a": 1}', "stop"), fields
        name = next(iter(fields))
        assert f'"{name}' not in told(server, ask("json", **fields)), "it is plainly honoured"
    for fields, wanted in turned:
        message, finish, _ = whole(server, ask("json", enable_thinking=False, **fields))
        assert ("".join(message["content"].split()), finish) == (wanted, "stop"), fields


def test_answers_without_constraint(server: Server) -> None:
    for fields in (
        {"response_format": {"type": "text"}},
        {"response_format": None, "structured_outputs": {}, "guided_choice": [], "regex": ""},
    ):
        assert whole(server, ask("words", **fields))[0]["content"] == "plain words"


def test_constraints_are_refused_where_grammars_are_off(unheld: Server) -> None:
    for fields in ({"response_format": {"type": "json_object"}}, {"guided_regex": "a"}, {"ebnf": 'root ::= "a"'}):
        (name,) = fields
        answer = unheld.post(CHAT, ask("json", **fields))
        assert answer.status_code == 400, fields
        assert answer.json()["error"]["param"] == name
        assert "--grammar-backend none" in answer.json()["error"]["message"]


def test_completions_are_held_too(server: Server) -> None:
    prompt = ask("json")["messages"][0]["content"]
    for fields in ({"guided_regex": r'\{"a": \d\}'}, {"response_format": {"type": "json_object"}}):
        answer = server.post("/v1/completions", {"prompt": prompt, **fields})
        assert answer.status_code == 200, answer.text
        assert answer.json()["choices"][0]["text"] == '{"a": 1}'
    answer = server.post("/v1/completions", {"prompt": prompt, "guided_regex": "("})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "guided_regex")


def test_a_constraint_stands_beside_calls(server: Server) -> None:
    fields: dict[str, Any] = {"tools": [F], "regex": "plain words"}
    assert whole(server, ask("words", **fields))[0]["content"] == "plain words"
    assert calls(whole(server, ask("call", **fields))[0]) == [("f", {"a": 1})]
    message, _, _ = whole(
        server, ask("json", enable_thinking=False, tools=[tool("f", OF_X, strict=True)], regex="plain words")
    )
    assert (message["content"] == "plain words") != (calls(message) == [("f", {"a": "x"})])
    refused(server, ask("words", tools=[F], ebnf='root ::= "a"'), "ebnf", "tool_choice")
