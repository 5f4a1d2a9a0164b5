"""Server-sent events: frames, usage, errors after and before the headers, clients that are slow or leave."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import httpx
import openai
import pytest

from cases.corpus import Case, on
from cases.servers import asks
from cases.talk import CHAT, Answer, both, refused, still_serves, streamed, whole
from serve.server import Server

STARTED = "overt:time_to_first_token_seconds_count"
"""Counts requests that got a token."""


def told(case: Case, cut: str = "as_given") -> dict[str, Any]:
    """The case's request with the words that the scripted server knows it by."""
    body = case.body
    if "prompt" in body:
        body["prompt"] += asks(case.id, cut)
    else:
        body["messages"][-1]["content"] += asks(case.id, cut)
    return body


@on("scripted", "sse-usage-only-on-request")
def _usage_only_on_request(server: Server, case: Case) -> None:
    frames = server.frames(CHAT, told(case))
    assert frames[-1] == "[DONE]"
    chunks = [json.loads(frame) for frame in frames[:-1]]
    assert all(len(chunk["choices"]) == 1 for chunk in chunks)
    assert not any(chunk.get("usage") for chunk in chunks)
    assert streamed(server, CHAT, told(case)).choices[0].text == "Hello there"


@on("scripted", "sse-usage-chunk")
def _usage_chunk(server: Server, case: Case) -> None:
    chunks = server.chunks(CHAT, told(case))
    assert [bool(chunk["usage"]) for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert [len(chunk["choices"]) for chunk in chunks] == [1] * (len(chunks) - 1) + [0]
    usage = both(server, CHAT, told(case)).usage
    assert usage is not None
    assert usage["completion_tokens"] in (3, 4)
    assert usage["prompt_tokens"] > 3
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert chunks[-1]["usage"]["total_tokens"] == usage["total_tokens"]


@on("scripted", "sse-no-null-tool-calls")
def _no_null_tool_calls(server: Server, case: Case) -> None:
    answer = both(server, CHAT, told(case))
    assert answer.choices[0].text == "Hello there"
    for document in answer.raw:
        for choice in document["choices"]:
            assert not {"tool_calls", "function_call"} & set(choice.get("message") or choice["delta"])


@on("scripted", "sse-mid-stream-error")
def _mid_stream_error(server: Server, case: Case) -> None:
    *chunks, last, done = server.frames(CHAT, told(case))
    assert done == "[DONE]"
    error = json.loads(last)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["param"] is None
    assert error["type"] == "server_error"
    assert not any(word in error["message"] for word in ("Error", "Traceback", ".py", "/", "scripted", "overt."))
    choices = [json.loads(chunk)["choices"][0] for chunk in chunks]
    assert "".join(choice["delta"]["content"] for choice in choices) == "Hel"
    assert not any(choice["finish_reason"] for choice in choices)
    body = told(case)
    received: list[str] = []
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        stream = client.chat.completions.create(model="demo", messages=body["messages"], stream=True)
        with pytest.raises(openai.APIError) as raised:
            received.extend(chunk.choices[0].delta.content or "" for chunk in stream)
    assert error["message"] in str(raised.value)
    assert "".join(received) == "Hel"
    still_serves(server)


@on("scripted", "sse-validation-before-headers", "sse-schema-error-before-headers")
def _refused_before_headers(server: Server, case: Case) -> None:
    body = told(case)
    param = "response_format" if "response_format" in body else "tool_choice"
    refused(server, case.path, body, param=param, status=case.expected["status"])
    still_serves(server)


@on("scripted", "sse-finish-chunk")
def _finish_chunk(server: Server, case: Case) -> None:
    for cut in ("as_given", "per_char", "all_in_one"):
        # Every stream is held to one finish chunk a choice, its last, that adds nothing.
        (choice,) = both(server, CHAT, told(case, cut)).choices
        assert choice.finish == "tool_calls"
        (call,) = choice.calls
        assert (call["name"], json.loads(call["arguments"])) == ("get_weather", {"city": "A"})
        assert choice.text == ""


@on("scripted", "sse-n3-completion")
def _three_choices(server: Server, case: Case) -> None:
    # The second choice is still at it when its tokens are used up.
    steps = len(case.input["engine_script"])
    answer: Answer = both(server, CHAT, told(case) | {"max_tokens": steps})
    for index, wanted in case.expected["by_choice"].items():
        choice = answer.choices[int(index)]
        assert (choice.text, choice.finish) == (wanted["content"], wanted["finish_reason"]), index
    one, *chunks = answer.raw
    assert sum(chunk["choices"] != [] and "role" in chunk["choices"][0]["delta"] for chunk in chunks) == 3
    single = whole(server, CHAT, told(case) | {"n": 1}).usage
    assert single is not None
    assert one["usage"]["prompt_tokens"] == single["prompt_tokens"]
    # The tokens that end the first and the third choice may count or not.
    assert one["usage"]["completion_tokens"] - (3 + steps + 6) in (0, 2)


# --- clients ---


def request_bytes(path: str, body: dict[str, Any]) -> bytes:
    """A POST as it goes over the wire."""
    raw = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}\r\n\r\n"
    return head.encode() + raw


