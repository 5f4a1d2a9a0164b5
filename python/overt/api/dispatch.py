"""From the core's outboxes to the connections: one reader on the loop writes the bytes of every stream."""

import asyncio
from itertools import count
from typing import TYPE_CHECKING

from overt.api.sink import Sink
from overt.contract.effects import Late

if TYPE_CHECKING:
    from overt._core import Front

KEEP_ALIVE = b": keep-alive\n\n"
KEEP_ALIVE_S = 15.0
_SWEEPS = 3
"""Looks at the streams within one keep-alive period."""


class Dispatcher:
    """Takes what is ready from the front and gives it to the exchanges. Lives on one event loop."""

    def __init__(self, front: "Front", *, keep_alive_s: float = KEEP_ALIVE_S) -> None:
        self.front = front
        self.live: dict[int, Exchange] = {}
        self._handles = count(1)
        self._keep_alive_s = keep_alive_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begins to read, on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self.front.wake_fd, self.drain)
        self._timer = self._loop.call_later(self._keep_alive_s / _SWEEPS, self._sweep)

    def stop(self) -> None:
        """Reads no more."""
        if self._loop is not None and self._timer is not None:
            self._timer.cancel()
            self._loop.remove_reader(self.front.wake_fd)
            self._loop = None

    def open(self, sink: Sink | None, *, chunked: bool) -> "Exchange":
        """An exchange for one answer, with a handle of its own."""
        exchange = Exchange(self, next(self._handles), sink, chunked)
        self.live[exchange.handle] = exchange
        if sink is not None:
            sink.watch(exchange)
        return exchange

    def drain(self) -> None:
        """Hands out all that is ready."""
        live = self.live
        for handle, ended, status, data, adapted in self.front.take_ready():
            exchange = live.get(handle)
            if exchange is not None:
                if ended:
                    del live[handle]
                if adapted:
                    exchange.adapted = adapted
                exchange.take(ended, status, data)

    def _sweep(self) -> None:
        for exchange in list(self.live.values()):
            exchange.sweep()
        assert self._loop is not None
        self._timer = self._loop.call_later(self._keep_alive_s / _SWEEPS, self._sweep)


class Exchange:
    """One answer on its way out. Its coroutine wakes for the first item, the end and a disconnect only."""

    __slots__ = (
        "adapted",
        "chunked",
        "dispatcher",
        "ended",
        "gone",
        "handle",
        "held",
        "late",
        "pending",
        "quiet",
        "sink",
        "started",
        "status",
        "waiter",
        "write",
    )

    def __init__(self, dispatcher: Dispatcher, handle: int, sink: Sink | None, chunked: bool) -> None:
        self.dispatcher = dispatcher
        self.handle = handle
        self.sink = sink
        self.chunked = chunked
        self.pending: list[bytes] = []
        """What came before the connection could take it."""
        self.write = self.pending.append
        """Where bytes go: here first, to the transport once the headers are out."""
        self.waiter: asyncio.Future[None] | None = None
        self.status = 0
        """Of the first item; 0: none came yet."""
        self.started = False
        """Headers have gone or are going: errors are frames."""
        self.ended = False
        self.gone = False
        self.late = False
        self.held = False
        self.quiet = 0
        self.adapted: list[Late] = []
        """Fields that were changed for the prompt's sake."""

    # --- from the dispatcher and the connection ---

    def take(self, ended: bool, status: int, data: bytes) -> None:
        """Bytes to write now."""
        if status:
            if self.started and status != 200:
                # The error was on its way while the headers went out.
                data = self.framed(b"data: %b\n\ndata: [DONE]\n\n" % data)
            self.status = self.status or status
        self.quiet = 0
        self.ended = ended
        self.write(data)
        if ended or self.sink is None or not self.started:
            self.wake()

    def leave(self) -> None:
        """The client is gone: frees all that the request holds."""
        if not self.gone:
            self.gone = True
            if self.dispatcher.live.pop(self.handle, None) is not None:
                self.dispatcher.front.abort(self.handle)
            self.wake()

    def hold(self, on: bool) -> None:
        """The connection takes no bytes, or does again."""
        if self.held != on:
            self.held = on
            if not (self.ended or self.gone):
                self.dispatcher.front.hold(self.handle, on)

    def lose_patience(self) -> None:
        """No first byte within the time for it."""
        self.late = True
        self.wake()

    def sweep(self) -> None:
        """Writes a comment to a stream that has been idle."""
        if not self.started:
            return
        self.quiet += 1
        if self.quiet >= _SWEEPS and not self.held:
            self.quiet = 0
            self.write(self.framed(KEEP_ALIVE))
            if self.sink is None:
                self.wake()

    # --- for the coroutine ---

    def wake(self) -> None:
        """Lets the coroutine look again."""
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    async def changed(self) -> None:
        """Sleeps until `wake`."""
        self.waiter = asyncio.get_running_loop().create_future()
        await self.waiter

    def taken(self) -> bytes:
        """All that waits."""
        data = b"".join(self.pending)
        self.pending.clear()
        return data

    def framed(self, data: bytes) -> bytes:
        """With HTTP/1.1 chunk framing, where the core's bytes have it."""
        return b"%x\r\n%b\r\n" % (len(data), data) if self.chunked else data
