"""uvicorn's server, draining on TERM and watching the engine."""

import asyncio
import socket
import time
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from overt.api.protocol import Protocol
from overt.api.state import State

DEAD_S = 3.0
"""How long a server without an engine answers 503 before it exits."""

_LAST_FRAMES_S = 2.0
"""For the error frames of streams that outlived the drain, and for answers to leave the socket."""

_TICK_S = 0.05


class Server(uvicorn.Server):
    """Ends with `code`: 0 after a drain, 1 after the engine's death."""

    def __init__(
        self,
        config: uvicorn.Config,
        state: State,
        *,
        engine_ended: Callable[[], bool],
        announce: Callable[[], None],
        drain_timeout: float,
        watchdog_timeout: float,
    ) -> None:
        super().__init__(config)
        self.state = state
        self.engine_ended = engine_ended
        self.announce = announce
        self.drain_timeout = drain_timeout
        self.watchdog_timeout = watchdog_timeout
        self.unhealthy_since: float | None = None
        self.drains_until: float | None = None
        self.closed = False
        self.code = 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to accept."""
        await super().startup(sockets)
        self.announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal drains, a second one does not wait. Neither is raised again afterwards."""
        self.force_exit = self.should_exit
        self.should_exit = self.state.draining = True

    async def on_tick(self, counter: int) -> bool:
        """Whether to end. Called ten times a second, while the server accepts: draining it still does, to say so."""
        if self._engine_is_gone():
            self.code = 1
            return True
        # Renews the date that answers tell.
        leaving = await super().on_tick(counter)
        return leaving and self._drained()

    def _drained(self) -> bool:
        """Whether all running requests have ended, or had their time."""
        now = time.monotonic()
        if self.drains_until is None:
            self.drains_until = now + self.drain_timeout
        if self.force_exit or self.state.in_flight == 0:
            return True
        if now >= self.drains_until and not self.closed:
            self.closed = True
            self.state.front.close()
        return now >= self.drains_until + _LAST_FRAMES_S

    def _engine_is_gone(self) -> bool:
        healthy, _ = self.state.front.health()
        if healthy:
            self.unhealthy_since = None
            return False
        now = time.monotonic()
        if self.unhealthy_since is None:
            self.unhealthy_since = now
        # An engine that lives may only be slow: it gets the watchdog's time once more.
        patience = DEAD_S if self.engine_ended() else DEAD_S + self.watchdog_timeout
        return now - self.unhealthy_since >= patience

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accepts no more. Answers have ended or are ended here; what clients have yet to read gets a little time."""
        self.state.draining = True
        self.state.front.close()
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        connections, tasks = self.server_state.connections, self.server_state.tasks
        for connection in list(connections):
            connection.shutdown()
        now = time.monotonic()
        # A client that reads slowly may use all of the drain's time.
        until = max(now + _TICK_S, (self.drains_until or now) + _LAST_FRAMES_S)
        await asyncio.sleep(_TICK_S)
        while (connections or tasks) and time.monotonic() < until and not self.force_exit:
            await asyncio.sleep(_TICK_S)
        if connections:
            for connection in list(connections):
                connection.transport.abort()
            # For the coroutines to see that their client is gone.
            await asyncio.sleep(_TICK_S)
        await self.lifespan.shutdown()


def run(
    app: FastAPI,
    state: State,
    listener: socket.socket,
    *,
    engine_ended: Callable[[], bool],
    announce: Callable[[], None],
    drain_timeout: float,
    watchdog_timeout: float,
) -> int:
    """Serves `app` on a listening socket until a signal or the engine's death. Returns the exit code."""
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=65,
    )
    server = Server(
        config,
        state,
        engine_ended=engine_ended,
        announce=announce,
        drain_timeout=drain_timeout,
        watchdog_timeout=watchdog_timeout,
    )
    server.run(sockets=[listener])
    return server.code
