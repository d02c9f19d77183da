import errno
import os
import pickle
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from safetensors import SafetensorError

from sumpool.errors import RecipeError, ResourceError
from sumpool.io.atomic import (
    FullDiskError,
    counted,
    disk_errors,
    remove,
    remove_temporary,
    replace_file,
    replace_folder,
    require_space,
    sync,
    temporary_path,
)


def failure(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def test_temporary_files_and_folders_are_removed_and_links_not_followed(tmp_path: Path) -> None:
    temporary_path(tmp_path / "step").mkdir()
    (temporary_path(tmp_path / "step") / "file").touch()
    temporary_path(tmp_path / "file").touch()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").touch()
    (tmp_path / ".tmp-x").symlink_to(tmp_path / "inner")
    remove_temporary(tmp_path)
    remove_temporary(tmp_path / "missing")
    for name in ("inner", "inner/file"):
        (tmp_path / "link").symlink_to(tmp_path / name)
        remove(tmp_path / "link")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["inner", "inner/file"]
    remove(tmp_path / "inner")
    assert list(tmp_path.iterdir()) == []


def test_too_little_space_is_an_error_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2_000_000))
    require_space(tmp_path / "half", 2_000_000 - 1_048_576)
    with pytest.raises(ResourceError, match="must have 3,048,576 bytes free, got 2,000,000: make room"):
        require_space(tmp_path / "half", 2_000_000)


def test_errors_of_the_disk_become_a_sentence() -> None:
    with (
        pytest.raises(ResourceError, match=r"out must be written completely, got: .*No space left.*; start again"),
        disk_errors(Path("runs/out")),
    ):
        raise SafetensorError("No space left on device")
    full = "out must be written completely, got: .*make room on the disk and name another; what was saved"
    broken = "out must be written completely, got: Input/output error; name another"
    for number, message in [(errno.ENOSPC, full), (errno.EFBIG, full), (errno.EDQUOT, full), (errno.EIO, broken)]:
        for only_full in (False, True):
            with (
                pytest.raises(ResourceError, match=message),
                disk_errors(Path("runs/out"), advice="name another", only_full=only_full),
            ):
                raise failure(number)


def test_a_path_that_cannot_be_written_is_no_full_disk() -> None:
    for number in [errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOENT, errno.EEXIST, errno.EISDIR, errno.ENOTDIR]:
        reason = (
            rf"out must be a path that can be written, got: .*{os.strerror(number)}; correct it or its permissions$"
        )
        with pytest.raises(RecipeError, match=reason), disk_errors(Path("out")):
            raise failure(number)
    with pytest.raises(PermissionError, match="denied"), disk_errors(Path("out"), only_full=True):
        raise failure(errno.EACCES)


def fill(folder: Path) -> None:
    with disk_errors(folder), replace_folder(folder) as new:
        (new / "data").write_bytes(bytes(1000))
        replace_file(new / "more", bytes(1000))


@pytest.mark.parametrize("operation", ["fsync", "replace"])
def test_a_failed_replacement_leaves_the_old_content_and_tells_the_bytes_needed(
    operation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_file(tmp_path / "file", b"old")
    monkeypatch.setattr(os, operation, Mock(side_effect=failure(errno.ENOSPC)))
    expected = "{} must be written completely, got: No space left on device, {} bytes or more are needed"
    with pytest.raises(ResourceError, match=expected.format("file", "1,234")), disk_errors(tmp_path / "file"):
        replace_file(tmp_path / "file", bytes(1234))
    with pytest.raises(ResourceError, match=expected.format("folder", "1,050,576")):
        fill(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_errors_of_a_full_disk_have_the_bytes() -> None:
    for error, expected in [
        (SafetensorError("I/O error: No space left on device (os error 28)"), FullDiskError),
        (SafetensorError("I/O error: (os error 5)"), SafetensorError),
        (failure(errno.EFBIG), FullDiskError),
        (failure(errno.EIO), OSError),
    ]:
        with pytest.raises(expected) as raised, counted(Path("a"), 7):
            raise error
        assert type(raised.value) is expected
        if isinstance(raised.value, FullDiskError):
            copy = pickle.loads(pickle.dumps(raised.value))
            assert (copy.needed, copy.errno, copy.filename) == (7, raised.value.errno, "a")


def test_devices_are_written_to_as_they_are(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    replace_file(tmp_path / "pipe", b"text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_on_windows_folders_are_not_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    synced: list[int] = []
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setattr(os, "fsync", synced.append)
    sync(tmp_path / "file")
    sync(tmp_path)
    assert len(synced) == 1


def fill_and_fail(folder: Path) -> None:
    (folder / "half").write_text("half")
    raise failure(errno.EIO)


def test_a_failure_leaves_the_older_folder_and_nothing_else(tmp_path: Path) -> None:
    """Also where a process was killed between the two renames of the replacement."""
    for name in ("made", ".tmp-old-made"):
        (tmp_path / ".tmp-made").mkdir()
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").touch()
        with pytest.raises(OSError, match="Input/output"), replace_folder(tmp_path / "made") as new:
            fill_and_fail(new)
        assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["made", "made/old"]
        shutil.rmtree(tmp_path / "made")


def test_whatever_fails_the_older_or_the_newer_folder_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails before every flush and every rename in turn."""
    with replace_folder(tmp_path / "made") as new:
        (new / "old").touch()
    for turn in range(20):
        countdown = iter(range(turn))

        def fail(*paths: object, operation: Callable[..., None]) -> None:
            if next(countdown, None) is None:  # noqa: B023 - called within the turn
                raise OSError(5, "Input/output error")
            operation(*paths)

        with monkeypatch.context() as patch:
            for name in ("fsync", "replace"):
                patch.setattr(os, name, partial(fail, operation=getattr(os, name)))
            try:
                with replace_folder(tmp_path / "made") as new:
                    (new / "new").touch()
            except OSError:
                pass
            else:
                break
        (content,) = (path.name for path in (tmp_path / "made").iterdir())
        assert [path.name for path in tmp_path.iterdir()] == ["made"]
        if content == "new":
            break
        assert content == "old"
    # two files to flush, two renames, and the flush of the parent may fail
    assert (turn, content) == (4, "new")