def connected(server: Server, receive_buffer: int | None = None) -> socket.socket:
    """A bare connection."""
    client = socket.socket()
    if receive_buffer is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.settimeout(60)
    client.connect(("127.0.0.1", server.port))
    return client


def _byte_by_byte(client: socket.socket) -> Iterator[bytes]:
    while byte := client.recv(1):
        yield byte


@on("scripted", "sse-one-byte-client")
def _one_byte_client(server: Server, case: Case) -> None:
    with closing(connected(server, 8192)) as client:
        client.sendall(request_bytes(CHAT, told(case)))
        assert client.recv(1) == b"H"
        # Nobody waits for the reader: the same text, read by others meanwhile.
        for _ in range(3):
            assert streamed(server, CHAT, told(case)).choices[0].text == case.expected["content"]
        received = bytearray(b"H")
        for byte in _byte_by_byte(client):
            received += byte
            if received.endswith(b"0\r\n\r\n"):
                break
    events = _unchunked(bytes(received).partition(b"\r\n\r\n")[2]).decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    deltas = [json.loads(event.removeprefix("data: "))["choices"][0]["delta"] for event in events[:-2]]
    assert "".join(delta.get("content", "") for delta in deltas) == case.expected["content"]


def _unchunked(body: bytes) -> bytes:
    """A body without HTTP/1.1's chunk framing."""
    parts = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        parts.append(rest[:length])
        assert rest[length : length + 2] == b"\r\n"
        body = rest[length + 2 :]
    return b"".join(parts)


@on("slow", "sse-disconnect-aborts-stream")
def _disconnect_stream(server: Server, case: Case) -> None:
    before = server.wait_idle()
    with closing(connected(server)) as client:
        client.sendall(request_bytes(case.path, case.body))
        while b"content" not in client.recv(4096):
            pass
    _holds_aborted(server, case, before, 1)


@on("slow", "sse-disconnect-aborts-nonstream")
def _disconnect_whole(server: Server, case: Case) -> None:
    before = server.wait_idle()
    with suppress(httpx.ReadTimeout):
        httpx.post(server.url + case.path, json=case.body, timeout=0.2)
    _holds_aborted(server, case, before, 1)
    # A second one waits for the only row while the first runs, and never gets it.
    before = server.wait_idle()
    with closing(connected(server)) as first, closing(connected(server)) as second:
        first.sendall(request_bytes(case.path, case.body))
        _wait_for(server, "overt:requests_running", 1)
        _wait_for(server, STARTED, before[STARTED] + 1)
        second.sendall(request_bytes(case.path, case.body))
        _wait_for(server, "overt:requests_waiting", 1)
        second.close()
        _wait_for(server, "overt:requests_waiting", 0)
        assert server.metrics()["overt:requests_running"] == 1, "the other one ended with it"
    _holds_aborted(server, case, before, 2)
    assert server.metrics()[STARTED] == before[STARTED] + 1, "what had been queued was started"


def _wait_for(server: Server, name: str, value: float) -> None:
    deadline = time.monotonic() + 10
    while server.metrics()[name] != value:
        assert time.monotonic() < deadline, (name, value)
        time.sleep(0.02)


def _holds_aborted(server: Server, case: Case, before: dict[str, float], count: int) -> None:
    """Everything is freed long before the story would end, and what ended counts as aborted, not as answered."""
    after = server.wait_idle(10)
    for name in ("overt:requests_running", "overt:requests_waiting", "overt:kv_blocks_used"):
        assert after[name] == 0, name
    made = after["overt:generation_tokens_total"] - before["overt:generation_tokens_total"]
    assert made < 1000, "the story was told to its end"
    name = "overt:requests_aborted_total"
    assert after[name] - before[name] == count
    assert f'overt:http_answers_total{{route="{case.path}",status="200"}}' not in server.client.get("/metrics").text
