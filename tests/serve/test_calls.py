"""Calls, reasoning and constraints as clients ask for them: who may call what, how it is told, what is refused."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serve.schema import check
from serve.scripted import CHAT, ask, scripted, tool
from serve.server import Server

CALL = ["<tool_call>", '\n{"name": "f", "argu', 'ments": {"a": 1}}', "\n</tool_call>"]
OTHER = ["<tool_call>", '\n{"name": "g", "arguments": {}}', "\n</tool_call>"]
RUN = ["<tool_call>", '\n{"name": "run", "arguments": {"input": "ls ', '\\"-l\\"', '\\n\\\\ é"}}', "\n</tool_call>"]
INPUT = 'ls "-l"\n\\ é'
ANSWERS = {
    "call": CALL,
    "two": ["Let me see. ", *CALL, "\n", *OTHER, " Done."],
    "thought": ["<think>", "\nhm", ",", " so", "\n</think>", "\n\nyes", "."],
    "thought and call": ["<think>", "hm", "</think>", *CALL],
    "run": RUN,
    "other": OTHER,
    "long thought": ["<think>", *[" hm"] * 20, "</think>", "yes"],
    "opened thought": [*[" hm"] * 20, "</think>", "yes"],
    "words": ["plain", " words"],
    "json": ['{"a"', ": 1}"],
}
PARSERS = ("--tool-call-parser", "hermes", "--reasoning-parser", "qwen3")
CLOSED: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
OF_X: dict[str, Any] = CLOSED | {"properties": {"a": {"const": "x"}}, "required": ["a"]}
"""Leaves no choice, so that the scripted model says what it is held to."""
F, G = tool("f", {"type": "object", "properties": {"a": {"type": "integer"}}}), tool("g", CLOSED)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with scripted(tmp_path_factory.mktemp("calls"), ANSWERS, *PARSERS) as server:
        yield server


@pytest.fixture(scope="module")
def unheld(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Calls are read, and nothing is constrained."""
    folder = tmp_path_factory.mktemp("unheld")
    with scripted(folder, ANSWERS, *PARSERS, "--grammar-backend", "none") as server:
        yield server


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Nothing is read."""
    flags = ("--tool-call-parser", "none", "--reasoning-parser", "none")
    with scripted(tmp_path_factory.mktemp("bare"), ANSWERS, *flags) as server:
        yield server


def _whole(server: Server, body: dict[str, Any]) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """The message, the reason of its end, the usage."""
    answer = server.post(CHAT, body)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    check("CreateChatCompletionResponse", document)
    (choice,) = document["choices"]
    return choice["message"], choice["finish_reason"], document["usage"]


def _deltas(server: Server, body: dict[str, Any]) -> tuple[list[dict[str, Any]], str, dict[str, Any]]:
    """The deltas but the role's and the last, the reason of the end, the usage."""
    *chunks, last = server.chunks(CHAT, body | {"stream_options": {"include_usage": True}})
    for chunk in chunks:
        # The schema of streams knows no calls of custom tools.
        if '"custom"' not in json.dumps(chunk):
            check("CreateChatCompletionStreamResponse", chunk)
    choices = [chunk["choices"][0] for chunk in chunks]
    assert choices[0]["delta"] == {"role": "assistant", "content": ""}
    assert choices[-1]["delta"] == {}
    return [choice["delta"] for choice in choices[1:-1]], choices[-1]["finish_reason"], last["usage"]


def _told(server: Server, body: dict[str, Any]) -> str:
    """The effects of a request."""
    answer = server.post(CHAT, body)
    assert answer.status_code == 200, answer.text
    return answer.headers.get("overt-effects", "")


def _refused(server: Server, body: dict[str, Any], param: str, *words: str) -> None:
    for stream in (False, True):
        answer = server.post(CHAT, body | {"stream": stream})
        assert answer.status_code == 400, (body, answer.text)
        error = answer.json()["error"]
        assert error["param"] == param, (body, error)
        assert all(word in error["message"] for word in words), error


