import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sumpool.documents import worker
from sumpool.documents.document import ParsedDocument
from sumpool.documents.pdf.document import read_pdf
from sumpool.documents.worker import Worker
from tests.documents.formats.pdf_files import assemble, pdf, show

TEXT = b"BT /F1 12 Tf 72 700 Td (Hosts send packets to the gateway that is near.) Tj ET\n"


def read_in(reader: Worker, content: bytes, max_pages: int) -> ParsedDocument:
    return reader.read(
        "sumpool.documents.pdf.document:read_pdf", content, "print it to a new PDF file", {"max_pages": max_pages}
    )


@pytest.fixture
def reader() -> Iterator[Worker]:
    reader = Worker()
    yield reader
    reader.close()


def packed(content: bytes, filters: bytes, pages: int = 1) -> bytes:
    """A PDF file that has a page with this content stream so many times."""
    return assemble(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[%s]/Count %d>>" % (b"3 0 R " * pages, pages),
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
            b"<</Length %d/Filter%s>>stream\n%s\nendstream" % (len(content), filters, content),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        ]
    )


def objects(count: int) -> bytes:
    """A content stream of so many texts."""
    return TEXT + b"BT /F1 12 Tf 72 700 Td " + b"(a)Tj\n" * count + b" ET"


def test_documents_are_the_same_as_in_this_process(reader: Worker) -> None:
    for content in (pdf([show("Hosts send packets.", 100, 700)]), packed(zlib.compress(TEXT), b"/FlateDecode")):
        assert read_in(reader, content, 10) == read_pdf(content, 10)
    with pytest.raises(ValueError, match="must be a PDF file, got a file that starts with b'no PDF'"):
        read_in(reader, b"no PDF", 10)
    with pytest.raises(ValueError, match="must have at most 0 pages, got 1; split it"):
        read_in(reader, pdf([show("Hosts send packets.", 100, 700)]), 0)


@pytest.mark.slow
def test_a_file_that_takes_too_much_memory_ends_the_other_process_alone(reader: Worker) -> None:
    bomb = packed(zlib.compress(zlib.compress(objects(9_000_000), 9), 9).hex().encode() + b">", b"[/AHx/Fl/Fl]")
    assert len(bomb) < 10_000
    with pytest.raises(ValueError, match="read in memory that suits its size; print it to a new PDF file"):
        read_in(reader, bomb, 10)
    assert read_in(reader, packed(TEXT, b"[]"), 10).blocks[0].text.startswith("Hosts send packets")


@pytest.mark.slow
def test_a_file_that_takes_too_long_ends_the_other_process_alone(
    reader: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_SECONDS", 1)
    monkeypatch.setattr(worker, "_SECONDS_PER_MEBIBYTE", 0)
    with pytest.raises(ValueError, match="must be read in a time that suits its size, but took longer"):
        read_in(reader, packed(zlib.compress(TEXT + b"q 1 0 0 1 0 0 cm Q\n" * 2_000_000), b"/FlateDecode", 200), 200)
    assert read_in(reader, packed(TEXT, b"[]"), 10).blocks


def test_a_process_that_was_killed_is_started_again(reader: Worker) -> None:
    for _ in range(2):
        assert read_in(reader, packed(TEXT, b"[]"), 10).blocks
        assert reader._process is not None
        reader._process.kill()
        reader._process.wait()


def test_modules_of_the_working_directory_are_not_imported(
    reader: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("open('run', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    assert read_in(reader, packed(TEXT, b"[]"), 10).blocks
    assert [path.name for path in tmp_path.iterdir()] == ["json.py"]
