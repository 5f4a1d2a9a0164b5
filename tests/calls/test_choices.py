"""Who may call what, how calls are told, and what of it is refused."""

from typing import Any

import pytest

from calls.said import ANSWERS, CALL, CLOSED, INPUT, F, G, calls, reasoning, refused, streamed, told, whole
from serve.scripted import CHAT, ask, tool
from serve.server import Server

# --- how many calls ---


def test_an_answer_without_parallel_calls_ends_with_its_first(server: Server) -> None:
    body = ask("two", tools=[F, G])
    message, finish, usage = whole(server, body)
    assert (calls(message), finish) == ([("f", {"a": 1}), ("g", {})], "tool_calls")
    # White space between two calls is the format's.
    assert message["content"] == "Let me see.  Done."
    assert usage["completion_tokens"] == len(ANSWERS["two"]) + 1
    one = body | {"parallel_tool_calls": False}
    message, finish, usage = whole(server, one)
    assert (calls(message), finish, message["content"]) == ([("f", {"a": 1})], "tool_calls", "Let me see. ")
    # What was made before the model heard of the end is not counted: the prose, and the call's four tokens at most.
    assert 4 <= usage["completion_tokens"] <= 5
    deltas, finish, streamed_usage = streamed(server, one)
    assert (finish, streamed_usage["completion_tokens"]) == ("tool_calls", usage["completion_tokens"])
    assert "".join(delta.get("content", "") for delta in deltas) == "Let me see. "
    assert {part["index"] for delta in deltas for part in delta.get("tool_calls", ())} == {0}
    choices = server.post(CHAT, one | {"n": 3, "temperature": 1}).json()["choices"]
    assert [calls(choice["message"]) for choice in choices] == [[("f", {"a": 1})]] * 3
    assert "parallel_tool_calls" not in told(server, one)


def test_true_and_absent_parallel_calls_are_the_same(server: Server) -> None:
    body = ask("two", tools=[F, G])
    texts = [whole(server, body | more)[0] for more in ({}, {"parallel_tool_calls": True})]
    assert calls(texts[0]) == calls(texts[1])


# --- the older functions ---


def test_functions_are_answered_as_their_clients_read_it(server: Server) -> None:
    functions = [F["function"], G["function"]]
    for choice in ({}, {"function_call": "auto"}):
        message, finish, _ = whole(server, ask("two", functions=functions, **choice))
        assert message["function_call"] == {"name": "f", "arguments": '{"a": 1}'}
        assert "tool_calls" not in message
        assert finish == "function_call"
        deltas, finish, _ = streamed(server, ask("two", functions=functions, **choice))
        parts = [delta["function_call"] for delta in deltas if "function_call" in delta]
        assert parts[0]["name"] == "f"
        assert all(set(part) == {"arguments"} for part in parts[1:])
        assert "".join(part["arguments"] for part in parts) == '{"a": 1}'
        assert finish == "function_call"
    message, finish, _ = whole(server, ask("call", functions=functions, function_call={"name": "f"}))
    # As a named choice of tools.
    assert (message["function_call"]["name"], finish) == ("f", "stop")
    message, finish, _ = whole(server, ask("call", functions=functions, function_call="none"))
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
    refused(server, ask("call", functions=[function], tools=[F]), "functions", "tools")
    refused(server, ask("call", functions=[{"parameters": {}}]), "functions[0].name")
    refused(server, ask("call", functions=[function], function_call={"name": "h"}), "function_call")
    refused(server, ask("call", function_call={"name": "f"}), "function_call", "functions")
    for wrong in ("required", {"type": "function"}, 3):
        refused(server, ask("call", functions=[function], function_call=wrong), "function_call")


# --- custom tools ---


def _custom(**custom: Any) -> dict[str, Any]:
    return {"type": "custom", "custom": {"name": "run"} | custom}


def _regex(definition: str) -> dict[str, Any]:
    return {"type": "grammar", "grammar": {"syntax": "regex", "definition": definition}}