def _calls(message: dict[str, Any]) -> list[tuple[str, Any]]:
    return [
        (call["function"]["name"], json.loads(call["function"]["arguments"])) for call in message.get("tool_calls", ())
    ]


# --- how many calls ---


def test_an_answer_without_parallel_calls_ends_with_its_first(server: Server) -> None:
    body = ask("two", tools=[F, G])
    message, finish, usage = _whole(server, body)
    assert (_calls(message), finish) == ([("f", {"a": 1}), ("g", {})], "tool_calls")
    # White space between two calls is the format's.
    assert message["content"] == "Let me see.  Done."
    assert usage["completion_tokens"] == len(ANSWERS["two"]) + 1
    one = body | {"parallel_tool_calls": False}
    message, finish, usage = _whole(server, one)
    assert (_calls(message), finish, message["content"]) == ([("f", {"a": 1})], "tool_calls", "Let me see. ")
    # What was made before the model heard of the end is not counted: the prose, and the call's four tokens at most.
    assert 4 <= usage["completion_tokens"] <= 5
    deltas, finish, streamed_usage = _deltas(server, one)
    assert (finish, streamed_usage["completion_tokens"]) == ("tool_calls", usage["completion_tokens"])
    assert "".join(delta.get("content", "") for delta in deltas) == "Let me see. "
    assert {part["index"] for delta in deltas for part in delta.get("tool_calls", ())} == {0}
    choices = server.post(CHAT, one | {"n": 3, "temperature": 1}).json()["choices"]
    assert [_calls(choice["message"]) for choice in choices] == [[("f", {"a": 1})]] * 3
    assert "parallel_tool_calls" not in _told(server, one)


def test_true_and_absent_parallel_calls_are_the_same(server: Server) -> None:
    body = ask("two", tools=[F, G])
    texts = [_whole(server, body | more)[0] for more in ({}, {"parallel_tool_calls": True})]
    assert _calls(texts[0]) == _calls(texts[1])


# --- reasoning ---


def _reasoning(said: dict[str, Any]) -> str:
    told: list[str] = [said.get(name, "") for name in ("reasoning_content", "reasoning")]
    assert told[0] == told[1]
    return told[0]


def test_reasoning_stands_in_a_field_of_its_own(server: Server) -> None:
    message, finish, usage = _whole(server, ask("thought"))
    assert (_reasoning(message), message["content"], finish) == ("hm, so", "yes.", "stop")
    assert 0 < usage["completion_tokens_details"]["reasoning_tokens"] < usage["completion_tokens"]
    deltas, _, streamed_usage = _deltas(server, ask("thought"))
    reasoned = [_reasoning(delta) for delta in deltas if "reasoning" in delta]
    assert "".join(reasoned) == "hm, so"
    assert len(reasoned) > 1, "it comes as it is made"
    assert "".join(delta.get("content", "") for delta in deltas) == "yes."
    assert streamed_usage["completion_tokens_details"] == usage["completion_tokens_details"]


def test_reasoning_is_left_out_where_it_is_not_to_be_included(server: Server) -> None:
    plain = _whole(server, ask("thought"))[2]
    body = ask("thought", include_reasoning=False)
    message, _, usage = _whole(server, body)
    assert (message["content"], {"reasoning", "reasoning_content"} & set(message)) == ("yes.", set())
    assert usage["completion_tokens"] == plain["completion_tokens"], "it was made all the same"
    assert usage["completion_tokens_details"] == plain["completion_tokens_details"]
    deltas, _, _ = _deltas(server, body)
    assert all(set(delta) == {"content"} for delta in deltas)
    assert "".join(delta["content"] for delta in deltas) == "yes."
    message, finish, _ = _whole(server, ask("thought and call", tools=[F], include_reasoning=False))
    assert (_calls(message), message["content"], finish) == ([("f", {"a": 1})], None, "tool_calls")


