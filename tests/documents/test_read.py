import gzip
import io
import json
import os
import unicodedata
from collections.abc import Iterator, Sized
from pathlib import Path
from threading import Event

import pytest

from sumpool.documents.document import DEFAULT_OPTIONS, Document, ReadOptions, TextBlock
from sumpool.documents.formats import LIBRARIES
from sumpool.documents.read import STDIN, check_arguments, files_of, read_all, read_documents, with_errors
from sumpool.documents.worker import TOO_LARGE
from sumpool.errors import DataError


def write(path: Path, content: str | bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def texts(name: str, options: ReadOptions = DEFAULT_OPTIONS) -> list[tuple[str, str]]:
    """Texts and errors of an argument."""
    return [(document.text, document.error) for document in read_documents(name, options)]


def test_text_file_is_a_document(tmp_path: Path) -> None:
    for name in ("a.txt", "b.md", "README", "C.TXT"):
        path = write(tmp_path / name, "Some text.\n")
        assert list(read_documents(path)) == [Document(path, "Some text.", blocks=(TextBlock("Some text.", line=1),))]
    for name in ("a.txt.gz", "a.txt", "a.gz.zst"):  # the content counts
        assert texts(write(tmp_path / name, gzip.compress(b"packed"))) == [("packed", "")]


def test_title_blocks_and_notes_come_from_the_format(tmp_path: Path) -> None:
    content = "---\ntitle: Birds\n---\n# Birds\n\nA\u200b bird sings.\n\n## References\n\nOne.\n"
    (document,) = read_documents(write(tmp_path / "a.md", content))
    assert document == Document(
        document.id,
        "Birds\n\nA bird sings.",
        title="Birds",
        blocks=(TextBlock("Birds", "heading", 1, line=4), TextBlock("A bird sings.", line=6)),
        notes=("1 invisible character removed", "2 words of references and appendices left out"),
    )
    (document,) = read_documents(document.id, ReadOptions(keep_references=True))
    assert document.text == "Birds\n\nA bird sings.\n\nReferences\n\nOne."


def test_accents_and_line_ends_of_other_systems_make_no_difference(tmp_path: Path) -> None:
    prose = "Die Brücke über den Fluß.\n\nUn café à Orléans.\n"
    for name, text in [
        ("a.txt", prose),
        ("a.md", prose),
        ("a.html", prose),
        ("a.jsonl", '{"text": "Die Brücke über den Fluß."}\n'),
        ("a.eml", f"Subject: Zürich\n\n{prose}"),
    ]:
        (composed,) = read_documents(write(tmp_path / name, text))
        (decomposed,) = read_documents(write(tmp_path / name, unicodedata.normalize("NFD", text).replace("\n", "\r\n")))
        assert decomposed == composed


def test_stdin_is_recognised_by_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(content: bytes) -> list[tuple[str, str, str]]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        return [(item.id, item.text, item.error) for item in read_documents(STDIN)]

    assert read("Grüße".encode()) == [("-", "Grüße", "")]
    assert read(b"\xff") == [("-", "", "stdin must be UTF-8, got byte 0xff at position 0; convert it")]
    assert read(gzip.compress(b'{"id": 1, "text": "A"}\n{"text": "B"}')) == [("1", "A", ""), ("stdin:2", "B", "")]
    assert read(b"\n# A\n\n- [b](https://example.com)\n- [c](https://example.com)\n") == [("-", "A\n\nb\n\nc", "")]
    ((_, _, error),) = read(b"\x89PNG\r\n")
    assert error.startswith("stdin must be text or one of .txt, ")
    ((_, _, error),) = read(gzip.compress(b"packed")[:-9])
    assert error.startswith("stdin must be complete, got: ")


def test_folder_yields_a_document_per_file_in_order(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "a.txt", "a"),
        write(tmp_path / "b" / "c.md", "c"),
        write(tmp_path / "b" / "d.pdf", "%PDF"),
        write(tmp_path / "e.txt", b"\xff"),
    ]
    write(tmp_path / ".hidden" / "x.txt", "hidden")
    write(tmp_path / ".x.txt", "hidden")
    documents = list(read_documents(str(tmp_path)))
    assert [document.id for document in documents] == paths
    assert [document.text for document in documents] == ["a", "c", "", ""]
    assert documents[2].error.startswith(f"{paths[2]} must be ")
    assert documents[3].error == f"{paths[3]} must be UTF-8, got byte 0xff at position 0; convert it"


