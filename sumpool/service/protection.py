"""Protection of the service: what a client may ask for, which clients may ask, connections and memory."""

import asyncio
import ctypes
import gc
import hmac
import re
import sys
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Annotated, Any, Final, final
from urllib.parse import urlsplit

import h11
from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException
from uvicorn.protocols.http.h11_impl import H11Protocol

_OPEN = ("/", "/health", "/page.css", "/page.js", "/sample.txt")
"""Paths that need no token: they show nothing of a model or a document."""
HEADER_SECONDS: Final = 10.0
"""Seconds in which the header of a request must have come."""
_MOST: Final = 200
"""Connections; many systems let a process open 256 files."""
_LEAST_SECONDS: Final = 0.1
"""Seconds that a connection has for its request before it may be closed for another one."""
_M_ARENA_MAX: Final = -8
"""Parameter of mallopt: the greatest number of heaps."""


@dataclass(frozen=True)
class ServiceLimits:
    """Limits on the requests of clients.

    Attributes:
        body_bytes: Bytes of the body of a request, and of each file in it when it is unpacked.
        body_seconds: Seconds in which the body must have come.
        documents: Documents of a request.
        characters: Characters of their texts.
        waiting: Requests whose documents are read, wait for the model or are summarised; one more is refused.
        held_bytes: Bytes of bodies and texts of all requests; a large body beyond them is refused.
        seconds: Seconds for reading the documents, and until the summaries must be there.
        batch_documents: Documents of several requests that are summarised together.
    """

    body_bytes: int = 32 * 2**20
    body_seconds: float = 30.0
    documents: int = 64
    characters: int = 2 * 2**20
    waiting: int = 64
    held_bytes: int = 128 * 2**20
    seconds: float = 300.0
    batch_documents: int = 8


def guard(token: str, hosts: Collection[str]) -> Callable[..., Awaitable[None]]:
    """Return the dependency that refuses requests to other hosts, of pages of other sites, or without the token.

    Args:
        token: Token that requests must have; empty asks for none.
        hosts: Names under which the service may be addressed; `*` is any.
    """
    bearer = Depends(HTTPBearer(auto_error=False))
    names = {host.lower() for host in hosts}

    async def check(request: Request, given: Annotated[HTTPAuthorizationCredentials | None, bearer] = None) -> None:
        # A web page of another site may send requests under a name of its own that leads to this machine.
        host = request.headers.get("host", "").lower()
        if "*" not in names and re.sub(r":\d*$", "", host) not in names:
            raise HTTPException(400, f"the service must be addressed as {' or '.join(sorted(names))}")
        # A browser says whether a page of another site has made a request, as Go's CrossOriginProtection asks.
        site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
        is_foreign = origin is not None and urlsplit(origin).netloc != host
        if request.method == "POST" and (site not in ("same-origin", "none") if site else is_foreign):
            raise HTTPException(403, "the request must not come from a web page of another site")
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        if token and path not in _OPEN:
            shown = given.credentials if given else ""
            if not hmac.compare_digest(shown.encode(), token.encode()):
                reason = "the header Authorization must be Bearer and the token of this service"
                raise HTTPException(401, reason, {"WWW-Authenticate": "Bearer"})

    return check


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

            def rank(other: Connection) -> tuple[bool, bool, float]:
                is_answered = other.cycle is not None and other.cycle.response_started
                return other.conn.their_state is h11.DONE, not is_answered, other._since

            for other in sorted(closable, key=rank)[:excess]:
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


@final
class _Requests(h11.Connection):
    """Parser that refuses chunked bodies: each byte may cost a chunk, and proxies may disagree about where they end."""

    def next_event(self) -> Any:  # noqa: ANN401 - an event of h11
        event = super().next_event()
        if isinstance(event, h11.Request) and any(name == b"transfer-encoding" for name, _ in event.headers):
            raise h11.RemoteProtocolError("chunked")
        return event


def share_one_heap() -> None:
    """Make threads that start from now on allocate from one heap.

    By default threads have heaps of their own, each of which keeps the memory that its thread has freed. Few threads
    compute here at a time, and hardly wait for each other.
    """
    _call("mallopt", _M_ARENA_MAX, 1)


def return_memory() -> None:
    """Return freed memory to the system: bodies that errors hold in cycles, and what is scattered over the heap."""
    gc.collect()
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    function = getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
    if function is not None:
        function(*arguments)