def test_reasoning_stays_in_the_content_where_it_is_not_to_be_separate(server: Server) -> None:
    body = ask("thought", separate_reasoning=False)
    text = "".join(ANSWERS["thought"])
    message, _, _ = _whole(server, body)
    assert (message["content"], "reasoning" in message) == (text, False)
    deltas, _, _ = _deltas(server, body)
    assert "".join(delta["content"] for delta in deltas) == text
    message, finish, _ = _whole(server, ask("thought and call", tools=[F], separate_reasoning=False))
    assert (_calls(message), message["content"], finish) == ([("f", {"a": 1})], "<think>hm</think>", "tool_calls")


def test_reasoning_comes_in_one_piece_where_it_is_not_to_be_streamed(server: Server) -> None:
    deltas, _, _ = _deltas(server, ask("thought", stream_reasoning=False))
    assert [_reasoning(delta) for delta in deltas if "reasoning" in delta] == ["hm, so"]
    assert "".join(delta.get("content", "") for delta in deltas) == "yes."
    deltas, _, _ = _deltas(server, ask("thought and call", tools=[F], stream_reasoning=False))
    assert _reasoning(deltas[0]) == "hm"
    assert '"stream_reasoning";e=inert' in _told(server, ask("thought", stream_reasoning=False)), "there is no stream"


def test_fields_about_reasoning_are_inert_where_none_is_read(bare: Server) -> None:
    for field in ("include_reasoning", "separate_reasoning", "stream_reasoning"):
        assert f'"{field}";e=inert' in _told(bare, ask("thought", **{field: False}, stream=True))
    message, _, usage = _whole(bare, ask("thought"))
    assert message["content"] == "".join(ANSWERS["thought"])
    assert "completion_tokens_details" not in usage


# --- the older functions ---


def test_functions_are_answered_as_their_clients_read_it(server: Server) -> None:
    functions = [F["function"], G["function"]]
    for choice in ({}, {"function_call": "auto"}):
        message, finish, _ = _whole(server, ask("two", functions=functions, **choice))
        assert message["function_call"] == {"name": "f", "arguments": '{"a": 1}'}
        assert "tool_calls" not in message
        assert finish == "function_call"
        deltas, finish, _ = _deltas(server, ask("two", functions=functions, **choice))
        parts = [delta["function_call"] for delta in deltas if "function_call" in delta]
        assert parts[0]["name"] == "f"
        assert all(set(part) == {"arguments"} for part in parts[1:])
        assert "".join(part["arguments"] for part in parts) == '{"a": 1}'
        assert finish == "function_call"
    message, finish, _ = _whole(server, ask("call", functions=functions, function_call={"name": "f"}))
    # As a named choice of tools.
    assert (message["function_call"]["name"], finish) == ("f", "stop")
    message, finish, _ = _whole(server, ask("call", functions=functions, function_call="none"))
    assert (message["content"], finish) == ("".join(CALL), "stop")
    assert "function_call" not in message


def test_functions_and_tools_are_the_same_to_the_template(server: Server) -> None:
    texts = [
        server.post(CHAT + "/render", ask("call", **fields)).json()["prompt_text"]
        for fields in ({"tools": [F]}, {"functions": [F["function"]]})
    ]
    assert texts[0] == texts[1]
    assert '"name": "f"' in texts[0]
    called = {"name": "f", "arguments": '{"a": 1}'}
    older = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "function_call": called},
        {"role": "function", "name": "f", "content": "20"},
    ]
    shown = server.post(CHAT + "/render", {"messages": older})
    assert '[call_1 f {"a": 1}]' in shown.json()["prompt_text"]
    assert "tool: 20" in shown.json()["prompt_text"]
    # It was read, and is not to be told as if it had not been.
    assert "function_call" not in shown.headers.get("overt-effects", "")


def test_functions_are_refused_by_name(server: Server) -> None:
    function = F["function"]
    _refused(server, ask("call", functions=[function], tools=[F]), "functions", "tools")
    _refused(server, ask("call", functions=[{"parameters": {}}]), "functions[0].name")
    _refused(server, ask("call", functions=[function], function_call={"name": "h"}), "function_call")
    _refused(server, ask("call", function_call={"name": "f"}), "function_call", "functions")
    for wrong in ("required", {"type": "function"}, 3):
        _refused(server, ask("call", functions=[function], function_call=wrong), "function_call")


