"""The calls of an answer: which tools, how many, and in which field."""

import json
from typing import Any

from contract.proofs.prompt import CHAT_TEXT, rendered
from contract.proofs.registry import proof
from contract.proofs.servers import CALL
from contract.proofs.talk import ABSENT, Answer
from contract.proofs.trial import Trial
from overt.contract.field import CHAT, TEMPLATE

ROOM: dict[str, Any] = {"max_tokens": 100}
"""For the demo model, which may think before a call."""


def function(name: str, **more: Any) -> dict[str, Any]:
    """A function of one small number."""
    x = {"type": "object", "properties": {"x": {"enum": [1, 2]}}, "required": ["x"], "additionalProperties": False}
    return {"name": name, "parameters": x, **more}


def tool(name: str, **more: Any) -> dict[str, Any]:
    """The same as a tool."""
    return {"type": "function", "function": function(name, **more)}


TOOLS = [tool("f"), tool("g")]
CALLED: dict[str, Any] = {"prompt": "<call>", "max_tokens": 20}
"""Answered by the script with a call of `f`."""


def named(name: str) -> dict[str, Any]:
    """A choice of one tool."""
    return {"type": "function", "function": {"name": name}}


def limited(mode: str, *names: str) -> dict[str, Any]:
    """A choice of some tools."""
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [named(name) for name in names]}}


def calls(answer: Answer) -> list[tuple[str, dict[str, Any]]]:
    """Names and arguments."""
    told = answer.choice["message"].get("tool_calls") or []
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in told]


@proof(TEMPLATE, "tool_choice")
def tool_choice(trial: Trial) -> None:
    for value in (ABSENT, "auto", "required", named("f"), limited("auto", "g")):
        shown = rendered(trial, value, "scripted", tools=TOOLS)
        assert shown.startswith("Tools: ") == (value is not None)
        assert shown.endswith(CHAT_TEXT)
    assert rendered(trial, "none", "scripted", tools=TOOLS) == CHAT_TEXT
    message: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]} if trial.route == "tokenize" else {}
    for wrong in ("sometimes", {"type": "zzz"}, named("h"), limited("required", "h"), limited("never", "f"), 1):
        refusal = trial.ask(wrong, "scripted", tools=TOOLS, **message)
        assert refusal.status == 400
        assert refusal.error["param"].startswith("tool_choice")
    trial.ask("required", "scripted", **message).refuses("tool_choice")
    if trial.route == "chat":
        _forced(trial)


def _forced(trial: Trial) -> None:
    assert trial.ask("auto", "scripted", tools=TOOLS, **CALLED).finish == "tool_calls"
    hidden = trial.ask("none", "scripted", tools=TOOLS, **CALLED)
    assert (hidden.text, hidden.finish) == (CALL, "stop")
    # The model's own logits, held to a call.
    for value in (ABSENT, "auto", limited("auto", "f")):
        assert calls(trial.ask(value, "demo", tools=TOOLS, **ROOM)) == []
    required = trial.ask("required", "demo", tools=TOOLS, **ROOM, parallel_tool_calls=False)
    assert required.finish == "tool_calls"
    ((name, arguments),) = calls(required)
    assert (name in ("f", "g"), arguments in ({"x": 1}, {"x": 2})) == (True, True)
    for name in ("f", "g"):
        answer = trial.ask(named(name), "demo", tools=TOOLS, **ROOM)
        assert [called for called, _ in calls(answer)] == [name]
        assert (answer.finish, answer.choice["message"]["content"]) == ("stop", None)
        some = trial.ask(limited("required", name), "demo", tools=TOOLS, **ROOM, parallel_tool_calls=False)
        assert [called for called, _ in calls(some)] == [name]
        assert some.finish == "tool_calls"
    # Nobody knows how this model writes a call.
    trial.ask("required", tools=TOOLS).refuses("tool_choice")


@proof(CHAT, "parallel_tool_calls")
def parallel_tool_calls(trial: Trial) -> None:
    rest: dict[str, Any] = {"prompt": "<calls>", "max_tokens": 20, "tools": TOOLS}
    for value in (ABSENT, True):
        both = trial.ask(value, "scripted", **rest)
        assert [name for name, _ in calls(both)] == ["f", "g"]
        assert both.made > 3
    one = trial.ask(False, "scripted", **rest)
    assert calls(one) == [("f", {"x": 1})]
    assert (one.finish, one.effects) == ("tool_calls", {})
    chunks = trial.ask(False, "scripted", stream=True, **rest).chunks
    started = [call["index"] for chunk in chunks for call in chunk["choices"][0]["delta"].get("tool_calls") or []]
    assert set(started) == {0}
    alone = trial.ask(False, "scripted", prompt="<words>")
    assert alone.effects == {"parallel_tool_calls": {"e": "inert"}}


@proof(CHAT, "functions")
def functions(trial: Trial) -> None:
    assert trial.ask(ABSENT, "scripted", **CALLED).text == CALL
    answer = trial.ask([function("f")], "scripted", **CALLED)
    message = answer.choice["message"]
    assert message["function_call"] == {"name": "f", "arguments": '{"x": 1}'}
    assert (message["content"], answer.finish, "tool_calls" in message) == (None, "function_call", False)
    shown = rendered(trial, [function("f")], "scripted")
    assert json.loads(shown.removeprefix("Tools: ").partition("\n")[0]) == [tool("f")]
    assert rendered(trial, ABSENT, "scripted") == rendered(trial, [], "scripted") == CHAT_TEXT
    deltas = [
        chunk["choices"][0]["delta"] for chunk in trial.ask([function("f")], "scripted", stream=True, **CALLED).chunks
    ]
    told = [delta["function_call"] for delta in deltas if "function_call" in delta]
    assert "".join(part.get("name") or "" for part in told) == "f"
    assert "".join(part.get("arguments") or "" for part in told) == '{"x": 1}'
    trial.ask([{}], "scripted").refuses("functions[0].name")
    trial.ask([function("f")], "scripted", tools=TOOLS).refuses("functions")


@proof(CHAT, "function_call")
def function_call(trial: Trial) -> None:
    rest: dict[str, Any] = {"functions": [function("f"), function("g")]}
    for value in (ABSENT, "auto"):
        assert trial.ask(value, "scripted", **rest, **CALLED).finish == "function_call"
        assert "function_call" not in trial.ask(value, "demo", **rest, **ROOM).choice["message"]
    hidden = trial.ask("none", "scripted", **rest, **CALLED)
    assert (hidden.text, hidden.finish) == (CALL, "stop")
    for name in ("f", "g"):
        answer = trial.ask({"name": name}, "demo", **rest, **ROOM)
        assert answer.choice["message"]["function_call"]["name"] == name
        assert answer.finish == "stop"
    trial.ask({"name": "h"}, "scripted", **rest).refuses("function_call")
    trial.ask({"name": "f"}, "scripted").refuses("function_call")
    trial.ask("often", "scripted", **rest).refuses("function_call")
    trial.ask("auto", "scripted", **rest, tool_choice="auto").refuses("function_call")