@pytest.mark.parametrize("format_", [None, {"type": "text"}, _regex('ls( "-l")?(.|\n)*')])
def test_custom_tools_are_called_with_a_text(server: Server, format_: Any) -> None:
    body = ask("run", tools=[_custom(description="Runs it.", format=format_), F])
    message, finish, _ = whole(server, body)
    (call,) = message["tool_calls"]
    assert call == {"id": call["id"], "type": "custom", "custom": {"name": "run", "input": INPUT}}
    assert finish == "tool_calls"
    deltas, finish, _ = streamed(server, body)
    first, *rest = [part for delta in deltas for part in delta["tool_calls"]]
    assert first == {"index": 0, "id": first["id"], "type": "custom", "custom": {"name": "run", "input": ""}}
    assert all(set(part) == {"index", "custom"} and set(part["custom"]) == {"input"} for part in rest)
    assert "".join(part["custom"]["input"] for part in rest) == INPUT
    assert len(rest) > 1, "it comes as it is made"
    assert finish == "tool_calls"
    named = body | {"tool_choice": {"type": "custom", "custom": {"name": "run"}}}
    message, finish, _ = whole(server, named)
    assert (message["tool_calls"][0]["custom"]["input"], finish) == (INPUT, "stop")


def test_a_custom_tool_is_held_to_its_pattern(server: Server) -> None:
    for choice in ("auto", "required"):
        message, finish, _ = whole(server, ask("run", tools=[_custom(format=_regex("rm"))], tool_choice=choice))
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
    refused(server, ask("run", tools=[_custom(format=lark)]), "tools[0].custom.format", "regex")
    refused(server, ask("run", tools=[F, _custom(format={"type": "wat"})]), "tools[1].custom.format.type")
    refused(server, ask("run", tools=[{"type": "custom", "custom": {}}]), "tools[0].custom.name")
    refused(server, ask("run", tools=[{"type": "custom"}]), "tools[0].custom.name")
    broken = _custom(format=_regex("(["))
    answer = server.post(CHAT, ask("run", tools=[broken], tool_choice="required"))
    assert answer.status_code == 400
    assert answer.json()["error"]["param"].startswith("tools[0].custom.format")


# --- the choice among tools ---


def allowed(*names: str, mode: str = "auto") -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


def test_none_reads_no_call_and_shows_no_tools(server: Server) -> None:
    body = ask("call", tools=[F], tool_choice="none")
    message, finish, _ = whole(server, body)
    assert (message["content"], finish) == ("".join(CALL), "stop")
    assert "tool_calls" not in message
    deltas, finish, _ = streamed(server, body)
    assert ("".join(delta["content"] for delta in deltas), finish) == ("".join(CALL), "stop")
    shown = server.post(CHAT + "/render", body).json()["prompt_text"]
    assert shown == server.post(CHAT + "/render", ask("call")).json()["prompt_text"]


def test_how_an_answer_ends_depends_on_what_was_asked(server: Server) -> None:
    named = {"type": "function", "function": {"name": "f"}}
    for choice, wanted in (("auto", "tool_calls"), ("required", "tool_calls"), (named, "stop")):
        body = ask("call", tools=[F, G], tool_choice=choice)
        message, finish, _ = whole(server, body)
        assert (calls(message), message["content"], finish) == ([("f", {"a": 1})], None, wanted)
        deltas, finish, _ = streamed(server, body)
        assert finish == wanted
        assert all("content" not in delta for delta in deltas)
    cut = ask("call", tools=[F, G], max_tokens=3)
    assert whole(server, cut)[1] == streamed(server, cut)[1] == "length"


def test_thinking_comes_before_a_forced_call(server: Server) -> None:
    message, finish, _ = whole(server, ask("thought and call", tools=[F], tool_choice="required"))
    assert (reasoning(message), calls(message), finish) == ("hm", [("f", {"a": 1})], "tool_calls")


