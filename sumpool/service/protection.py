"""ASGI middleware that refuses requests before they are read: by host, token, and size and duration of the body."""

import asyncio
import hmac
import re
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from json import dumps
from typing import Any, final

from sumpool.service.config import ServiceLimits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

_OPEN = ("/", "/health", "/page.css", "/page.js")
"""Paths that need no token: they show nothing of a model or a document."""


class _RefusedError(Exception):
    """A request is refused while its body is read."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@final
class Protection:
    """Refuses requests to other hosts (400), without the token (401), or whose body is long, slow or compressed."""

    def __init__(
        self,
        application: Application,
        limits: ServiceLimits,
        token: str = "",
        hosts: Collection[str] = ("*",),
        on_refused: Callable[[int], object] = lambda _: None,
    ) -> None:
        """Protect an application.

        Args:
            application: The application.
            limits: Limits of the body.
            token: Token that requests must have; empty asks for none.
            hosts: Names under which the service may be addressed; `*` is any.
            on_refused: Called with the status of each request that is refused.
        """
        self.application = application
        self.limits = limits
        self.token = token.encode()
        self.hosts = {host.lower() for host in hosts}
        self.on_refused = on_refused

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a reason."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        headers = dict(scope["headers"])
        try:
            self._require_host(headers)
            self._require_token(scope["path"], headers)
            if headers.get(b"content-encoding", b"identity") != b"identity":
                raise _RefusedError(415, "the body must not be compressed; send the file as it is")
            body = await self._read(headers, receive) if scope["method"] == "POST" else b""
        except _RefusedError as error:
            self.on_refused(error.status)
            await _refuse(send, error.status, str(error))
            return
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_read() -> Message:
            return waiting.pop() if waiting else await receive()

        await self.application(scope, receive_read, send)

    def _require_host(self, headers: dict[bytes, bytes]) -> None:
        """Refuse what a web page of another site sends under a name of its own that leads to this machine."""
        host = re.sub(r":\d*$", "", headers.get(b"host", b"").decode("latin-1").lower())
        if "*" not in self.hosts and host not in self.hosts:
            raise _RefusedError(400, f"the service must be addressed as {' or '.join(sorted(self.hosts))}")

    def _require_token(self, path: str, headers: dict[bytes, bytes]) -> None:
        if not self.token or path in _OPEN:
            return
        given = headers.get(b"authorization", b"")
        if not hmac.compare_digest(given, b"Bearer " + self.token):
            raise _RefusedError(401, "the header Authorization must be Bearer and the token of this service")

    async def _read(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        """Read the body within its limits."""
        too_long = _RefusedError(413, f"the body must have at most {self.limits.body_bytes:,} bytes, got more")
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit() or len(declared) > 15 or int(declared) > self.limits.body_bytes:
            raise too_long
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _RefusedError(400, "the body must be sent whole, got a part")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self.limits.body_bytes:
                        raise too_long
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise _RefusedError(408, f"the body must come within {self.limits.body_seconds:g} s, got a part") from None


async def _refuse(send: Send, status: int, reason: str) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": dumps({"error": reason}).encode()})
