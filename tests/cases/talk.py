"""Asks a server, and holds every answer against what all answers have to be."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx

from serve.schema import check, check_streamed_completion
from serve.server import Server

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"


@dataclass
class Choice:
    """One choice, whole or joined from its fragments."""

    text: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    """`name` and `arguments`."""
    finish: str | None = None
    stop_reason: Any = None
    reasoning: str = ""
    ids: list[str] = field(default_factory=list, compare=False)
    """Of its calls; they differ from request to request."""
    fragments: list[list[str]] = field(default_factory=list, compare=False)
    """By call the pieces in which its arguments came; of streams."""


@dataclass
class Answer:
    """An answer, whole or joined from a stream."""

    choices: list[Choice]
    usage: dict[str, Any] | None
    raw: list[dict[str, Any]]
    """The one body, or the chunks."""


def refused(server: Server, path: str, body: Any, *words: str, param: str | None = None, status: int = 400) -> None:
    """Holds that the request is refused before anything is sent, in OpenAI's shape, with these words."""
    raw = body if isinstance(body, (str, bytes)) else json.dumps(body)
    answer = server.client.post(path, content=raw, headers={"content-type": "application/json"})
    told = (str(raw)[:300], answer.status_code, answer.text[:500])
    assert answer.status_code == status, told
    assert answer.headers["content-type"] == "application/json", told
    error = strict_json(answer.text)["error"]
    assert set(error) == {"message", "type", "param", "code"}, told
    assert all(word in error["message"] for word in words), told
    if param is not None:
        assert (error["param"] or "").partition(".")[0].partition("[")[0] == param, told


def strict_json(text: str) -> Any:
    """Parses JSON as its standard has it: without NaN and infinities."""

    def no(word: str) -> None:
        raise AssertionError(f"{word} is no JSON: {text[:300]}")

    return json.loads(text, parse_constant=no)


def still_serves(server: Server) -> None:
    """A following normal request answers 200."""
    body = {"messages": [{"role": "user", "content": "And now?"}], "max_tokens": 2}
    answer = server.post(CHAT, body)
    assert answer.status_code == 200, answer.text
    assert server.client.get("/health").status_code == 200


def accepted(server: Server, path: str, body: dict[str, Any]) -> httpx.Response:
    """The response, which is 200."""
    answer = server.post(path, body)
    assert answer.status_code == 200, (str(body)[:300], answer.status_code, answer.text[:500])
    return answer


def whole(server: Server, path: str, body: dict[str, Any]) -> Answer:
    """The answer in one body."""
    body = {name: value for name, value in body.items() if name != "stream_options"} | {"stream": False}
    document = strict_json(accepted(server, path, body).text)
    check("CreateChatCompletionResponse" if path == CHAT else "CreateCompletionResponse", document)
    choices = []
    for number, choice in enumerate(document["choices"]):
        assert choice["index"] == number
        message = choice.get("message", {"content": choice.get("text"), "role": "assistant"})
        assert message["role"] == "assistant"
        told = message.get("tool_calls", ())
        assert all(set(call) == {"id", "type", "function"} and call["type"] == "function" for call in told)
        calls = [call["function"] for call in told]
        assert all(set(call) == {"name", "arguments"} for call in calls)
        assert message["content"] is not None or told or _reasoning(message), "an empty answer has a text"
        finish, ids = choice["finish_reason"], [call["id"] for call in told]
        choices.append(
            Choice(message["content"] or "", calls, finish, choice.get("stop_reason"), _reasoning(message), ids)
        )
    return Answer(choices, document["usage"], [document])


def streamed(server: Server, path: str, body: dict[str, Any]) -> Answer:
    """The answer joined from its stream, every chunk of which is what OpenAI would send at its place."""
    chunks = server.chunks(path, {**body, "stream": True})
    wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    assert len({(chunk["id"], chunk["created"], chunk["model"], chunk["object"]) for chunk in chunks}) == 1
    usage = None
    if wants_usage:
        *chunks_of_choices, last = chunks
        assert last["choices"] == []
        usage = last["usage"]
        assert all(chunk.get("usage") is None for chunk in chunks_of_choices)
    else:
        chunks_of_choices = chunks
        assert not any(chunk.get("usage") for chunk in chunks)
    found: dict[int, Choice] = {}
    for chunk in chunks:
        (check if path == CHAT else _check_completion)("CreateChatCompletionStreamResponse", chunk)
    for chunk in chunks_of_choices:
        (choice,) = chunk["choices"]
        _take(found, choice, path)
    assert all(choice.finish for choice in found.values())
    return Answer([found[index] for index in range(len(found))], usage, chunks)


def _check_completion(_: str, chunk: dict[str, Any]) -> None:
    check_streamed_completion(chunk)


def _take(found: dict[int, Choice], choice: dict[str, Any], path: str) -> None:
    """Joins one fragment to its choice."""
    index = choice["index"]
    new = index not in found
    mine = found.setdefault(index, Choice())
    assert mine.finish is None, "a chunk after the choice's last"
    mine.finish = choice["finish_reason"]
    mine.stop_reason = choice.get("stop_reason")
    if path != CHAT:
        mine.text += choice["text"]
        return
    delta = choice["delta"]
    if new:
        assert delta == {"role": "assistant", "content": ""}
    else:
        assert "role" not in delta
    if mine.finish is not None:
        assert delta in ({}, {"content": ""})
    mine.text += delta.get("content") or ""
    mine.reasoning += _reasoning(delta)
    for fragment in delta.get("tool_calls", ()):
        function = fragment["function"]
        if fragment["index"] == len(mine.calls):
            assert fragment["id"]
            assert fragment["type"] == "function"
            assert function["name"]
            mine.ids.append(fragment["id"])
            mine.calls.append({"name": function["name"], "arguments": ""})
            mine.fragments.append([])
        else:
            assert set(fragment) == {"index", "function"}, "id, type and name come once"
            assert set(function) == {"arguments"}
        assert fragment["index"] == len(mine.calls) - 1, "an earlier call goes on"
        mine.calls[-1]["arguments"] += function.get("arguments") or ""
        if function.get("arguments"):
            mine.fragments[-1].append(function["arguments"])


def _reasoning(said: dict[str, Any]) -> str:
    """The reasoning of a message or a delta, which stands under two names."""
    text: str = said.get("reasoning_content") or ""
    assert (said.get("reasoning") or "") == text
    return text


def both(server: Server, path: str, body: dict[str, Any]) -> Answer:
    """The whole answer, which the stream's joined fragments equal; `raw` holds its body and then the chunks."""
    one = whole(server, path, body)
    joined = streamed(server, path, body | {"stream_options": {"include_usage": True}})
    assert joined.choices == one.choices, (joined.choices, one.choices)
    assert joined.usage is not None
    assert one.usage is not None
    counts = ("prompt_tokens", "completion_tokens", "total_tokens", "completion_tokens_details")
    assert [joined.usage.get(name) for name in counts] == [one.usage.get(name) for name in counts]
    return Answer(one.choices, one.usage, one.raw + joined.raw)