def test_the_next_documents_are_read_while_one_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / f"{number}.txt" for number in range(12)]
    begun = {path: Event() for path in paths}

    def read(path: Path, _: ReadOptions) -> Iterator[Document]:
        begun[path].set()
        if path == paths[0]:  # takes longer than the next one
            assert begun[paths[1]].wait(60)
        if path == paths[-1]:
            raise DataError("no more")
        yield Document(str(path), "")

    monkeypatch.setattr("sumpool.documents.read._file_documents", read)
    documents = read_all(list(map(str, paths)))
    assert isinstance(documents, Sized)
    assert len(documents) == 12
    ahead = iter(documents)
    assert not begun[paths[0]].is_set()
    assert next(ahead).id == str(paths[0])
    assert begun[paths[7]].wait(60)
    assert not begun[paths[9]].is_set()
    assert [next(ahead).id for _ in paths[1:-1]] == [str(path) for path in paths[1:-1]]
    with pytest.raises(DataError, match="no more"):
        next(ahead)
    stopped = iter(read_all(list(map(str, paths)), limit=3))
    assert next(stopped).id == str(paths[0])
    stopped.close()  # type: ignore[attr-defined]


def test_a_limit_counts_the_mails_of_a_mailbox_without_its_suffix(tmp_path: Path) -> None:
    header = "From ada@example.org Mon Mar  2 10:00:00 2026\nFrom: ada@example.org\nTo: bo@example.org\nSubject: Quay\n"
    mail = f"{header}Date: Mon, 2 Mar 2026 10:00:00 +0000\n\nThe quay is wet.\n\n"
    inbox = write(tmp_path / "inbox", 3 * mail)
    assert [document.text for document in read_all([inbox])] == 3 * ["The quay is wet."]
    assert len(list(read_all([inbox], limit=2))) == 2
    assert len(list(read_all([inbox, inbox], limit=4))) == 4
    named = read_all([write(tmp_path / "a.mbox", 2 * mail)])
    assert not isinstance(named, Sized)  # as the number of mails is not known before
    assert len(list(named)) == 2


def test_unreadable_file_is_a_document_with_an_error(tmp_path: Path) -> None:
    packed = gzip.compress(b"word " * 1000)
    for path, message in [
        (str(tmp_path / "missing.txt"), "must be a file that can be read"),
        ("a\0b", "must be a file that can be read, got: embedded null byte; check the path"),
        (write(tmp_path / "broken.txt.gz", packed[:-9]), "must be complete"),
        (write(tmp_path / "broken.jsonl.zst", b"no archive"), "must be complete"),
        (write(tmp_path / "a.txt.gz", packed), "must have at most 0 MiB of content, got more; raise --max-bytes"),
        (write(tmp_path / "a.jsonl", json.dumps({"text": "x" * 100})), "must have at most 0 MiB of content, got more"),
    ]:
        (document,) = read_documents(path, ReadOptions(max_bytes=100))
        assert document.id == path
        assert message in document.error


def test_what_a_reader_runs_out_of_is_an_error() -> None:
    def documents(error: type[Exception]) -> Iterator[Document]:
        raise error
        yield

    for error, message in [
        (RecursionError, "it must be nested less deeply, got more levels than can be read"),
        (MemoryError, f"it {TOO_LARGE}"),
    ]:
        assert list(with_errors("a", "it", documents(error))) == [Document("a", "", message)]


