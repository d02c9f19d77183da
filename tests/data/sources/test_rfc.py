import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from sumpool.data.config import Example, Reject
from sumpool.data.sources import RfcSourceConfig, bundled_sample, series_files
from sumpool.documents.document import Limits
from sumpool.errors import DataError
from tests.data.sources.conftest import examples

ABSTRACT = "This abstract says in at least fifteen words what the whole of the document is all about here."


def write(
    folder: Path, number: int, metadata: dict[str, Any] | None = None, words: int = 250, text: bytes | None = None
) -> None:
    lines = [
        f"   Sentence {index} of the body of RFC {number} has some more words in it."
        for index in range(words // 13 + 1)
    ]
    content = "\n".join(["A title", "", "1. Introduction", "", *lines, ""]).encode() if text is None else text
    relations: dict[str, Any] = {"obsoletes": [], "obsoleted_by": [], "updates": [], "updated_by": []}
    (folder / f"rfc{number}.txt").write_bytes(content)
    (folder / f"rfc{number}.json").write_text(json.dumps({"abstract": ABSTRACT, **relations, **(metadata or {})}))


def splits(folder: Path) -> dict[str, str]:
    return {example.id: example.split for example in examples(RfcSourceConfig(path=folder))}


def test_rows_hold_body_and_abstract_and_the_split_of_the_number(tmp_path: Path) -> None:
    for number in (7, 13, 14):
        write(tmp_path, number)
    write(tmp_path, 20, text=("1. Introduction\n\n" + "   Hélène wrote it, and more words.\n" * 40).encode("latin-1"))
    assert splits(tmp_path) == {"RFC7": "test", "RFC13": "validation", "RFC14": "train", "RFC20": "train"}
    first, *_, last = examples(RfcSourceConfig(path=tmp_path))
    assert first.document.startswith("Sentence 0 of the body of RFC 7")
    assert first.summary == ABSTRACT
    assert last.document.startswith("Hélène wrote it")


@pytest.mark.parametrize("relation", ["obsoletes", "obsoleted_by", "updates", "updated_by"])
def test_training_excludes_revisions_of_held_out_rfcs(tmp_path: Path, relation: str) -> None:
    write(tmp_path, 7, {relation: [" RFC0010 "]})
    write(tmp_path, 10)
    write(tmp_path, 11, {relation: ["RFC0003"]})
    write(tmp_path, 12, {relation: ["RFC11", "STD 3"]})
    write(tmp_path, 13, {relation: ["RFC0017"]})
    assert splits(tmp_path) == {"RFC7": "test", "RFC12": "train", "RFC13": "validation"}
    source = RfcSourceConfig(path=tmp_path)
    assert list(filter(None, map(source.example, range(15)))) == list(source.rows())


def test_short_abstracts_and_bodies_are_excluded(tmp_path: Path) -> None:
    write(tmp_path, 1, {"abstract": "Too short. This memo provides information for the Internet community."})
    write(tmp_path, 2, {"abstract": None})
    write(tmp_path, 4, words=100)
    write(tmp_path, 5)
    assert splits(tmp_path) == {"RFC5": "train"}
    lenient = RfcSourceConfig(path=tmp_path, body_words=50)
    assert len(list(lenient.rows())) == 2
    assert "50 of body" in " ".join(lenient.notes())


def test_incomplete_or_invalid_rfcs_are_rejected(tmp_path: Path) -> None:
    for number in (1, 2, 4, 5, 6):
        write(tmp_path, number)
    (tmp_path / "rfc1.json").write_text("{")
    (tmp_path / "rfc2.json").write_text('{"abstract": 5}')
    (tmp_path / "rfc4.json").unlink()
    (tmp_path / "rfc5.txt").unlink()
    rows = list(RfcSourceConfig(path=tmp_path).rows())
    rejects = {Path(row.where).name: row.reason for row in rows if isinstance(row, Reject)}
    assert rejects["rfc1.json"].startswith("must be the metadata of an RFC, got ValueError('Expecting property name")
    assert rejects["rfc2.json"] == "must be the metadata of an RFC, got KeyError('obsoletes')"
    assert rejects["rfc4.txt"] == "must have a rfc4.json beside it, got none"
    assert rejects["rfc5.json"] == "must have a text beside it, got no rfc5.txt"
    assert len(rejects) == 4
    assert len(rows) == 5


def test_default_is_the_bundled_sample_of_the_documented_sizes() -> None:
    assert list(RfcSourceConfig().files()) == [bundled_sample()]
    assert bundled_sample().stat().st_size <= 5_800_000
    assert (bundled_sample().parent / "NOTICE").read_text().count("BCP 78")
    assert all(8_000 <= len(file.content) <= 32_000 for file in series_files(bundled_sample(), "txt"))


@pytest.mark.slow
def test_bundled_sample_has_documents_of_all_splits() -> None:
    rows = list(RfcSourceConfig().rows())
    found = [row.split for row in rows if isinstance(row, Example)]
    assert len(found) == len(rows)
    assert found.count("validation") == found.count("test") == 100
    assert found.count("train") > 600


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:xz") as packed:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))
    return path


MEMBERS = {
    "rfc10.json": b"{}",
    "rfc10.txt.gz": gzip.compress(b"ten"),
    "rfc9.txt": b"nine",
    "notes.txt": b"no",
    "rfca.txt": b"no",
    "rfc1.txt.bak": b"no",
}


def test_folder_is_read_by_number(tmp_path: Path) -> None:
    for name, content in MEMBERS.items():
        (tmp_path / name).write_bytes(content)
    files = [(file.number, file.where, file.content) for file in series_files(tmp_path, "txt")]
    assert files == [(9, str(tmp_path / "rfc9.txt"), b"nine"), (10, str(tmp_path / "rfc10.txt.gz"), b"ten")]
    assert [file.content for file in series_files(tmp_path, "json")] == [b"{}"]


def test_archive_is_read_in_member_order(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.tar.xz", MEMBERS)
    assert [(file.number, file.content) for file in series_files(path, "txt")] == [(10, b"ten"), (9, b"nine")]
    assert next(series_files(path, "json")).where == f"{path}: rfc10.json"


def test_archive_is_not_extracted_to_disk(tmp_path: Path) -> None:
    path = tmp_path / "in" / "x.tar"
    path.parent.mkdir()
    with tarfile.open(path, "w") as packed:
        link = tarfile.TarInfo("rfc1.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        packed.addfile(link)
        for name in ("../rfc2.txt", "/tmp/rfc3.txt", "rfc4.txt/"):
            entry = tarfile.TarInfo(name)
            entry.size = 1
            packed.addfile(entry, io.BytesIO(b"x"))
    assert [file.number for file in series_files(path, "txt")] == [2, 3]
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["in", "x.tar"]


def test_archives_that_expand_to_too_much_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = {"rfc1.txt": bytes(32 * 2**20)}
    path = archive(tmp_path / "x.tar.xz", bomb)
    with pytest.raises(DataError, match=r"x\.tar\.xz must expand to at most 300 times its size, got more"):
        list(series_files(path, "txt"))
    (tmp_path / "rfc1.txt.gz").write_bytes(gzip.compress(bomb["rfc1.txt"]))
    with pytest.raises(DataError, match=r"rfc1\.txt\.gz must expand to at most 300 times its size, got more"):
        list(series_files(tmp_path, "txt"))
    (tmp_path / "rfc1.txt.gz").unlink()
    (tmp_path / "rfc1.txt").write_bytes(bytes(20))
    monkeypatch.setattr("sumpool.data.sources.DEFAULT_LIMITS", Limits(10))
    with pytest.raises(DataError, match=r"rfc1\.txt must have at most 0 MiB of content, got more"):
        list(series_files(tmp_path, "txt"))


def test_other_paths_and_damaged_files_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.xz"
    whole = archive(path, {f"rfc{number}.txt": bytes(range(256)) * number for number in range(1, 90)}).read_bytes()
    kinds = r"x\.tar\.xz must be a folder or a \.tar\.xz archive with rfcN\.txt .*; docs/data\.md says how to get"
    for content in (whole[:-500], b"no archive"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=kinds):
            list(series_files(path, "txt"))
    path.unlink()
    with pytest.raises(DataError, match=r"No such file .*x\.tar\.xz' ; docs/data\.md"):  # behind no RFC
        list(series_files(path, "txt"))
    (tmp_path / "rfc1.txt").write_bytes(b"one")
    (tmp_path / "rfc2.txt.gz").write_bytes(b"broken")
    with pytest.raises(DataError, match=r"after RFC 1; docs/data\.md says how"):
        list(series_files(tmp_path, "txt"))
