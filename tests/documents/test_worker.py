import json
import subprocess
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import BoundedSemaphore
from unittest.mock import Mock

import pytest

from sumpool.documents import worker
from sumpool.documents.document import DEFAULT_OPTIONS, Document, ReadOptions
from sumpool.documents.read import documents_of, read_documents
from sumpool.documents.worker import TOO_LARGE, TOO_LONG, Workers
from sumpool.errors import ResourceError
from tests.documents.formats.pdf_files import pdf, show
from tests.torture.b3_bombs import BOMBS, pdf_of_pages

TEXT = b"BT /F1 12 Tf 72 700 Td (Hosts send packets to the gateway that is near.) Tj ET\n"
PDF = pdf_of_pages(TEXT, b"[]")
LARGE = "kept = bytearray(400 * 2**20)"


@pytest.fixture
def workers() -> Iterator[Workers]:
    workers = Workers()
    yield workers
    workers.close()


def read(workers: Workers, content: bytes, suffix: str = "", options: ReadOptions = DEFAULT_OPTIONS) -> list[Document]:
    return list(workers.read("a", "it", suffix, content, options))


def test_documents_are_the_same_as_in_this_process(workers: Workers) -> None:
    packed = pdf_of_pages(zlib.compress(TEXT), b"/FlateDecode")
    for content, suffix in [
        (pdf([show("Hosts send packets.", 100, 700)]), ""),
        (packed, ".pdf"),
        ("Die Br\u00fccke.\n\n\u201cUn caf\u00e9.\u201d".encode(), ".txt"),
        (b'{"text": "A."}\n{"text": 1}\n{"id": "b", "text": "B\\u0000."}', ".jsonl"),
        (b"no PDF", ".pdf"),
        (b"", ".txt"),
    ]:
        assert read(workers, content, suffix) == list(documents_of("a", "it", suffix, content, DEFAULT_OPTIONS))
    (document,) = read(workers, b"no PDF", ".pdf")
    assert document.error == "it must be a PDF file, got a file that starts with b'no PDF'"


def test_documents_that_nobody_takes_hold_up_no_other(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = b"id,text\na,One.\nb,Two.\n"
    monkeypatch.setattr(workers, "_free", BoundedSemaphore(1))
    left = [workers.read("a", "it", ".csv", rows, DEFAULT_OPTIONS) for _ in range(2)]
    assert [next(documents).text for documents in left] == ["One.", "One."]
    assert len(read(workers, rows, ".csv")) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="the address space is read from /proc")
def test_a_process_that_is_large_ends_before_the_next_document(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_MAIN", worker._MAIN.replace("; main()", f"; {LARGE}; main()"))
    for _ in range(2):
        assert not read(workers, b"One.", ".txt")[0].error
        assert not workers._idle


def test_the_budget_ends_at_the_document(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """More bytes come from gzip than its document may have, in this process and in that of the worker."""
    (document,) = read(workers, BOMBS["columns.csv.gz"](), ".csv")
    assert document.error.startswith("it must ")
    monkeypatch.setattr(worker, "_CHARACTERS", 10)
    monkeypatch.setattr(worker, "_CHARACTERS_PER_BYTE", 0)
    reply = worker._encoded(Document("a", "packet " * 2), "it", 14)
    assert b"it must hold text that suits its size, got 14 characters in 14 bytes; unpack it or split it" in reply


def test_bombs_have_a_reason_and_the_documents_between_them_are_read(tmp_path: Path) -> None:
    names = ["entries.docx", "replacements.rst", "deep.rst"]
    for number, name in enumerate(names):
        (tmp_path / f"{number}{name}").write_bytes(BOMBS[name]())
        (tmp_path / f"{number}z.txt").write_text(f"Gateway {number} sends packets.")
    documents = list(read_documents(str(tmp_path)))
    assert [document.text for document in documents[1::2]] == [f"Gateway {n} sends packets." for n in range(len(names))]
    for document, name in zip(documents[::2], names, strict=True):
        assert f"{name}" in document.error
        assert " must " in document.error
        assert "\n" not in document.error


@pytest.mark.slow
def test_a_document_that_takes_long_does_not_delay_another(workers: Workers) -> None:
    read(workers, PDF)
    with ThreadPoolExecutor(1) as thread:
        bomb = thread.submit(read, workers, BOMBS["lists.wiki"](), ".wiki")
        assert read(workers, PDF)[0].blocks
        assert not bomb.done()
        assert bomb.result() == [Document("a", "", f"it {TOO_LONG}")]


def test_a_document_that_takes_too_much_memory_is_one_with_a_reason(workers: Workers) -> None:
    assert read(workers, BOMBS["replacements.rst"](), ".rst") == [Document("a", "", f"it {TOO_LARGE}")]
    assert read(workers, PDF)[0].text.startswith("Hosts send packets")


def test_a_process_that_is_prepared_reads_the_first_content(workers: Workers) -> None:
    workers.prepare()
    prepared = list(workers._idle)
    assert read(workers, b"Hosts send packets.", ".txt")[0].text == "Hosts send packets."
    assert workers._idle == prepared


def test_a_process_that_was_killed_is_started_again(workers: Workers) -> None:
    for _ in range(2):
        assert read(workers, PDF)[0].blocks
        (process,) = workers._idle
        process.kill()
        process.wait()


def test_a_process_that_ends_behind_the_reason_of_a_document_gives_no_other(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, reasons in [("a", 1), ("a:1", 2)]:  # "a:1" is one of several mails, behind which others may be lost
        reply = json.dumps({"id": name, "text": "", "error": "no", "title": "", "notes": [], "blocks": []}).encode()
        code = f"import sys; sys.stdout.buffer.write({len(reply).to_bytes(8, 'little') + reply!r})"
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        monkeypatch.setattr(workers, "_take", lambda process=process: process)
        assert len(read(workers, b"")) == reasons


def test_documents_that_nobody_waits_for_end_their_process(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = workers.read("a", "it", ".jsonl", b'{"text": "A."}\n' * 10_000, DEFAULT_OPTIONS)
    assert next(rows).text == "A."
    rows.close()  # type: ignore[attr-defined]
    assert not workers._idle
    monkeypatch.setattr("subprocess.Popen", Mock(side_effect=OSError(11, "Resource temporarily unavailable")))
    with pytest.raises(ResourceError, match="must be started, got: Resource temporarily unavailable; end other"):
        read(workers, b"Text.")


def test_modules_of_the_working_directory_are_not_imported(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("open('run', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    assert read(workers, PDF)[0].blocks
    assert [path.name for path in tmp_path.iterdir()] == ["json.py"]
