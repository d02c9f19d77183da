import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from safetensors import SafetensorError

from sumpool.errors import ResourceError
from sumpool.training.atomic_io import beside, on_disk, remove_half_written, replace, require_space


@pytest.mark.parametrize("operation", ["fsync", "replace"])
def test_a_failed_replacement_leaves_the_old_content(
    operation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    replace(path, b"old")

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, operation, fail)
    with pytest.raises(OSError, match="Input/output"):
        replace(path, b"new")
    assert path.read_bytes() == b"old"


def test_half_written_files_and_folders_are_removed_and_others_stay(tmp_path: Path) -> None:
    beside(tmp_path / "step").mkdir()
    (beside(tmp_path / "step") / "file").touch()
    beside(tmp_path / "file").touch()
    (tmp_path / "file").touch()
    remove_half_written(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    remove_half_written(tmp_path / "missing")


def test_too_little_room_is_a_sentence_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2_000_000))
    require_space(tmp_path / "half", 100_000)
    with pytest.raises(ResourceError, match="must have 3,048,576 bytes free, got 2,000,000: make room"):
        require_space(tmp_path / "half", 2_000_000)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), SafetensorError("No space left on device")])
def test_errors_of_the_disk_become_a_sentence(error: Exception) -> None:
    with (
        pytest.raises(ResourceError, match=r"runs/a must be written whole, got: .*No space left"),
        on_disk(Path("runs/a")),
    ):
        raise error