def test_arguments_are_checked_before_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in [
        ("a.txt", b"text"),
        ("b.txt.gz", b"\x1f\x8bcut"),
        ("c.pdf", b"%PDF-"),
        ("d.jsonl", b"{broken"),
    ]:
        write(tmp_path / name, content)
    os.mkfifo(tmp_path / "pipe")
    check_arguments(["-", "https://example.com/a", str(tmp_path), *map(str, sorted(tmp_path.iterdir()))])
    image, archive = write(tmp_path / "images" / "a.png", b"\x89PNG"), write(tmp_path / "b.docx", b"PK\x03\x04 cut")
    monkeypatch.setitem(LIBRARIES, "pdf", ("nothing_like_it",))
    for names, options, message in [
        (
            [str(tmp_path / "missing"), image, archive],
            DEFAULT_OPTIONS,
            r"missing must be a file .*a.png must be text .*b.docx must be a compl",
        ),
        (["a\0b"], DEFAULT_OPTIONS, "embedded null byte; check the path"),
        (["s3://bucket/a.txt"], DEFAULT_OPTIONS, r"s3://bucket/a\.txt must come with --ray, which reads object stores"),
        (["-", "-"], DEFAULT_OPTIONS, "stdin must be named once, got - several times"),
        ([str(tmp_path / "images")], DEFAULT_OPTIONS, "must hold documents, got none; check the folder"),
        ([str(tmp_path)], ReadOptions(glob="*.org"), r"must hold documents that match \*.org, got none"),
        ([str(tmp_path / "c.pdf")], DEFAULT_OPTIONS, "c.pdf: pdf files need nothing_like_it, which is not installed"),
    ]:
        with pytest.raises(DataError, match=message):
            check_arguments(names, options)


def fill(folder: Path) -> None:
    for name in (".hidden.txt", "a.txt", "b/README", "b/c.md", "b/d.csv", "g.jsonl", "v1.2", "z.py"):
        write(folder / name, "Some text.")
    for name in ("e.png", "f.png", "zz"):
        write(folder / name, b"\x89PNG")
    write(folder / "man/ls.1", ".TH LS 1\n")
    os.mkfifo(folder / "pipe.txt")
    (folder / "broken.txt").symlink_to(folder / "missing")


def listed(folder: Path, options: ReadOptions = DEFAULT_OPTIONS) -> tuple[list[str], list[str]]:
    notices: list[str] = []
    files = [str(path.relative_to(folder)) for path in files_of(folder, options, notices.append)]
    return files, notices


def test_documents_of_a_folder_are_read_and_others_counted_unless_a_pattern_decides(tmp_path: Path) -> None:
    fill(tmp_path)
    files, (notice,) = listed(tmp_path)
    assert files == ["a.txt", "b/README", "b/c.md", "g.jsonl", "man/ls.1"]
    assert notice == (
        f"{tmp_path}: 8 files passed over (2 that are no files, 2 .png, 1 .csv, 1 .2, 2 others); "
        "--glob names the files to read"
    )
    assert listed(tmp_path, ReadOptions(glob="*.p[yn]*")) == (["e.png", "f.png", "z.py"], [])
    assert listed(tmp_path, ReadOptions(glob="b/*.csv"))[0] == ["b/d.csv"]


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    folder, other, linked = tmp_path / "folder", tmp_path / "other", tmp_path / "linked"
    for path in (folder, other):
        write(path / "text.txt", "Some text.")
    (folder / "inside.txt").symlink_to("text.txt")
    (folder / "outside.txt").symlink_to(other / "text.txt")
    (folder / "subfolder").symlink_to(other)
    linked.symlink_to(folder)
    for start, options in ((folder, DEFAULT_OPTIONS), (linked, ReadOptions(glob="*.txt"))):
        files, (notice,) = listed(start, options)
        assert files == ["inside.txt", "text.txt"]
        assert "1 linked from elsewhere" in notice
