"""uvicorn's httptools protocol, with a sink for the hot routes and this server's error shape."""

from typing import Any

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from overt.api.ids import request_id
from overt.api.sink import EXTENSION, Sink
from overt.api.state import State
from overt.contract.errors import ApiError

MAX_HEAD_BYTES = 128 * 1024
"""Request line and headers together, the first read not counted: it may hold another request's end."""


class Protocol(HttpToolsProtocol):
    """One connection."""

    sink: Sink | None = None
    """The request being answered."""
    in_head = False
    head_bytes = 0

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self.sink = Sink(self, cycle)
        extensions: dict[Any, Any] = cycle.scope.setdefault("extensions", {})
        extensions[EXTENSION] = self.sink
        super()._start_asgi_task(cycle, app)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.sink is not None:
            self.sink.lost()
        self.pipeline.clear()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._tell(hold=True)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._tell(hold=False)

    def _tell(self, *, hold: bool) -> None:
        if self.sink is not None and self.sink.listener is not None and not self.sink.cycle.response_complete:
            self.sink.listener.hold(hold)

    # --- malformed requests ---

    def data_received(self, data: bytes) -> None:
        if self.parser is None or self.transport.is_closing():
            return
        if self.in_head:
            self.head_bytes += len(data)
        super().data_received(data)
        if self.in_head and self.head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            message = f"The request line and headers together may have {MAX_HEAD_BYTES} bytes."
            self._refuse(ApiError(431, message, code="headers_too_large"))

    def on_message_begin(self) -> None:
        self.in_head = True
        self.head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        # An error raised here reaches uvicorn as a parser's error, and so `send_400_response`.
        if httptools.parse_url(self.url).path is None:
            raise ValueError("the request target has no path")
        super().on_headers_complete()
        self.in_head = False

    def send_400_response(self, msg: str) -> None:
        self._refuse(ApiError(400, "This is not a valid HTTP request.", code="invalid_http"))

    def _unsupported_upgrade_warning(self) -> None:
        """A server may ignore an upgrade; there is nothing to warn of."""

    def _refuse(self, error: ApiError) -> None:
        sink = self.sink
        headers = self.headers if self.in_head else []
        if sink is not None and not sink.cycle.response_complete:
            if sink.cycle.response_started or not sink.cycle.more_body:
                # The fault lies behind a whole request: that one is answered, then the connection closes.
                sink.cycle.keep_alive = False
                self.pipeline.clear()
                return
            # The request's own body is broken: it never becomes whole.
            sink.lost()
            headers = list(sink.cycle.scope["headers"])
        state: State | None = self.app_state.get("overt")
        body = error.body(state.error_shape if state else "openai")
        lines = [STATUS_LINE[error.status]]
        for name, value in self.server_state.default_headers:
            lines.append(b"%b: %b\r\n" % (name, value))
        if state is None or state.tells_request_id:
            lines.append(b"x-request-id: %b\r\n" % request_id(headers).encode())
        lines.append(b"content-type: application/json\r\n")
        lines.append(b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body))
        self.transport.write(b"".join(lines) + body)
        self.transport.close()
