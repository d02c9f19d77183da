"""Connections of the service: HTTP/1.1 in which no client keeps the others out."""

import asyncio
from typing import Any, Final, final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS: Final = 10.0
"""Seconds in which the header of a request must have come."""
_MOST: Final = 200
"""Connections; many systems let a process open 256 files."""
_LEAST_SECONDS: Final = 0.1
"""Seconds that a connection has for its request before it may be closed for another one."""


@final
class Connection(H11Protocol):
    """HTTP/1.1 with a time for headers, and a number of connections.

    One too many closes the oldest of those that still send a request, else of those that still take an answer, so that
    clients who do neither at a snail's pace are let in. One that has only just come is not closed, however many follow.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:  # noqa: ANN401 - those of uvicorn
        super().__init__(*arguments, **keywords)
        self.conn = _Requests(h11.SERVER)
        self._timer: asyncio.TimerHandle | None = None
        self._since = self.loop.time()
        self._may_close = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a header."""
        super().connection_made(transport)
        self._limit_header()
        # A timer follows what the event loop has read until then, however long it takes.
        self._patience = self.loop.call_later(_LEAST_SECONDS, setattr, self, "_may_close", True)
        if (excess := len(self.connections) - _MOST) > 0:
            closable = [other for other in self.connections if isinstance(other, Connection) and other._may_close]
            for other in sorted(closable, key=Connection._rank)[:excess]:
                other.transport.abort()
                self.connections.discard(other)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        super().data_received(data)
        self._limit_header()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        super().connection_lost(exc)
        self._patience.cancel()
        if self._timer:
            self._timer.cancel()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, or chunked."""
        super().send_400_response(f"{msg} The body of a request must have a Content-Length, and not be chunked.")

    def _limit_header(self) -> None:
        """Close the connection unless the header comes in time, however many bytes of it have."""
        if self.conn.their_state is not h11.IDLE:
            if self._timer:
                self._timer.cancel()
            self._timer = None
        elif not self._timer:
            self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _rank(self) -> tuple[bool, bool, float]:
        """Return the place among the connections to close."""
        is_answered = self.cycle is not None and self.cycle.response_started
        return self.conn.their_state is h11.DONE, not is_answered, self._since


@final
class _Requests(h11.Connection):
    """Parser that refuses chunked bodies: each byte may cost a chunk, and proxies may disagree about where they end."""

    def next_event(self) -> Any:  # noqa: ANN401 - an event of h11
        event = super().next_event()
        if isinstance(event, h11.Request) and any(name == b"transfer-encoding" for name, _ in event.headers):
            raise h11.RemoteProtocolError("chunked")
        return event