# --- custom tools ---


def _custom(**custom: Any) -> dict[str, Any]:
    return {"type": "custom", "custom": {"name": "run"} | custom}


def _regex(definition: str) -> dict[str, Any]:
    return {"type": "grammar", "grammar": {"syntax": "regex", "definition": definition}}


@pytest.mark.parametrize("format_", [None, {"type": "text"}, _regex('ls( "-l")?(.|\n)*')])
def test_custom_tools_are_called_with_a_text(server: Server, format_: Any) -> None:
    body = ask("run", tools=[_custom(description="Runs it.", format=format_), F])
    message, finish, _ = _whole(server, body)
    (call,) = message["tool_calls"]
    assert call == {"id": call["id"], "type": "custom", "custom": {"name": "run", "input": INPUT}}
    assert finish == "tool_calls"
    deltas, finish, _ = _deltas(server, body)
    first, *rest = [part for delta in deltas for part in delta["tool_calls"]]
    assert first == {"index": 0, "id": first["id"], "type": "custom", "custom": {"name": "run", "input": ""}}
    assert all(set(part) == {"index", "custom"} and set(part["custom"]) == {"input"} for part in rest)
    assert "".join(part["custom"]["input"] for part in rest) == INPUT
    assert len(rest) > 1, "it comes as it is made"
    assert finish == "tool_calls"
    named = body | {"tool_choice": {"type": "custom", "custom": {"name": "run"}}}
    message, finish, _ = _whole(server, named)
    assert (message["tool_calls"][0]["custom"]["input"], finish) == (INPUT, "stop")


def test_a_custom_tool_is_held_to_its_pattern(server: Server) -> None:
    for choice in ("auto", "required"):
        message, finish, _ = _whole(server, ask("run", tools=[_custom(format=_regex("rm"))], tool_choice=choice))
        (call,) = message["tool_calls"]
        assert (call["custom"], finish) == ({"name": "run", "input": "rm"}, "tool_calls")


def test_custom_tools_stand_in_a_conversation(server: Server) -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "run", "input": 'a"b'}}
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "20"},
    ]
    shown = server.post(CHAT + "/render", {"messages": messages, "tools": [_custom(description="Runs it.")]})
    assert shown.status_code == 200, shown.text
    assert '[c1 run {"input": "a\\"b"}]' in shown.json()["prompt_text"]
    assert "Runs it." in shown.json()["prompt_text"]


def test_custom_tools_are_refused_by_path(server: Server) -> None:
    lark = {"type": "grammar", "grammar": {"syntax": "lark", "definition": 'start: "a"'}}
    _refused(server, ask("run", tools=[_custom(format=lark)]), "tools[0].custom.format", "regex")
    _refused(server, ask("run", tools=[F, _custom(format={"type": "wat"})]), "tools[1].custom.format.type")
    _refused(server, ask("run", tools=[{"type": "custom", "custom": {}}]), "tools[0].custom.name")
    _refused(server, ask("run", tools=[{"type": "custom"}]), "tools[0].custom.name")
    broken = _custom(format=_regex("(["))
    answer = server.post(CHAT, ask("run", tools=[broken], tool_choice="required"))
    assert answer.status_code == 400
    assert answer.json()["error"]["param"].startswith("tools[0].custom.format")


# --- the choice among tools ---


def _allowed(*names: str, mode: str = "auto") -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


def test_none_reads_no_call_and_shows_no_tools(server: Server) -> None:
    body = ask("call", tools=[F], tool_choice="none")
    message, finish, _ = _whole(server, body)
    assert (message["content"], finish) == ("".join(CALL), "stop")
    assert "tool_calls" not in message
    deltas, finish, _ = _deltas(server, body)
    assert ("".join(delta["content"] for delta in deltas), finish) == ("".join(CALL), "stop")
    shown = server.post(CHAT + "/render", body).json()["prompt_text"]
    assert shown == server.post(CHAT + "/render", ask("call")).json()["prompt_text"]


