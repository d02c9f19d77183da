import zlib

import pytest

from sumpool.documents.document import Limits
from sumpool.documents.formats.pdf import check_streams


def pdf(*contents: bytes) -> bytes:
    return b"%PDF-1.4\n" + b"".join(b"1 0 obj<<>>stream\r\n%s\nendstream endobj\n" % content for content in contents)


@pytest.fixture(autouse=True)
def small_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.documents.formats.pdf.FREE_BYTES", 2**20)
    monkeypatch.setattr("sumpool.documents.document.RATIO_FREE_BYTES", 2**20)


def test_a_stream_that_unpacks_to_too_much_is_refused() -> None:
    for layers in [1, 2, 3]:
        bomb = bytes(2**22)
        for _ in range(layers):
            bomb = zlib.compress(bomb, 9)
        with pytest.raises(ValueError, match="must expand to at most 300 times its size, got more"):
            check_streams(pdf(b"small", bomb), Limits())
        with pytest.raises(ValueError, match="must have at most 2 MiB of content, got more"):
            check_streams(pdf(bomb), Limits(2**21, 10**9))


def test_other_streams_are_left_to_the_library() -> None:
    for content in [
        b"",
        b"x",
        b"plain text",
        zlib.compress(b"text " * 10_000),
        zlib.compress(b"text " * 10_000)[:40],
        zlib.compress(bytes(2**20)),
        zlib.compress(zlib.compress(b"text")) + b"more",
        b"\x78\x9c not deflated",
    ]:
        check_streams(pdf(content, content), Limits())
        check_streams(pdf(content).replace(b"endstream", b""), Limits())
