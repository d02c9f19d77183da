import gzip
import re
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import sumpool.documents.addresses
from sumpool.documents import worker
from sumpool.documents.addresses import fetch
from sumpool.documents.document import DEFAULT_OPTIONS, Limits
from sumpool.documents.read import is_address, read_documents
from sumpool.documents.worker import Workers
from sumpool.errors import DataError

PAGES: dict[str, tuple[int, dict[str, str], bytes]] = {
    "/a.md": (200, {"Content-Type": "text/plain; charset=utf-8"}, b"# Title\n\nText."),
    "/page": (200, {"Content-Type": "text/markdown"}, b"# Title\n\nText."),
    "/latin": (200, {"Content-Type": "text/plain; charset=iso-8859-1"}, "Grüße".encode("latin-1")),
    "/wrong": (200, {"Content-Type": "text/plain; charset=klingon"}, b"Text."),
    "/packed": (200, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, gzip.compress(b"Text.")),
    "/punycode": (200, {"Content-Type": "text/plain; charset=punycode"}, b"a" * 100_000 + b"-" + b"b" * 100_000),
    "/moved": (302, {"Location": "/page"}, b""),
    "/file": (302, {"Location": "file:///etc/passwd"}, b""),
    "/ftp": (302, {"Location": "ftp://127.0.0.1/a"}, b""),
    "/loop": (302, {"Location": "/loop"}, b""),
    "/missing": (404, {}, b"not here"),
    "/large": (200, {"Content-Type": "text/plain"}, b"word " * 1000),
    "/cut": (200, {"Content-Length": "100"}, b"short"),
}


CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class _Server(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/slow":
            threading.Event().wait(1)
            return
        if self.path.startswith("/drip"):  # a status line, a header or a chunk without an end
            self.wfile.write({"/drip/status": b"HTTP", "/drip/header": b"HTTP/1.1 200\r\nA: "}.get(self.path, CHUNKS))
            with suppress(OSError):
                for _ in range(40):
                    self.wfile.write(b"1")
                    threading.Event().wait(0.05)
            return
        status, headers, content = PAGES.get(self.path, PAGES["/missing"])
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def test_content_type_and_path_name_the_format(server: str) -> None:
    assert fetch(f"{server}/a.md", Limits(100)) == (b"\xef\xbb\xbf# Title\n\nText.", ".md")
    assert fetch(f"{server}/page", Limits(100)) == (b"# Title\n\nText.", ".md")
    assert fetch(f"{server}/wrong", Limits(100)) == (b"Text.", "")


def test_address_is_a_document(server: str) -> None:
    assert [is_address(name) for name in (server.upper(), "ftp://example.com", "http.txt")] == [True, False, False]
    for path, text in (("/moved", "Title\n\nText."), ("/latin", "Grüße"), ("/packed", "Text.")):
        (document,) = read_documents(server + path)
        assert (document.id, document.text, document.error) == (server + path, text, "")
    (document,) = read_documents(f"{server}/missing")
    assert document.error == f"{server}/missing must be a page, got: 404 Not Found; check the address"


def test_document_of_an_address_may_be_as_long_as_that_of_a_file(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    few = "from sumpool.documents import worker; worker._CHARACTERS = 10"
    monkeypatch.setattr(worker, "_MAIN", worker._MAIN.replace("; main()", f"; {few}; main()"))
    with closing(Workers()) as workers:
        (document,) = workers.read(f"{server}/large", "it", "", b"", DEFAULT_OPTIONS, is_address=True)
    assert (document.error, len(document.text.split())) == ("", 1000)


def test_other_answers_are_errors(server: str) -> None:
    for address, message in [
        (f"{server}/file", "must be a page, got: 302 Found - Redirection to url 'file:///etc/passwd' is not allowed"),
        (f"{server}/ftp", r"must redirect to an http\(s\) address, got ftp://127.0.0.1/a"),
        (f"{server}/loop", "must be a page, got: 302"),
        (f"{server}/large", "must have at most 0 MiB of content, got more"),
        (f"{server}/cut", "must answer completely, got: IncompleteRead"),
        ("http://nowhere.invalid/", "must be an address that answers, got: .*; it needs a network"),
        ("http://127.0.0.1:1/", "must be an address that answers, got: .*; it needs a network"),
        ("http://", "must be"),
        ("http://[::1/", "must be"),
        ("http://a b/", "must be"),
    ]:
        with pytest.raises(DataError, match=f"{re.escape(address)} {message}"):
            fetch(address, Limits(1000))


def test_slow_answers_are_errors(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as context:
        context.setattr(sumpool.documents.addresses, "TIMEOUT_SECONDS", 0.2)
        with pytest.raises(DataError, match=r"must answer in 0.2 seconds, got: .*timed out; try again later"):
            fetch(f"{server}/slow", Limits(100))
    monkeypatch.setattr(sumpool.documents.addresses, "TOTAL_SECONDS", 0.3)
    for part in ("status", "header", "chunk"):
        start = time.monotonic()
        with pytest.raises(DataError, match=r"must answer in 20 seconds, got: only a part after 0.3 seconds"):
            fetch(f"{server}/drip/{part}", Limits(100))
        assert time.monotonic() - start < 1.5


def test_other_codecs_of_python_are_no_character_sets(server: str) -> None:
    """Of which punycode takes the square of the characters."""
    start = time.process_time()
    assert fetch(f"{server}/punycode", Limits(2**20))[0].startswith(b"aaa")
    assert time.process_time() - start < 1