def test_how_an_answer_ends_depends_on_what_was_asked(server: Server) -> None:
    named = {"type": "function", "function": {"name": "f"}}
    for choice, wanted in (("auto", "tool_calls"), ("required", "tool_calls"), (named, "stop")):
        body = ask("call", tools=[F, G], tool_choice=choice)
        message, finish, _ = _whole(server, body)
        assert (_calls(message), message["content"], finish) == ([("f", {"a": 1})], None, wanted)
        deltas, finish, _ = _deltas(server, body)
        assert finish == wanted
        assert all("content" not in delta for delta in deltas)
    cut = ask("call", tools=[F, G], max_tokens=3)
    assert _whole(server, cut)[1] == _deltas(server, cut)[1] == "length"


def test_thinking_comes_before_a_forced_call(server: Server) -> None:
    message, finish, _ = _whole(server, ask("thought and call", tools=[F], tool_choice="required"))
    assert (_reasoning(message), _calls(message), finish) == ("hm", [("f", {"a": 1})], "tool_calls")


def test_allowed_tools_are_those_that_may_be_called(server: Server) -> None:
    for mode in ("auto", "required"):
        message, finish, _ = _whole(server, ask("call", tools=[F, G], tool_choice=_allowed("f", mode=mode)))
        assert (_calls(message), finish) == ([("f", {"a": 1})], "tool_calls")
        strict = tool("g", CLOSED, strict=True)
        message, finish, _ = _whole(server, ask("call", tools=[F, strict], tool_choice=_allowed("g", mode=mode)))
        assert (_calls(message), finish) == ([("g", {})], "tool_calls"), mode
    # The template shows all of them: the prompt stays what it was, and with it the cache.
    shown = server.post(CHAT + "/render", ask("call", tools=[F, G], tool_choice=_allowed("f"))).json()["prompt_text"]
    assert '"name": "g"' in shown


def test_choices_are_refused_by_name(server: Server) -> None:
    named = {"type": "function", "function": {"name": "f"}}
    for choice in ("required", named, _allowed("f"), _allowed("f", mode="required")):
        for tools in ({}, {"tools": []}, {"tools": None}):
            _refused(server, ask("call", tool_choice=choice, **tools), "tool_choice", "tools")
    for choice in ("wat", {"type": "wat"}, {}, 7, [], {"type": "function"}, {"type": "function", "function": {}}):
        _refused(server, ask("call", tools=[F], tool_choice=choice), "tool_choice")
    unknown = {"type": "function", "function": {"name": "h"}}
    _refused(server, ask("call", tools=[F], tool_choice=unknown), "tool_choice", "not in `tools`")
    _refused(server, ask("call", tools=[F], tool_choice=_allowed("f", "h")), "tool_choice", "not in `tools`")
    for wrong in (_allowed(), _allowed("f", mode="wat")):
        _refused(server, ask("call", tools=[F], tool_choice=wrong), "tool_choice.allowed_tools")


def test_tools_are_refused_by_path(server: Server) -> None:
    for wrong, path in (
        ({"type": "function"}, "tools[1].function.name"),
        ({"type": "function", "function": {"parameters": {}}}, "tools[1].function.name"),
        ({"type": "function", "function": {"name": ""}}, "tools[1].function.name"),
        ({"type": "function", "function": {"name": 3}}, "tools[1].function.name"),
        ({"type": "web_search"}, "tools[1].type"),
        ({"type": 3}, "tools[1].type"),
    ):
        _refused(server, ask("call", tools=[F, wrong]), path)


