import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sumpool.documents import worker
from sumpool.documents.document import DEFAULT_OPTIONS, ReadOptions
from sumpool.documents.formats import load_format, parse_content
from sumpool.documents.formats import pdf as pdf_format
from sumpool.documents.read import read_documents
from sumpool.documents.worker import TOO_LONG, Workers
from tests.documents.formats.office_files import docx, word_paragraph
from tests.documents.formats.pdf_files import assemble, pdf, show

TEXT = b"BT /F1 12 Tf 72 700 Td (Hosts send packets to the gateway that is near.) Tj ET\n"


@pytest.fixture
def workers() -> Iterator[Workers]:
    workers = Workers()
    yield workers
    workers.close()


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


BOMBS: dict[str, Callable[[], bytes]] = {
    "a.tex": lambda: rb"\documentclass{a}\newcommand{\a}{\a\a}\begin{document}\a",
    "b.wiki": lambda: b"".join(b"*" * depth + b" a\n" for depth in range(1, 400)),
    "c.docx": lambda: docx(word_paragraph("a") * 500_000),
    "d.pdf": lambda: packed(zlib.compress(TEXT + b"q 1 0 0 1 0 0 cm Q\n" * 2_000_000), b"/FlateDecode", 200),
    "e.jats": lambda: b"<article>" + b"<front/><sec>" * 20_000,
    "f.rtf": lambda: rb"{\rtf1 " + b"{" * 200_000,
}


def test_documents_are_the_same_as_in_this_process(workers: Workers) -> None:
    for content in (pdf([show("Hosts send packets.", 100, 700)]), packed(zlib.compress(TEXT), b"/FlateDecode")):
        assert workers.read("pdf", content, DEFAULT_OPTIONS) == pdf_format.parse(content, DEFAULT_OPTIONS)
    with pytest.raises(ValueError, match="must be a PDF file, got a file that starts with b'no PDF'"):
        workers.read("pdf", b"no PDF", DEFAULT_OPTIONS)
    with pytest.raises(ValueError, match="must have at most 5 bytes, got 6; split it"):
        workers.read("pdf", b"no PDF", ReadOptions(max_bytes=5))


def test_large_documents_are_read_by_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "<html><body>" + "<p>Hosts send packets to the gateway.</p>" * 10_000
    expected = load_format("html").parse(page.encode(), DEFAULT_OPTIONS)
    monkeypatch.setattr("sumpool.documents.formats.load_format", None)
    assert parse_content("html", page.encode(), DEFAULT_OPTIONS) == expected


@pytest.mark.slow
def test_bombs_have_a_reason_and_the_documents_between_them_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_SECONDS", 2)
    for number, (name, content) in enumerate(BOMBS.items()):
        (tmp_path / name).write_bytes(content())
        (tmp_path / f"{name[0]}z.docx").write_bytes(docx(word_paragraph(f"Gateway {number} sends packets.")))
    documents = {Path(document.id).name: document for document in read_documents(str(tmp_path))}
    for number, name in enumerate(BOMBS):
        assert documents[f"{name[0]}z.docx"].text == f"Gateway {number} sends packets."
        assert f"{name} must " in documents[name].error
        assert "\n" not in documents[name].error


@pytest.mark.slow
def test_a_document_that_takes_long_does_not_delay_another(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    workers.read("pdf", packed(TEXT, b"[]"), DEFAULT_OPTIONS)
    monkeypatch.setattr(worker, "_SECONDS", 3)
    with ThreadPoolExecutor(1) as thread:
        bomb = thread.submit(workers.read, "mediawiki", BOMBS["b.wiki"](), DEFAULT_OPTIONS)
        assert workers.read("pdf", packed(TEXT, b"[]"), DEFAULT_OPTIONS).blocks
        assert not bomb.done()
        with pytest.raises(ValueError, match=TOO_LONG):
            bomb.result()


@pytest.mark.slow
def test_a_file_that_takes_too_much_memory_ends_the_other_process_alone(workers: Workers) -> None:
    bomb = packed(zlib.compress(zlib.compress(objects(9_000_000), 9), 9).hex().encode() + b">", b"[/AHx/Fl/Fl]")
    assert len(bomb) < 10_000
    with pytest.raises(ValueError, match=r"must be (?:read in|a file that can be read in)|must expand to"):
        workers.read("pdf", bomb, DEFAULT_OPTIONS)
    assert workers.read("pdf", packed(TEXT, b"[]"), DEFAULT_OPTIONS).blocks[0].text.startswith("Hosts send packets")


def test_a_process_that_was_killed_is_started_again(workers: Workers) -> None:
    for _ in range(2):
        assert workers.read("pdf", packed(TEXT, b"[]"), DEFAULT_OPTIONS).blocks
        (process,) = workers._idle
        process.kill()
        process.wait()


def test_modules_of_the_working_directory_are_not_imported(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("open('run', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    assert workers.read("pdf", packed(TEXT, b"[]"), DEFAULT_OPTIONS).blocks
    assert [path.name for path in tmp_path.iterdir()] == ["json.py"]
