"""Answers that the scripted model gives about calls, reasoning and constraints, and ways to ask for them."""

import json
from typing import Any

from serve.schema import check
from serve.scripted import CHAT, tool
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


def whole(server: Server, body: dict[str, Any]) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """The message, the reason of its end, the usage."""
    answer = server.post(CHAT, body)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    check("CreateChatCompletionResponse", document)
    (choice,) = document["choices"]
    return choice["message"], choice["finish_reason"], document["usage"]


def streamed(server: Server, body: dict[str, Any]) -> tuple[list[dict[str, Any]], str, dict[str, Any]]:
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


def told(server: Server, body: dict[str, Any]) -> str:
    """The effects of a request."""
    answer = server.post(CHAT, body)
    assert answer.status_code == 200, answer.text
    return answer.headers.get("overt-effects", "")


def refused(server: Server, body: dict[str, Any], param: str, *words: str) -> None:
    for stream in (False, True):
        answer = server.post(CHAT, body | {"stream": stream})
        assert answer.status_code == 400, (body, answer.text)
        error = answer.json()["error"]
        assert error["param"] == param, (body, error)
        assert all(word in error["message"] for word in words), error


def calls(message: dict[str, Any]) -> list[tuple[str, Any]]:
    return [
        (call["function"]["name"], json.loads(call["function"]["arguments"])) for call in message.get("tool_calls", ())
    ]


def reasoning(said: dict[str, Any]) -> str:
    told: list[str] = [said.get(name, "") for name in ("reasoning_content", "reasoning")]
    assert told[0] == told[1]
    return told[0]
