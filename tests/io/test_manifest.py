import json
from pathlib import Path

import pytest

from sumpool.errors import CheckpointError, DataError, Interrupted
from sumpool.io.manifest import FileDigest, Manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("first")
    (tmp_path / "b.txt").write_text("second")
    Manifest({name: FileDigest.of(tmp_path / name) for name in ("a.txt", "b.txt")}, {"step": 3}).write(tmp_path)
    return tmp_path


def test_a_manifest_is_read_as_it_was_written(folder: Path) -> None:
    manifest = Manifest.read(folder)
    manifest.verify(folder, manifest.files)
    assert manifest.facts == {"step": 3}
    assert FileDigest.of(folder / "a.txt") == FileDigest.of_bytes(b"first") == manifest.files["a.txt"]


def test_announced_content_is_as_good_as_the_old(folder: Path) -> None:
    manifest = Manifest.read(folder)
    Manifest(manifest.files, manifest.facts, {"a.txt": FileDigest.of_bytes(b"new")}).write(folder)
    manifest = Manifest.read(folder)
    manifest.verify(folder, ["a.txt"])
    (folder / "a.txt").write_text("new")
    manifest.verify(folder, ["a.txt"])


def test_every_bit_of_the_manifest_counts(folder: Path) -> None:
    path = folder / "manifest.json"
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        with pytest.raises(CheckpointError, match=r"manifest\.json must"):
            Manifest.read(folder)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b"\xff", b'{"schema": 1, "files": [], "facts": {}, "incoming": {}}']
)
def test_what_is_no_manifest_is_refused(folder: Path, content: bytes) -> None:
    (folder / "manifest.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"manifest\.json must be a manifest, got"):
        Manifest.read(folder)


def test_another_schema_is_refused(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 1}))
    with pytest.raises(CheckpointError, match="must have schema 2, got 1"):
        Manifest.read(folder)


def test_a_missing_manifest_or_file_is_named(folder: Path) -> None:
    manifest = Manifest.read(folder)
    (folder / "a.txt").unlink()
    with pytest.raises(CheckpointError, match=r"a\.txt must be readable, got: .*No such file"):
        manifest.verify(folder, ["a.txt"])
    (folder / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match=r"manifest\.json must be readable"):
        Manifest.read(folder)


def test_changed_and_unknown_files_are_named(folder: Path) -> None:
    manifest = Manifest.read(folder)
    (folder / "a.txt").write_text("First")
    with pytest.raises(
        CheckpointError, match=r"a\.txt must hold 5 bytes with SHA-256 .*: it is damaged or was changed"
    ):
        manifest.verify(folder, ["a.txt"])
    with pytest.raises(CheckpointError, match=r"c\.txt must be named in the manifest\.json beside it"):
        manifest.compare(folder / "c.txt", "c.txt", FileDigest.of_bytes(b""))


def test_a_manifest_of_another_kind_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match=r"manifest\.json must be the manifest of a prepared data folder, got 'run'"):
        Manifest.read(folder, "prepared data")
    Manifest({}, kind="evaluation").write(folder)
    with pytest.raises(CheckpointError, match="must be the manifest of a run folder, got 'evaluation'"):
        Manifest.read(folder)


def test_files_of_data_are_data_errors_and_checking_them_can_be_stopped(folder: Path) -> None:
    def stop() -> None:
        raise Interrupted(2)

    Manifest({"a.txt": FileDigest.of_bytes(b"other")}, kind="prepared data").write(folder)
    manifest = Manifest.read(folder, "prepared data")
    with pytest.raises(DataError, match=r"a\.txt must hold 5 bytes"):
        manifest.verify(folder, ["a.txt"])
    with pytest.raises(Interrupted):
        manifest.verify(folder, ["a.txt"], stop)