def test_a_call_cannot_be_forced_where_none_is_read(bare: Server) -> None:
    for choice in ("required", {"type": "function", "function": {"name": "f"}}):
        _refused(bare, ask("call", tools=[F], tool_choice=choice), "tool_choice", "--tool-call-parser")
    message, finish, _ = _whole(bare, ask("call", tools=[F]))
    assert (message["content"], finish) == ("".join(CALL), "stop")
    assert '"tools";e=adapted' in _told(bare, ask("call", tools=[F]))


def test_a_call_is_only_asked_for_where_nothing_is_held(unheld: Server) -> None:
    body = ask("words", tools=[F], tool_choice="required")
    assert '"tool_choice";e=adapted' in _told(unheld, body)
    message, finish, _ = _whole(unheld, body)
    assert (message["content"], finish) == ("plain words", "stop")
    strict = tool("f", strict=True)
    assert '"tools[0].function.strict";e=inert' in _told(unheld, ask("words", tools=[strict]))


# --- what answers are held to ---


def test_calls_are_held_to_their_schemas(server: Server) -> None:
    for strict, choice in ((True, "auto"), (True, "required"), (False, "required"), (None, "required")):
        body = ask("call", tools=[tool("f", OF_X, strict=strict)], tool_choice=choice)
        assert _calls(_whole(server, body)[0]) == [("f", {"a": "x"})], (strict, choice)
        assert "strict" not in _told(server, body)
    message, _, _ = _whole(server, ask("call", tools=[tool("f", OF_X, strict=False)]))
    assert _calls(message) == [("f", {"a": 1})], "a tool that is not strict is called freely"
    fitting = CLOSED | {"properties": {"a": {"type": "integer"}}}
    for choice in ("auto", "required"):
        body = ask("call", tools=[tool("f", fitting, strict=True)], tool_choice=choice)
        assert _calls(_whole(server, body)[0]) == [("f", {"a": 1})]
    free = ask("words", tools=[tool("f", OF_X, strict=True)])
    assert _whole(server, free)[0]["content"] == "plain words"
    named = ask("words", tools=[tool("f", OF_X)], tool_choice={"type": "function", "function": {"name": "f"}})
    named |= {"enable_thinking": False}
    message, finish, _ = _whole(server, named)
    assert (_calls(message), message["content"], finish) == ([("f", {"a": "x"})], None, "stop")


def test_schemas_that_cannot_be_held_to_are_refused_by_path(server: Server) -> None:
    wrong = {"type": "object", "properties": {"a": {"type": "array", "contains": {"type": "integer"}}}}
    of_answer = {"type": "json_schema", "json_schema": {"name": "n", "schema": wrong}}
    path = "response_format.json_schema.schema.properties.a.contains"
    _refused(server, ask("json", response_format=of_answer), path, "contains")
    for choice in ("auto", "required"):
        body = ask("call", tools=[G, tool("f", wrong, strict=True)], tool_choice=choice)
        _refused(server, body, "tools[1].function.parameters.properties.a.contains", "contains")


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
    _refused(server, ask("json", response_format=wrong), f"response_format{path}")


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
    _refused(server, ask("json", response_format={"type": "json_object"}, regex="a"), "regex", "response_format")
    _refused(server, ask("json", guided_choice=["a"], guided_json=SCHEMA), "guided_choice", "guided_json")


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
        message, finish, _ = _whole(server, ask("json", **fields))
        assert (message["content"], finish) == ('{"a": 1}', "stop"), fields
        name = next(iter(fields))
        assert f'"{name}' not in _told(server, ask("json", **fields)), "it is plainly honoured"
    for fields, wanted in turned:
        message, finish, _ = _whole(server, ask("json", enable_thinking=False, **fields))
        assert ("".join(message["content"].split()), finish) == (wanted, "stop"), fields


def test_answers_without_constraint(server: Server) -> None:
    for fields in (
        {"response_format": {"type": "text"}},
        {"response_format": None, "structured_outputs": {}, "guided_choice": [], "regex": ""},
    ):
        assert _whole(server, ask("words", **fields))[0]["content"] == "plain words"


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
    assert _whole(server, ask("words", **fields))[0]["content"] == "plain words"
    assert _calls(_whole(server, ask("call", **fields))[0]) == [("f", {"a": 1})]
    message, _, _ = _whole(
        server, ask("json", enable_thinking=False, tools=[tool("f", OF_X, strict=True)], regex="plain words")
    )
    assert (message["content"] == "plain words") != (_calls(message) == [("f", {"a": "x"})])
    _refused(server, ask("words", tools=[F], ebnf='root ::= "a"'), "ebnf", "tool_choice")


