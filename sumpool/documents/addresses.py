"""Documents from http(s) addresses, with limits of time and size."""

import ipaddress
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import Message
from http.client import HTTPException, IncompleteRead, InvalidURL
from typing import IO, Final
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit

from sumpool import __version__
from sumpool.documents.decoding import text_codec
from sumpool.documents.document import Limits
from sumpool.documents.files import READ_ERRORS, read_limited
from sumpool.errors import DataError

TIMEOUT_SECONDS: Final = 20.0
"""Time until a server answers, and between two parts of an answer."""
TOTAL_SECONDS: Final = 120.0
"""Time until a document is read, from the first byte that is sent; not on Windows."""

_SUFFIXES: Final = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    "text/markdown": ".md",
    "text/x-rst": ".rst",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "message/rfc822": ".eml",
    "application/epub+zip": ".epub",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/jsonl": ".jsonl",
    "application/x-ndjson": ".jsonl",
    "application/vnd.apache.parquet": ".parquet",
}
"""Suffix of each content type; the path of the address and the content decide for others."""


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def fetch(address: str, limits: Limits) -> tuple[bytes, str]:
    """Read an address; redirects lead to http(s) addresses only.

    Args:
        address: http(s) address.
        limits: Limits of the content after decompression.

    Returns:
        Uncompressed content, of which text in the encoding that the server names is converted to UTF-8, and the suffix
        of its format in lower case; empty if neither content type nor path says one.

    Raises:
        DataError: If there is no answer, or not the document.
    """
    try:
        headers = {"User-Agent": f"sumpool/{__version__}", "Accept-Encoding": "gzip, identity"}
        address_request = request.Request(address, headers=headers)  # noqa: S310 - is_address allows http and https
        opener = request.OpenerDirector()  # without files, ftp and data addresses
        handlers: tuple[type[request.BaseHandler], ...] = (
            request.ProxyHandler, request.UnknownHandler, request.HTTPHandler, request.HTTPSHandler,
            request.HTTPDefaultErrorHandler, _WebRedirects, request.HTTPErrorProcessor,
        )  # fmt: skip
        for handler in handlers:
            opener.add_handler(handler())
        with _deadline(), opener.open(address_request, timeout=TIMEOUT_SECONDS) as answer:
            content = read_limited(answer, limits)
            if answer.length:
                raise IncompleteRead(b"", answer.length)
            kind, charset = answer.headers.get_content_type(), answer.headers.get_content_charset()
            path = unquote(urlsplit(answer.geturl()).path).lower().removesuffix(".gz").removesuffix(".zst")
            named = re.search(r"\.\w{1,8}$", path)
            if codec := text_codec(charset or "") if kind.startswith("text/") else "":
                with suppress(UnicodeError):  # the encoding is detected
                    content = content.decode(codec).encode("utf-8-sig")
            return content, _SUFFIXES.get(kind) or (named[0] if named else "")
    except HTTPError as error:
        error.close()
        raise DataError(f"{address} must be a page, got: {error.code} {error.reason}; check the address") from error
    except TimeoutError as error:
        raise DataError(
            f"{address} must answer in {TIMEOUT_SECONDS:g} seconds, got: {error}; try again later"
        ) from error
    except URLError as error:
        raise DataError(
            f"{address} must be an address that answers, got: {error.reason}; it needs a network"
        ) from error
    except InvalidURL as error:
        raise DataError(f"{address} must be an address, got: {error}") from error
    except (*READ_ERRORS, HTTPException) as error:
        raise DataError(f"{address} must answer completely, got: {error or type(error).__name__}") from error
    except ValueError as error:
        raise DataError(
            f"{address} {error if 'must' in str(error) else f'must be an address, got: {error}'}"
        ) from error


@contextmanager
def _deadline() -> Iterator[None]:
    """Raise a TimeoutError after `TOTAL_SECONDS`, whatever a server sends meanwhile; in the main thread only."""

    def end(*_: object) -> None:
        raise TimeoutError(f"only a part after {TOTAL_SECONDS:g} seconds")

    if sys.platform == "win32":
        yield
        return
    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, TOTAL_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class _WebRedirects(request.HTTPRedirectHandler):
    """Redirects to http(s) addresses only."""

    def redirect_request(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> request.Request | None:
        if not newurl.lower().startswith(("http://", "https://")):
            raise ValueError(f"must redirect to an http(s) address, got {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]
