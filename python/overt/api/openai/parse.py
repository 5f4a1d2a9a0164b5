"""POST /v1/parse: the parsers run over a given text, for people who debug a model; and SGLang's two routes for it."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI

from overt.api.hot import Call, add_hot_route
from overt.api.openai.plain import Reader, Work, answer
from overt.contract.asked import Asked
from overt.contract.calls import allowed, check_choice
from overt.contract.effects import Effect
from overt.contract.errors import ApiError
from overt.contract.fields import by_name
from overt.parsers import Event, Parser

Form = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]
"""The answer from what was read and the request's body."""


def _read(call: Call, body: dict[str, Any], form: Form) -> Work:
    _check_tools(body["tools"] or [])
    check_choice(body)
    choice, tools = allowed(body["tool_choice"] or "auto", body["tools"] or [])
    deployment = call.overt.deployment
    tool_parser = _named(body, "tool_call_parser", deployment.parser)
    reasoning_parser = _named(body, "reasoning_parser", deployment.reasoning_parser)
    front = call.overt.front

    def work() -> tuple[dict[str, Any], list[Any]]:
        parser = Parser(
            tool_parser,
            reasoning_parser,
            tools=tools,
            tool_choice=choice,
            prompt_tail=body["prompt_tail"] or "",
        )
        events: list[Event] = []
        for piece, special in front.pieces(body["text"]):
            events += parser.push(piece, special)
        events += parser.finish()
        told = _gather(events) | {"tool_call_parser": tool_parser, "reasoning_parser": reasoning_parser}
        return form(told, body), []

    return work


def _check_tools(tools: list[dict[str, Any]]) -> None:
    for index, tool in enumerate(tools):
        if tool.get("type", "function") != "function":
            raise ApiError(
                400,
                f'`tools[{index}].type` must be "function": such tools are read here.',
                param=f"tools[{index}].type",
            )
        function = tool.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str) or not name:
            path = f"tools[{index}].function.name"
            raise ApiError(400, f"`{path}` must be a non-empty string.", param=path)


def _named(body: dict[str, Any], field: str, default: str | None) -> str | None:
    """The parser that the request names, or the server's."""
    name: str | None = body[field]
    if name not in (None, "auto"):
        return None if name == "none" else name
    if default is not None and default not in by_name("parse")[field].choices:
        reason = f"this server's own, {default}, is declared by its checkpoint and known to it alone"
        raise ApiError(400, f"`{field}` must name a format: {reason}.", param=field)
    return default


def _gather(events: list[Event]) -> dict[str, Any]:
    calls: list[dict[str, Any]] = []
    said: dict[str, str] = {"content": "", "reasoning": ""}
    order: list[dict[str, Any]] = []
    for event in events:
        match event.kind:
            case "content" | "reasoning":
                said[event.kind] += event.text
            case "call_start":
                function = {"name": event.name, "arguments": ""}
                calls.append({"id": event.id, "type": "function", "function": function})
            case "call_arguments":
                calls[-1]["function"]["arguments"] += event.text
        members = {"index": event.index, "id": event.id, "name": event.name, "text": event.text or None}
        order.append({"kind": event.kind} | {name: value for name, value in members.items() if value is not None})
    return {
        "content": said["content"] or None,
        "reasoning_content": said["reasoning"] or None,
        "tool_calls": calls,
        "events": order,
    }


def _whole(told: dict[str, Any], _: dict[str, Any]) -> dict[str, Any]:
    return told


def _function_call(told: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    names = [tool["function"]["name"] for tool in body["tools"] or []]
    calls = [call["function"] for call in told["tool_calls"]]
    return {
        "normal_text": told["content"] or "",
        "calls": [
            {
                "tool_index": names.index(call["name"]) if call["name"] in names else -1,
                "name": call["name"],
                "parameters": call["arguments"],
            }
            for call in calls
        ],
    }


def _reasoning(told: dict[str, Any], _: dict[str, Any]) -> dict[str, Any]:
    return {"reasoning_text": told["reasoning_content"] or "", "text": told["content"] or ""}


def _reader(form: Form, needs: str | None = None) -> Reader:
    def read(call: Call, _: bytes, body: dict[str, Any], __: Asked, ___: list[Effect]) -> Work:
        if needs is not None and body[needs] is None:
            raise ApiError(400, f"`{needs}` is required here: the name of a format.", param=needs)
        return _read(call, body, form)

    return read


async def parse(call: Call) -> int:
    """Reasoning, text and calls of a text, and the events in their order."""
    return await answer(call, "parse", _reader(_whole))


async def parse_function_call(call: Call) -> int:
    """SGLang's form: the calls of a text."""
    return await answer(call, "parse", _reader(_function_call, "tool_call_parser"))


async def separate_reasoning(call: Call) -> int:
    """SGLang's form: the reasoning of a text."""
    return await answer(call, "parse", _reader(_reasoning, "reasoning_parser"))


def mount(app: FastAPI) -> None:
    """Adds the routes."""
    add_hot_route(app, "/v1/parse", parse, "parse", summary="Reasoning, text and tool calls of a text")
    for path, route, summary in (
        ("/parse_function_call", parse_function_call, "Tool calls of a text, in SGLang's form"),
        ("/separate_reasoning", separate_reasoning, "Reasoning of a text, in SGLang's form"),
    ):
        add_hot_route(app, path, route, "parse", summary=summary)
