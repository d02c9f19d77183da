import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sumpool.errors import CheckpointError, DataError, Interrupted
from sumpool.io.manifest import FileDigest, Manifest, _render


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("first")
    (tmp_path / "b.txt").write_text("second")
    Manifest({name: FileDigest.of(tmp_path / name) for name in ("a.txt", "b.txt")}, {"step": 0}).write(tmp_path)
    return tmp_path


def test_a_manifest_is_read_as_it_was_written_and_announced_content_is_as_good_as_the_old(folder: Path) -> None:
    manifest = Manifest.read(folder)
    manifest.verify(folder, manifest.files)
    assert manifest.facts == {"step": 0}
    assert FileDigest.of(folder / "a.txt") == FileDigest.of_bytes(b"first") == manifest.files["a.txt"]
    Manifest(manifest.files, manifest.facts, {"a.txt": FileDigest.of_bytes(b"new")}).write(folder)
    manifest = Manifest.read(folder)
    for content in ("first", "new"):
        (folder / "a.txt").write_text(content)
        manifest.verify(folder, ["a.txt"])


def test_every_bit_of_the_manifest_counts(folder: Path) -> None:
    path = folder / "manifest.json"
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        with pytest.raises(CheckpointError, match=r"manifest\.json must"):
            Manifest.read(folder)


def rewrite(folder: Path, **changes: Any) -> None:  # noqa: ANN401 - any JSON
    """Change entries of the manifest, which goes on to vouch for itself."""
    entries = json.loads((folder / "manifest.json").read_bytes()) | changes
    (folder / "manifest.json").write_bytes(_render(entries))


def test_what_is_no_manifest_of_this_version_is_refused(folder: Path) -> None:
    path = folder / "manifest.json"
    whole = path.read_bytes()
    for content in [b"", b"[]", b"{}", b"\xff", b'{"schema": 1, "files": [], "facts": {}, "incoming": {}}']:
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match=r"manifest\.json must be a manifest, got"):
            Manifest.read(folder)
    path.write_bytes(whole)
    rewrite(folder, schema=1)
    with pytest.raises(CheckpointError, match="must have schema 2, got 1"):
        Manifest.read(folder)
    rewrite(folder, schema=3, files="whatever a later version writes")
    with pytest.raises(CheckpointError, match=r"must have schema 2 or lower, got 3: a newer version of sumpool wrote"):
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
    manifest.verify_present(folder, ["a.txt", "absent.txt"])
    (folder / "a.txt").write_text("First")
    with pytest.raises(
        CheckpointError, match=r"a\.txt must hold 5 bytes with SHA-256 .*: it is damaged or was changed"
    ):
        manifest.verify(folder, ["a.txt"])
    (folder / "absent.txt").touch()
    with pytest.raises(CheckpointError, match=r"absent\.txt must be named in the manifest\.json beside it"):
        manifest.verify_present(folder, ["absent.txt"])


def test_a_manifest_of_another_kind_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match=r"manifest\.json must be a manifest of the kind 'prepared data', got 'run'"):
        Manifest.read(folder, "prepared data")
    Manifest({}, kind="evaluation").write(folder)
    with pytest.raises(CheckpointError, match="must be a manifest of the kind 'run', got 'evaluation'"):
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


def test_names_outside_the_folder_are_refused(folder: Path) -> None:
    for name in ["../a.txt", "/dev/zero", "a/../../b", ".", "", "a//b", "./a.txt", "..\\a.txt", "\ud800", "a/.."]:
        rewrite(folder, files={name: {"size": 1, "sha256": "0" * 64}})
        with pytest.raises(
            CheckpointError, match=r"manifest\.json must be a manifest, got: .*(in the folder|surrogates)"
        ):
            Manifest.read(folder)


def test_values_of_wrong_types_are_refused(folder: Path) -> None:
    whole = (folder / "manifest.json").read_bytes()
    digest = "0" * 64
    entries: list[object] = [[], None, {"size": 1}, {"size": 1, "sha256": 1}, {"size": 1, "sha256": digest[1:]}]
    entries += [{"size": size, "sha256": digest} for size in (-1, 1.0, True, 1 << 63)]
    facts: list[object] = [[], None, "", {"finished": 1.5}, {"finished": True}]
    facts += [{"step": step} for step in ("3", -1, 1 << 63)]
    wrong: list[dict[str, Any]] = [
        {section: {"a.txt": entry}} for section in ("files", "incoming") for entry in entries
    ]
    wrong += [{"facts": value} for value in (*facts, {"validation_loss": []})]
    for change in wrong:
        (folder / "manifest.json").write_bytes(whole)
        rewrite(folder, **change)
        with pytest.raises(CheckpointError, match=r"manifest\.json must be a manifest, got"):
            Manifest.read(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_links_out_of_the_folder_devices_and_pipes_are_refused(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    manifest, path = Manifest.read(folder), folder / "a.txt"
    outside = tmp_path_factory.mktemp("outside") / "a.txt"
    path.rename(outside)
    path.symlink_to(outside)
    with pytest.raises(CheckpointError, match=r"a\.txt must be a file of its folder, got a link to .*outside"):
        manifest.verify(folder, ["a.txt"])
    path.unlink()
    path.symlink_to("b.txt")
    with pytest.raises(CheckpointError, match=r"a\.txt must hold 5 bytes, got 6 bytes"):
        manifest.verify(folder, ["a.txt"])
    path.unlink()
    os.mkfifo(path)
    rewrite(folder, files={"a.txt": {"size": 0, "sha256": "0" * 64}})
    with pytest.raises(CheckpointError, match=r"a\.txt must be readable, got: .*a named pipe instead"):
        Manifest.read(folder).verify(folder, ["a.txt"])
