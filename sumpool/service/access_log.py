"""Access log: one line of JSON for each request, and the id of the request in its answer."""

import json
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import final
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADER = "X-Request-ID"
_ID = re.compile(r"[\w.:+/=-]{1,128}", re.ASCII)


@final
class AccessLog:
    """Middleware that writes time, id, client, method, path, status, bytes and seconds of each request.

    A proxy names a request by the header X-Request-ID; other requests are given an id. Queries are left out, since they
    hold the names of files.
    """

    def __init__(self, app: ASGIApp, write: Callable[[str], object] | None = None) -> None:
        """Wrap an application.

        Args:
            app: The application.
            write: Takes each line; None writes none, but answers have ids.
        """
        self._app = app
        self._write = write

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and log it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(_HEADER, "")
        identity = given if _ID.fullmatch(given) else uuid4().hex
        entry: dict[str, object] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "id": identity,
            "client": (scope.get("client") or ("",))[0],
            "method": scope["method"],
            "path": scope["path"],
            "status": 499,  # as nginx, if the client goes before it is answered
            "bytes": 0,
        }
        size = 0

        async def pass_on(message: Message) -> None:
            nonlocal size
            if message["type"] == "http.response.start":
                entry["status"] = message["status"]
                MutableHeaders(scope=message)[_HEADER] = identity
            size += len(message.get("body", b""))
            await send(message)

        start = time.monotonic()
        try:
            await self._app(scope, receive, pass_on)
        finally:
            if self._write:
                entry |= {"bytes": size, "seconds": round(time.monotonic() - start, 3)}
                self._write(json.dumps(entry))
