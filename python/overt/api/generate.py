"""A generation request from its bytes to the last byte of its answer."""

import asyncio
from collections.abc import Iterable

from overt.api.dispatch import KEEP_ALIVE, Exchange
from overt.api.hot import CLIENT_LEFT, Call
from overt.api.state import State
from overt.contract.asked import profile_asked, queried, read_headers
from overt.contract.effects import Effect, Late, header, late
from overt.contract.errors import RETRY_AFTER_S, ApiError
from overt.contract.field import Route
from overt.contract.profiles import Profile
from overt.contract.read import read


def count_effects(state: State, effects: Iterable[Effect]) -> None:
    """Counts what became of fields, for /metrics."""
    counts = state.effects
    for effect in effects:
        counts[effect.label, effect.effect] += 1


def told(state: State, effects: list[Effect], adapted: list[Late]) -> bytes | None:
    """The `overt-effects` header of an answer that begins now; its effects are counted. `adapted`: what the core
    changed.
    """
    if adapted:
        effects = effects + late(adapted)
    if not effects:
        return None
    count_effects(state, effects)
    return header(effects)


async def generate(call: Call, route: Route) -> int:
    """Answers a chat or completions request. Returns the status; raises ApiError before anything was sent."""
    state = call.overt
    shape = state.deployment.profile.error_shape
    try:
        profile = profile_asked(call.scope["headers"], state.deployment)
        shape = profile.error_shape
        return await _generate(call, route, profile)
    except ApiError as error:
        error.shape = shape
        raise


async def _generate(call: Call, route: Route, profile: Profile) -> int:
    state = call.overt
    if state.draining:
        raise ApiError(503, "The server is stopping. Send the request elsewhere, or later.", code="stopping")
    raw = await call.read()
    asked = read_headers(route, call.scope["headers"], state.deployment, call.request_id, profile)
    if call.scope["query_string"]:
        asked.effects.extend(queried(call.scope["query_string"]))
    params, effects = read(route, raw, state.deployment, asked)
    params.key = call.key
    state.users.add(params.user)
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
        if params.stream:
            return await _stream(call, exchange, effects, close=raw_stream)
        return await _whole(call, exchange, effects)
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


async def _whole(call: Call, exchange: Exchange, effects: list[Effect]) -> int:
    while not (exchange.ended or exchange.gone):
        await exchange.changed()
    if exchange.gone:
        return CLIENT_LEFT
    return await _one(call, exchange, effects)


async def _one(call: Call, exchange: Exchange, effects: list[Effect]) -> int:
    """Answers with the one body that came."""
    status = exchange.status or 500
    headers = {"retry-after": str(RETRY_AFTER_S)} if status in (429, 503) else None
    head = told(call.overt, effects, exchange.adapted) if status == 200 else None
    return await call.answer(status, exchange.taken(), headers, head)


async def _stream(call: Call, exchange: Exchange, effects: list[Effect], *, close: bool) -> int:
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
        return await _one(call, exchange, effects)
    exchange.started = True
    if not exchange.pending:
        exchange.adapted = state.front.start(exchange.handle)
        exchange.pending.append(exchange.framed(KEEP_ALIVE))
    headers = [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"cache-control", b"no-cache"),
        (b"x-accel-buffering", b"no"),
        *call.told_headers(),
    ]
    if (head := told(state, effects, exchange.adapted)) is not None:
        headers.append((b"overt-effects", head))
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