def test_budgets_of_thinking_are_refused_or_inert_where_they_cannot_be_kept(server: Server, bare: Server) -> None:
    for wrong in (-2, 1.5, "3", 2**31):
        _refused(server, ask("thought", thinking_token_budget=wrong), "thinking_token_budget")
    assert '"thinking_token_budget";e=inert' in _told(bare, ask("thought", thinking_token_budget=3))
    assert "thinking_token_budget" not in _told(server, ask("thought", thinking_token_budget=3))


@pytest.mark.parametrize("budget", [0, 1, 3, 19])
def test_a_budget_closes_the_thinking(server: Server, budget: int) -> None:
    opened: dict[str, Any] = {"chat_template_kwargs": {"tail": "<think>\n"}}
    for name, fields in (("long thought", {}), ("opened thought", opened)):
        free = _whole(server, ask(name, **fields))
        assert (_reasoning(free[0]).split(), free[0]["content"]) == (["hm"] * 20, "yes")
        body = ask(name, thinking_token_budget=budget, **fields)
        message, finish, usage = _whole(server, body)
        assert _reasoning(message).split() == ["hm"] * budget, name
        # The tokens that close it are of it, too.
        assert budget <= usage["completion_tokens_details"]["reasoning_tokens"] <= budget + 8
        assert "<think>" not in message["content"]
        # Where the end of the thinking takes the place of the last words, they are not said.
        assert message["content"].endswith("yes") or budget > 10
        assert finish == "stop"
        assert "".join(_reasoning(delta) for delta in _deltas(server, body)[0]).split() == ["hm"] * budget
        for unbounded in (-1, 21, 1000):
            same = _whole(server, ask(name, thinking_token_budget=unbounded, **fields))
            assert (same[0], same[2]["completion_tokens"]) == (free[0], free[2]["completion_tokens"]), unbounded


# --- parsers by themselves, and what is told of them ---


def test_a_text_is_parsed_by_itself(server: Server) -> None:
    text = "<think>hm</think>Now. " + "".join(CALL)
    told = server.post("/v1/parse", {"text": text, "tools": [F]}).json()
    assert (told["reasoning_content"], told["content"]) == ("hm", "Now. ")
    assert _calls(told) == [("f", {"a": 1})]
    kinds = [event["kind"] for event in told["events"]]
    assert kinds == ["reasoning", "content", "call_start", "call_arguments", "call_end"]
    assert (told["tool_call_parser"], told["reasoning_parser"]) == ("hermes", "qwen3")
    without = server.post("/v1/parse", {"text": text}).json()
    assert (without["tool_calls"], without["content"]) == ([], "Now. " + "".join(CALL))
    none = server.post("/v1/parse", {"text": text, "tools": [F], "tool_choice": "none"}).json()
    assert none["tool_calls"] == []
    plain = {"text": text, "tools": [F], "tool_call_parser": "none", "reasoning_parser": "none"}
    assert server.post("/v1/parse", plain).json()["content"] == text
    other = {"text": '{"name": "f", "parameters": {"a": 2}}', "tools": [F], "tool_call_parser": "llama3_json"}
    assert _calls(server.post("/v1/parse", other).json()) == [("f", {"a": 2})]
    opened = {"text": "hm</think>yes", "prompt_tail": "assistant: <think>\n"}
    told = server.post("/v1/parse", opened).json()
    assert (told["reasoning_content"], told["content"]) == ("hm", "yes")


