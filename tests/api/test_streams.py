"""Streams and whole answers over real connections."""

import json
import socket
import time

import pytest
import uvicorn.protocols.http.httptools_impl as plain

from api.fake import Running, Submitted, post, read_all, read_until, running, split, unchunked, until

CHAT = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}
STREAM = CHAT | {"stream": True}
PATH = "/v1/chat/completions"


def three_frames(request: Submitted) -> None:
    request.frame("a", status=200)
    request.frame("b")
    request.frame("[DONE]", ended=True)


def test_a_stream_has_its_headers_and_every_frame() -> None:
    with running() as server:
        server.front.respond = three_frames
        status, headers, rest = split(server.exchange(post(PATH, STREAM, close=True)))
    assert status == 200
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["cache-control"] == "no-cache"
    assert headers["x-accel-buffering"] == "no"
    assert len(headers["x-request-id"]) == 32
    assert unchunked(rest) == b"data: a\n\ndata: b\n\ndata: [DONE]\n\n"
    assert server.front.requests[0].chunked
    assert server.front.aborted == []
    assert server.state.dispatcher.live == {}
    assert server.state.answers[PATH, 200] == 1


def test_frames_after_the_first_are_written_as_they_come() -> None:
    with running() as server, server.connect() as connection:
        server.front.respond = lambda request: request.frame("a", status=200)
        connection.sendall(post(PATH, STREAM))
        seen = read_until(connection, b"data: a\n\n")
        request = server.front.requests[0]
        request.frame("b")
        seen += read_until(connection, b"data: b\n\n")
        request.frame("[DONE]", ended=True)
        seen += read_until(connection, b"0\r\n\r\n")
        assert unchunked(split(seen)[2]) == b"data: a\n\ndata: b\n\ndata: [DONE]\n\n"
        # The connection is free for another request.
        server.front.respond = lambda request: request.whole(200, {"ok": 1})
        connection.sendall(post(PATH, CHAT, close=True))
        assert json.loads(split(read_all(connection))[2]) == {"ok": 1}


def test_http_1_0_gets_raw_frames_and_a_close() -> None:
    with running() as server:
        server.front.respond = three_frames
        status, headers, rest = split(server.exchange(post(PATH, STREAM, version="1.0")))
    assert status == 200
    assert "transfer-encoding" not in headers
    assert headers["connection"] == "close"
    assert rest == b"data: a\n\ndata: b\n\ndata: [DONE]\n\n"
    assert not server.front.requests[0].chunked


def test_pipelined_requests_are_answered_in_order_each_on_its_own_cycle() -> None:
    with running() as server, server.connect() as connection:
        first = post(PATH, STREAM)
        second = post(PATH, CHAT | {"user": "second"})
        third = post(PATH, STREAM, close=True)
        connection.sendall(first + second + third)
        until(lambda: len(server.front.requests) == 1)
        server.front.requests[0].frame("a", status=200)
        seen = read_until(connection, b"data: a\n\n")
        assert len(server.front.requests) == 1
        server.front.respond = lambda request: (
            request.whole(200, {"ok": 2}) if request.params.user else three_frames(request)
        )
        server.front.requests[0].frame("[DONE]", ended=True)
        seen += read_all(connection)
    head, _, rest = seen.partition(b"0\r\n\r\n")
    assert unchunked(split(head + b"0\r\n\r\n")[2]) == b"data: a\n\ndata: [DONE]\n\n"
    assert b'{"ok": 2}' in rest
    assert rest.endswith(b"0\r\n\r\n")
    assert rest.index(b'{"ok": 2}') < rest.index(b"data: a\n\n")


def test_a_pipelined_stream_is_aborted_when_its_client_leaves() -> None:
    with running() as server, server.connect() as connection:
        connection.sendall(post(PATH, STREAM) + post(PATH, STREAM))
        until(lambda: len(server.front.requests) == 1)
        server.front.requests[0].frame("a", status=200)
        read_until(connection, b"data: a\n\n")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
        # Reading rests while requests are pipelined: the next write finds the connection closed.
        for _ in range(50):
            server.front.requests[0].frame("b")
            time.sleep(0.005)
            if server.front.aborted:
                break
        assert server.front.aborted == [1]
        assert len(server.front.requests) == 1


@pytest.mark.parametrize("body", [STREAM, CHAT], ids=["stream", "whole"])
@pytest.mark.parametrize("padding", [0, 300_000], ids=["small", "large"])
def test_a_disconnect_before_the_first_token_aborts(body: dict[str, object], padding: int) -> None:
    with running() as server:
        with server.connect() as connection:
            connection.sendall(post(PATH, body | {"user": "x" * padding}))
            until(lambda: server.front.requests)
        until(lambda: server.front.aborted == [1])
        until(lambda: server.state.answers[PATH, 499] == 1)
        assert server.state.dispatcher.live == {}


def test_a_disconnect_in_a_stream_aborts() -> None:
    with running() as server:
        with server.connect() as connection:
            server.front.respond = lambda request: request.frame("a", status=200)
            connection.sendall(post(PATH, STREAM))
            read_until(connection, b"data: a\n\n")
            assert server.front.aborted == []
        until(lambda: server.front.aborted == [1])
        until(lambda: server.state.answers[PATH, 499] == 1)


