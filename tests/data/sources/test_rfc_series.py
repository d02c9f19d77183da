import gzip
import io
import tarfile
from pathlib import Path

import pytest

from sumpool.data.sources._rfc_series import series_files
from sumpool.documents.document import Limits
from sumpool.errors import DataError


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


def test_archives_that_expand_to_too_much_are_errors(tmp_path: Path) -> None:
    bomb = {"rfc1.txt": bytes(32 * 2**20)}
    path = archive(tmp_path / "x.tar.xz", bomb)
    with pytest.raises(DataError, match=r"x\.tar\.xz must expand to at most 300 times its size, got more"):
        list(series_files(path, "txt"))
    (tmp_path / "rfc1.txt.gz").write_bytes(gzip.compress(bomb["rfc1.txt"]))
    with pytest.raises(DataError, match=r"rfc1\.txt\.gz must expand to at most 300 times its size, got more"):
        list(series_files(tmp_path, "txt"))
    (tmp_path / "rfc1.txt.gz").unlink()
    (tmp_path / "rfc1.txt").write_bytes(bytes(20))
    with pytest.raises(DataError, match=r"rfc1\.txt must have at most 0 MiB of content, got more"):
        list(series_files(tmp_path, "txt", Limits(10)))


def test_other_paths_are_an_error(tmp_path: Path) -> None:
    for content in [None, b"no archive"]:
        path = tmp_path / "x.tar.xz"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(DataError, match=r"x\.tar\.xz must be a folder or a \.tar\.xz archive with rfcN\.txt"):
            list(series_files(path, "txt"))


def test_truncated_archive_is_an_error(tmp_path: Path) -> None:
    whole = archive(tmp_path / "x.tar.xz", {f"rfc{n}.txt": bytes(range(256)) * n for n in range(1, 90)}).read_bytes()
    (tmp_path / "x.tar.xz").write_bytes(whole[:-500])
    with pytest.raises(DataError, match=r"docs/data\.md says how to get the series"):
        list(series_files(tmp_path / "x.tar.xz", "txt"))


def test_damaged_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "rfc1.txt").write_bytes(b"one")
    (tmp_path / "rfc2.txt.gz").write_bytes(b"broken")
    with pytest.raises(DataError, match=r"after RFC 1; docs/data\.md says how"):
        list(series_files(tmp_path, "txt"))
