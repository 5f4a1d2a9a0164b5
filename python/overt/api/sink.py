"""Where an answer's bytes go when they do not pass through ASGI: the connection's own transport."""

from typing import Protocol

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

EXTENSION = "overt.sink"
"""Its key in an ASGI scope's `extensions`."""


class Listener(Protocol):
    """Whoever writes to a sink."""

    def leave(self) -> None:
        """The client is gone."""

    def hold(self, on: bool) -> None:
        """The connection is not (or again) writable."""


class Sink:
    """One request's way to its connection. Under pipelining `protocol.cycle` is a later request's."""

    __slots__ = ("cycle", "listener", "protocol")

    def __init__(self, protocol: HttpToolsProtocol, cycle: RequestResponseCycle) -> None:
        self.protocol = protocol
        self.cycle = cycle
        self.listener: Listener | None = None

    @property
    def paused(self) -> bool:
        """The connection takes no bytes now."""
        return self.protocol.flow.write_paused

    def write(self, data: bytes) -> None:
        """Writes behind the headers, as it is."""
        self.protocol.transport.write(data)

    def watch(self, listener: Listener) -> None:
        """Tells `listener` what happens to the connection from now on."""
        self.listener = listener
        # A large body may have stopped the reading, and a connection that is not read is not seen to close.
        if not self.protocol.pipeline:
            self.protocol.flow.resume_reading()

    def send_raw(self) -> None:
        """The coming answer is not chunked and ends with the connection, as HTTP/1.0 wants it."""
        self.cycle.chunked_encoding = False
        self.cycle.keep_alive = False

    def lost(self) -> None:
        """The connection closed. Wakes the request's coroutine even where a later request is being read."""
        if not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.listener is not None:
                self.listener.leave()