def test_an_error_before_the_first_token_has_its_status() -> None:
    with running() as server:
        server.front.respond = lambda request: request.whole(429, {"error": {"message": "full"}})
        for body in (STREAM, CHAT):
            status, headers, rest = split(server.exchange(post(PATH, body, close=True)))
            assert status == 429
            assert headers["retry-after"] == "1"
            assert headers["content-type"] == "application/json"
            assert json.loads(rest) == {"error": {"message": "full"}}


def test_a_slow_first_token_lets_the_headers_go() -> None:
    with running(first_byte_timeout=0.05) as server, server.connect() as connection:
        connection.sendall(post(PATH, STREAM))
        seen = read_until(connection, b": keep-alive\n\n\r\n")
        assert server.front.started == [1]
        request = server.front.requests[0]
        request.frame("a")
        request.frame("[DONE]", ended=True)
        seen += read_until(connection, b"0\r\n\r\n")
        status, headers, rest = split(seen)
        assert status == 200
        assert headers["content-type"].startswith("text/event-stream")
        assert unchunked(rest) == b": keep-alive\n\ndata: a\n\ndata: [DONE]\n\n"


def test_an_error_that_crossed_the_headers_becomes_a_frame() -> None:
    with running(first_byte_timeout=0.05) as server, server.connect() as connection:
        connection.sendall(post(PATH, STREAM))
        seen = read_until(connection, b": keep-alive\n\n\r\n")
        server.front.requests[0].whole(503, {"error": {"message": "gone"}})
        seen += read_until(connection, b"0\r\n\r\n")
        body = unchunked(split(seen)[2])
        assert body == b': keep-alive\n\ndata: {"error": {"message": "gone"}}\n\ndata: [DONE]\n\n'


def test_a_whole_answer_waits_however_long_it_takes() -> None:
    with running(first_byte_timeout=0.02) as server, server.connect() as connection:
        connection.sendall(post(PATH, CHAT, close=True))
        until(lambda: server.front.requests)
        time.sleep(0.1)
        server.front.requests[0].whole(200, {"ok": 1})
        status, headers, rest = split(read_all(connection))
        assert (status, json.loads(rest)) == (200, {"ok": 1})
        assert headers["content-length"] == str(len(rest))
        assert server.front.started == []


def test_an_idle_stream_gets_comments() -> None:
    with running(keep_alive_s=0.06) as server, server.connect() as connection:
        server.front.respond = lambda request: request.frame("a", status=200)
        connection.sendall(post(PATH, STREAM))
        seen = read_until(connection, b": keep-alive\n\n\r\n")
        server.front.requests[0].frame("[DONE]", ended=True)
        seen += read_until(connection, b"0\r\n\r\n")
        body = unchunked(split(seen)[2])
        assert body.startswith(b"data: a\n\n: keep-alive\n\n")
        assert body.endswith(b"data: [DONE]\n\n")


def test_a_client_that_does_not_read_is_held_and_resumed() -> None:
    with running() as server, server.connect() as connection:
        server.front.respond = lambda request: request.frame("a", status=200)
        connection.sendall(post(PATH, STREAM))
        until(lambda: server.front.requests)
        request = server.front.requests[0]
        for _ in range(400):
            request.frame("x" * 65536)
            if server.front.holds:
                break
            time.sleep(0.002)
        until(lambda: server.front.holds == [(1, True)])
        request.frame("[DONE]", ended=False)
        seen = read_until(connection, b"data: [DONE]\n\n")
        until(lambda: server.front.holds == [(1, True), (1, False)])
        assert b"data: a\n\n" in seen


def test_without_a_sink_frames_pass_through_asgi() -> None:
    with running(http=plain.HttpToolsProtocol) as server:
        server.front.respond = three_frames
        status, _, rest = split(server.exchange(post(PATH, STREAM, close=True)))
        assert status == 200
        assert unchunked(rest) == b"data: a\n\ndata: b\n\ndata: [DONE]\n\n"
        assert not server.front.requests[0].chunked
        server.front.respond = lambda request: request.frame("a", status=200)
        with server.connect() as connection:
            connection.sendall(post(PATH, STREAM))
            read_until(connection, b"data: a\n\n")
        until(lambda: server.front.aborted == [2])


def test_the_order_of_writes_survives_many_streams() -> None:
    with running() as server:
        count = 20
        connections = [server.connect() for _ in range(count)]
        for connection in connections:
            connection.sendall(post(PATH, STREAM, close=True))
        until(lambda: len(server.front.requests) == count)
        for step in range(10):
            for request in server.front.requests:
                request.frame(f"{request.handle}:{step}", ended=step == 9, status=200 if step == 0 else 0)
        bodies = []
        for connection in connections:
            with connection:
                bodies.append(unchunked(split(read_all(connection))[2]).decode())
        for body in bodies:
            handle = body.split("data: ")[1].split(":")[0]
            assert body == "".join(f"data: {handle}:{step}\n\n" for step in range(10))
        assert len(set(bodies)) == count


def test_draining_refuses_new_requests() -> None:
    def check(server: Running) -> None:
        server.state.draining = True
        status, headers, rest = split(server.exchange(post(PATH, CHAT, close=True)))
        assert status == 503
        assert headers["retry-after"] == "1"
        assert json.loads(rest)["error"]["code"] == "stopping"
        assert server.front.requests == []

    with running() as server:
        check(server)
