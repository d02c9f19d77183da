import os
import time
from pathlib import Path

import pytest

from sumpool.data.prepared_folder import CACHE, SETTLED_SECONDS, verify_prepared, write_manifest
from sumpool.errors import DataError, Interrupted
from sumpool.io.manifest import Manifest
from sumpool.progress import no_op


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Names of the files that are hashed."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    names: list[str] = []
    verify = Manifest.verify

    def count(manifest: Manifest, folder: Path, listed: list[str], check: object) -> None:
        names.extend(listed)
        verify(manifest, folder, listed, check)  # type: ignore[arg-type]

    monkeypatch.setattr(Manifest, "verify", count)
    return names


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    (folder / "test").mkdir(parents=True)
    (folder / "report.json").write_text("{}")
    (folder / "test" / "texts.jsonl").write_text("Hosts send datagrams.")
    write_manifest(folder, {}, no_op)
    for path in folder.rglob("*"):
        make_older(path)
    return folder


def make_older(path: Path) -> None:
    past = time.time() - 10 * SETTLED_SECONDS
    os.utime(path, (past, past))


def test_files_are_hashed_once(folder: Path, hashed: list[str]) -> None:
    verify_prepared(folder)
    assert sorted(hashed) == ["report.json", "test/texts.jsonl"]
    verify_prepared(folder)
    verify_prepared(folder / ".." / folder.name)
    assert len(hashed) == 2
    verify_prepared(folder, full=True)
    assert len(hashed) == 4


def test_changed_files_are_hashed_again(folder: Path, hashed: list[str]) -> None:
    verify_prepared(folder)
    hashed.clear()
    os.utime(folder / "report.json", (1, 1))
    verify_prepared(folder)
    (folder / "copy").write_bytes((folder / "report.json").read_bytes())
    os.utime(folder / "copy", (1, 1))
    (folder / "copy").rename(folder / "report.json")
    verify_prepared(folder)
    assert hashed == ["report.json", "report.json"]


@pytest.mark.parametrize("times", ["new", "restored"])
def test_changed_letters_are_named(folder: Path, hashed: list[str], times: str) -> None:
    verify_prepared(folder)
    hashed.clear()
    path = folder / "test" / "texts.jsonl"
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        path.write_text("Hosts send Datagrams.")
    if times == "restored":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    for _ in range(2):
        with pytest.raises(DataError, match=r"test/texts\.jsonl must hold 21 bytes .* it is damaged or was changed"):
            verify_prepared(folder)


@pytest.mark.parametrize("change", ["cut", "longer", "missing"])
def test_sizes_are_compared_every_time(folder: Path, hashed: list[str], change: str) -> None:
    del hashed
    verify_prepared(folder)
    path = folder / "test" / "texts.jsonl"
    if change == "missing":
        path.unlink()
    else:
        path.write_text(path.read_text()[:-1] if change == "cut" else path.read_text() + "x")
    with pytest.raises(DataError, match=r"test/texts\.jsonl must (hold|be readable)"):
        verify_prepared(folder)


def test_recent_changes_are_not_remembered(folder: Path, hashed: list[str]) -> None:
    (folder / "report.json").touch()
    for _ in range(2):
        verify_prepared(folder)
    assert sorted(hashed) == ["report.json", "report.json", "test/texts.jsonl"]


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"files": 1}', b'{"files": {"report.json": "x"}}'])
def test_a_damaged_cache_is_ignored(folder: Path, hashed: list[str], tmp_path: Path, content: bytes) -> None:
    verify_prepared(folder)
    (cache,) = (tmp_path / "cache").rglob("*.json")
    cache.write_bytes(content)
    verify_prepared(folder)
    verify_prepared(folder)
    assert len(hashed) == 4


def test_without_a_cache_everything_is_hashed(folder: Path, hashed: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").touch()  # no folder
    for _ in range(2):
        verify_prepared(folder)
    assert len(hashed) == 4


def test_a_damaged_manifest_is_named(folder: Path) -> None:
    for content in ["", "[]", "{}", '{"schema": 1, "fingerprint": "made from this"}', "null"]:
        (folder / "manifest.json").write_text(content)
        with pytest.raises(DataError, match=r"manifest\.json must be a manifest"):
            verify_prepared(folder)


def test_hashing_can_be_stopped(folder: Path, hashed: list[str]) -> None:
    del hashed

    def stop() -> None:
        raise Interrupted(2)

    with pytest.raises(Interrupted):
        verify_prepared(folder, check=stop)
