"""A generation request from its bytes to the last byte of its answer."""

import asyncio
from dataclasses import dataclass

from overt.api.dispatch import KEEP_ALIVE, Exchange
from overt.api.hot import CLIENT_LEFT, Call
from overt.contract.effects import Effect, header
from overt.contract.errors import RETRY_AFTER_S, ApiError
from overt.contract.field import Route
from overt.contract.params import read


@dataclass(frozen=True, slots=True)
class Told:
    """What the client is told of its fields."""

    effects: list[Effect]
    max_tokens_field: str

    def header(self, max_tokens: int | None) -> bytes | None:
        """The `overt-effects` header; `max_tokens` is given where it was clamped to the context."""
        if max_tokens is None:
            return header(self.effects)
        return header([*self.effects, Effect(self.max_tokens_field, "adapted", max_tokens)])


async def generate(call: Call, route: Route) -> int:
    """Answers a chat or completions request. Returns the status; raises ApiError before anything was sent."""
    state = call.overt
    if state.draining:
        raise ApiError(503, "The server is stopping. Send the request elsewhere, or later.", code="stopping")
    raw = await call.read()
    params, effects = read(route, raw, state.deployment, call.request_id)
    if params.seed is None and state.seeds is not None:
        params.seed = state.seeds.getrandbits(63)
    sink = call.sink
    raw_stream = params.stream and call.scope["http_version"] == "1.0"
    if raw_stream and sink is not None:
        sink.send_raw()
    chunked = params.stream and sink is not None and not raw_stream
    exchange = state.dispatcher.open(sink, chunked=chunked)
    watcher = None if sink is not None else asyncio.create_task(_watch(call, exchange))
    try:
        state.front.submit(exchange.handle, route, raw, params, chunked)
        if sink is not None and sink.paused:
            exchange.hold(True)
        told = Told(effects, params.max_tokens_field)
        if params.stream:
            return await _stream(call, exchange, told, close=raw_stream)
        return await _whole(call, exchange, told)
    finally:
        if watcher is not None:
            watcher.cancel()
        if not exchange.ended:
            exchange.leave()


async def _watch(call: Call, exchange: Exchange) -> None:
    """Without a sink only ASGI's receive tells of a disconnect."""
    while (await call.receive())["type"] != "http.disconnect":
        pass
    exchange.leave()


async def _whole(call: Call, exchange: Exchange, told: Told) -> int:
    while not (exchange.ended or exchange.gone):
        await exchange.changed()
    if exchange.gone:
        return CLIENT_LEFT
    return await _one(call, exchange, told)


async def _one(call: Call, exchange: Exchange, told: Told) -> int:
    """Answers with the one body that came."""
    status = exchange.status or 500
    headers = {"retry-after": str(RETRY_AFTER_S)} if status in (429, 503) else None
    return await call.answer(
        status, exchange.taken(), headers, told.header(exchange.max_tokens) if status == 200 else None
    )


async def _stream(call: Call, exchange: Exchange, told: Told, *, close: bool) -> int:
    state = call.overt
    timer = asyncio.get_running_loop().call_later(state.first_byte_timeout, exchange.lose_patience)
    while not (exchange.pending or exchange.gone or exchange.late):
        await exchange.changed()
    timer.cancel()
    if not exchange.pending:
        state.dispatcher.drain()
    if exchange.gone:
        return CLIENT_LEFT
    if exchange.status not in (0, 200):
        return await _one(call, exchange, told)
    exchange.started = True
    if not exchange.pending:
        exchange.max_tokens = state.front.start(exchange.handle)
        exchange.pending.append(exchange.framed(KEEP_ALIVE))
    headers = [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"cache-control", b"no-cache"),
        (b"x-accel-buffering", b"no"),
        (b"x-request-id", call.request_id.encode()),
    ]
    if (effects := told.header(exchange.max_tokens)) is not None:
        headers.append((b"overt-effects", effects))
    if close:
        headers.append((b"connection", b"close"))
    await call.send({"type": "http.response.start", "status": 200, "headers": headers})
    if exchange.sink is not None:
        exchange.sink.write(exchange.taken())
        exchange.write = exchange.sink.write
        while not (exchange.ended or exchange.gone):
            await exchange.changed()
    else:
        await _pump(call, exchange)
    if exchange.gone:
        return CLIENT_LEFT
    await call.send({"type": "http.response.body", "body": b"", "more_body": False})
    return 200


async def _pump(call: Call, exchange: Exchange) -> None:
    """Without a sink every write passes through ASGI, which waits while the client does not read."""
    while not exchange.gone:
        data = exchange.taken()
        if data:
            exchange.hold(True)
            await call.send({"type": "http.response.body", "body": data, "more_body": True})
            exchange.hold(False)
        elif exchange.ended:
            return
        else:
            await exchange.changed()
