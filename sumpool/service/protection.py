"""Protection of the service: what a client may ask for, and which clients may ask."""

import hmac
import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException

_OPEN = ("/", "/health", "/page.css", "/page.js", "/sample.txt")
"""Paths that need no token: they show nothing of a model or a document."""


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
        if request.method == "POST" and _is_of_another_site(request, host):
            raise HTTPException(403, "the request must not come from a web page of another site")
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        if token and path not in _OPEN:
            shown = given.credentials if given else ""
            if not hmac.compare_digest(shown.encode(), token.encode()):
                reason = "the header Authorization must be Bearer and the token of this service"
                raise HTTPException(401, reason, {"WWW-Authenticate": "Bearer"})

    return check


def _is_of_another_site(request: Request, host: str) -> bool:
    """Return whether a browser says that a page of another site has made a request, as Go's CrossOriginProtection."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    return site not in ("same-origin", "none") if site else origin is not None and urlsplit(origin).netloc != host