def test_a_text_is_parsed_in_sglangs_form(server: Server) -> None:
    body = {"text": "Now. " + "".join(OTHER), "tools": [F, G], "tool_call_parser": "hermes"}
    told = server.post("/parse_function_call", body).json()
    assert told == {"normal_text": "Now. ", "calls": [{"tool_index": 1, "name": "g", "parameters": "{}"}]}
    told = server.post("/separate_reasoning", {"text": "<think>hm</think>yes", "reasoning_parser": "qwen3"}).json()
    assert told == {"reasoning_text": "hm", "text": "yes"}


def test_parsing_is_refused_by_name(server: Server) -> None:
    for path, body, param in (
        ("/v1/parse", {}, "text"),
        ("/v1/parse", {"text": 3}, "text"),
        ("/v1/parse", {"text": "", "tool_call_parser": "wat"}, "tool_call_parser"),
        ("/v1/parse", {"text": "", "reasoning_parser": "wat"}, "reasoning_parser"),
        ("/v1/parse", {"text": "", "tool_call_parser": "hf"}, "tool_call_parser"),
        ("/v1/parse", {"text": "", "reasoning_parser": "response_template"}, "reasoning_parser"),
        ("/v1/parse", {"text": "", "tools": 3}, "tools"),
        ("/v1/parse", {"text": "", "tool_choice": "required"}, "tool_choice"),
        ("/parse_function_call", {"text": "", "tools": [F]}, "tool_call_parser"),
        ("/separate_reasoning", {"text": ""}, "reasoning_parser"),
    ):
        answer = server.post(path, body)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, param), (path, body, answer.text)


def test_capabilities_tell_of_parsers_and_grammars(server: Server, unheld: Server, bare: Server) -> None:
    told = server.client.get("/v1/capabilities").json()
    parsers, grammar = told["parsers"], told["grammar"]
    assert (parsers["tool_calls"], parsers["reasoning"]) == ("hermes", "qwen3")
    assert "--tool-call-parser hermes" in parsers["tool_calls_reason"]
    assert "--reasoning-parser qwen3" in parsers["reasoning_reason"]
    for names in parsers["known"].values():
        assert sorted({*names}) == names
        assert len(names) > 40
    assert grammar["backend"] == "llguidance"
    assert grammar["whitespace"]["policy"] == "bounded"
    assert grammar["numbers"]["largest"] == 2**53 - 1
    assert all(limit > 0 for limit in grammar["limits"].values())
    fields = {entry["name"]: entry for entry in told["fields"] if "chat" in entry["routes"]}
    assert fields["response_format"]["effect"] == "honoured"
    told = unheld.client.get("/v1/capabilities").json()
    assert (told["grammar"]["backend"], told["grammar"]["reason"]) == (None, "--grammar-backend none")
    told = bare.client.get("/v1/capabilities").json()
    assert (told["parsers"]["tool_calls"], told["parsers"]["reasoning"]) == (None, None)


# --- at the start ---


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--tool-call-parser", "wat"), ("wat", "hermes")),
        (("--reasoning-parser", "wat"), ("wat", "qwen3")),
        (("--grammar-backend", "wat"), ("wat", "llguidance")),
        (("--tool-call-parser", "minimax_m2"), ("minimax_m2", "<minimax:tool_call>", "auto")),
        (("--tool-call-parser", "kimi_k2"), ("kimi_k2", "<|tool_call", "auto")),
        (("--tool-call-parser", "openai"), ("openai", "<|", "auto")),
    ],
)
def test_a_parser_that_is_unknown_or_not_the_models_is_refused(
    tmp_path: Path, flags: tuple[str, ...], words: tuple[str, ...]
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"answers": [{"pieces": ["a"]}]}))
    command = [sys.executable, "-m", "overt", "serve", "demo", "--model-runner", "script", "--script", str(script)]
    ended = subprocess.run([*command, "--port", "0", *flags], capture_output=True, text=True, timeout=120, check=False)
    said = ended.stdout + ended.stderr
    assert ended.returncode not in (0, None), said
    assert all(word in said for word in words), said
    assert "Traceback" not in said
    assert "panicked" not in said