def test_allowed_tools_are_those_that_may_be_called(server: Server) -> None:
    for mode in ("auto", "required"):
        message, finish, _ = whole(server, ask("call", tools=[F, G], tool_choice=allowed("f", mode=mode)))
        assert (calls(message), finish) == ([("f", {"a": 1})], "tool_calls")
        strict = tool("g", CLOSED, strict=True)
        message, finish, _ = whole(server, ask("call", tools=[F, strict], tool_choice=allowed("g", mode=mode)))
        assert (calls(message), finish) == ([("g", {})], "tool_calls"), mode
    # The template shows all of them: the prompt stays what it was, and with it the cache.
    shown = server.post(CHAT + "/render", ask("call", tools=[F, G], tool_choice=allowed("f"))).json()["prompt_text"]
    assert '"name": "g"' in shown


def test_choices_are_refused_by_name(server: Server) -> None:
    named = {"type": "function", "function": {"name": "f"}}
    for choice in ("required", named, allowed("f"), allowed("f", mode="required")):
        for tools in ({}, {"tools": []}, {"tools": None}):
            refused(server, ask("call", tool_choice=choice, **tools), "tool_choice", "tools")
    for choice in ("wat", {"type": "wat"}, {}, 7, [], {"type": "function"}, {"type": "function", "function": {}}):
        refused(server, ask("call", tools=[F], tool_choice=choice), "tool_choice")
    unknown = {"type": "function", "function": {"name": "h"}}
    refused(server, ask("call", tools=[F], tool_choice=unknown), "tool_choice", "not in `tools`")
    refused(server, ask("call", tools=[F], tool_choice=allowed("f", "h")), "tool_choice", "not in `tools`")
    flat = {"type": "function", "name": "f"}
    refused(server, ask("call", tools=[F], tool_choice=flat), "tool_choice")
    for entry in (flat, {"type": [1], "function": {"name": "f"}}, {"type": {}}, 3):
        listed = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [entry]}}
        refused(server, ask("call", tools=[F], tool_choice=listed), "tool_choice")
    refused(server, ask("call", tools=[{"type": [1]}], tool_choice=named), "tool_choice", "not in `tools`")
    for wrong in (allowed(), allowed("f", mode="wat")):
        refused(server, ask("call", tools=[F], tool_choice=wrong), "tool_choice.allowed_tools")


def test_tools_are_refused_by_path(server: Server) -> None:
    for wrong, path in (
        ({"type": "function"}, "tools[1].function.name"),
        ({"type": "function", "function": {"parameters": {}}}, "tools[1].function.name"),
        ({"type": "function", "function": {"name": ""}}, "tools[1].function.name"),
        ({"type": "function", "function": {"name": 3}}, "tools[1].function.name"),
        ({"type": "web_search"}, "tools[1].type"),
        ({"type": 3}, "tools[1].type"),
    ):
        refused(server, ask("call", tools=[F, wrong]), path)


def test_a_call_cannot_be_forced_where_none_is_read(bare: Server) -> None:
    for choice in ("required", {"type": "function", "function": {"name": "f"}}):
        refused(bare, ask("call", tools=[F], tool_choice=choice), "tool_choice", "--tool-call-parser")
    message, finish, _ = whole(bare, ask("call", tools=[F]))
    assert (message["content"], finish) == ("".join(CALL), "stop")
    assert '"tools";e=adapted' in told(bare, ask("call", tools=[F]))


def test_a_call_is_only_asked_for_where_nothing_is_held(unheld: Server) -> None:
    body = ask("words", tools=[F], tool_choice="required")
    assert '"tool_choice";e=adapted' in told(unheld, body)
    message, finish, _ = whole(unheld, body)
    assert (message["content"], finish) == ("plain words", "stop")
    strict = tool("f", strict=True)
    assert '"tools[0].function.strict";e=inert' in told(unheld, ask("words", tools=[strict]))
    pattern = {"type": "grammar", "grammar": {"syntax": "regex", "definition": "a+"}}
    custom = {"type": "custom", "custom": {"name": "c", "format": pattern}}
    assert '"tools[0].custom.format";e=inert' in told(unheld, ask("words", tools=[custom]))
    older = {"name": "f", "parameters": {"type": "object"}, "strict": True}
    assert '"functions[0].strict";e=inert' in told(unheld, ask("words", functions=[older]))
    assert '"tool_choice";e=inert' in told(unheld, ask("words", tools=[F, G], tool_choice=allowed("f")))
