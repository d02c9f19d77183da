import errno
import multiprocessing
import os
import time
from pathlib import Path

import pytest

from sumpool.data.staging import alone, disk_errors, staged
from sumpool.errors import Interrupted, ResourceError


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    with staged(tmp_path / "made") as new:
        (new / "inner").mkdir()
        (new / "inner" / "file").write_text("content")
        assert not (tmp_path / "made").exists()
    assert (tmp_path / "made" / "inner" / "file").read_text() == "content"
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_an_older_folder_is_replaced(tmp_path: Path) -> None:
    for content in ("old", "new"):
        with staged(tmp_path / "made") as new:
            (new / content).write_text(content)
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def write_half(folder: Path) -> None:
    (folder / "half").write_text("half")
    raise OSError("no room")


def test_a_failure_leaves_the_older_folder_and_nothing_else(tmp_path: Path) -> None:
    with staged(tmp_path / "made") as new:
        (new / "old").write_text("old")
    with pytest.raises(OSError, match="no room"), staged(tmp_path / "made") as new:
        write_half(new)
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["made", "made/old"]


def test_what_a_killed_process_left_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / ".made.new").mkdir()
    (tmp_path / ".made.new" / "half").write_text("half")
    with staged(tmp_path / "made") as new:
        assert list(new.iterdir()) == []


def hold(folder: Path, seconds: float) -> None:
    with alone(folder, lambda: None):
        (folder.parent / "held").touch()
        time.sleep(seconds)
        (folder.parent / "done").touch()


def test_one_process_at_a_time(tmp_path: Path) -> None:
    other = multiprocessing.get_context("spawn").Process(target=hold, args=(tmp_path / "made", 0.5))
    other.start()
    while not (tmp_path / "held").exists():
        time.sleep(0.01)
    with alone(tmp_path / "made", lambda: None):
        assert (tmp_path / "done").exists()
    other.join()


def test_waiting_can_be_stopped(tmp_path: Path) -> None:
    def check() -> None:
        raise Interrupted(2)

    with alone(tmp_path / "made", check), pytest.raises(Interrupted), alone(tmp_path / "made", check):
        pass


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EDQUOT])
def test_a_full_disk_is_a_sentence(tmp_path: Path, number: int) -> None:
    expected = r"made must have room on its disk, got: .*data.prepared"
    with pytest.raises(ResourceError, match=expected), disk_errors(tmp_path / "made"):
        raise OSError(number, os.strerror(number))


def test_another_failure_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(PermissionError, match="no"), disk_errors(tmp_path / "made"):
        raise PermissionError(errno.EACCES, "no")
