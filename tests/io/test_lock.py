import errno
import multiprocessing
import os
import signal
from pathlib import Path
from unittest.mock import Mock

import pytest
from filelock import FileLock

from sumpool.errors import RecipeError
from sumpool.io.lock import locked, locked_for_writing


def refuse(holder: str) -> None:
    raise RuntimeError(f"process {holder} holds the lock")


def test_a_holder_without_an_id_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sleep = Mock()
    monkeypatch.setattr("time.sleep", sleep)
    with locked(tmp_path / "lock", refuse):
        (tmp_path / "lock.pid").unlink()
        waits = iter((wait, wait, refuse))
        with (
            pytest.raises(RuntimeError, match="process unknown"),
            locked(tmp_path / "lock", lambda holder: next(waits)(holder)),
        ):
            pass
    assert sleep.call_count == 2  # between attempts


def test_a_killed_process_releases_its_lock(tmp_path: Path) -> None:
    ready, acquired = os.pipe()
    child = os.fork()
    if child == 0:
        with locked(tmp_path / "lock", refuse):
            os.write(acquired, b"!")
            signal.pause()
    os.read(ready, 1)
    with pytest.raises(RuntimeError, match=f"process {child} "), locked(tmp_path / "lock", refuse):
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with locked(tmp_path / "lock", refuse):
        pass


def test_an_interrupted_removal_releases_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        monkeypatch.context() as patched,
        pytest.raises(KeyboardInterrupt) as raised,  # keeps the lock object
        locked(tmp_path / "lock", refuse),
    ):
        patched.setattr(Path, "unlink", Mock(side_effect=KeyboardInterrupt))
    with locked(tmp_path / "lock", refuse):
        pass
    assert raised.traceback


def wait(holder: str) -> None:
    del holder


def count(folder: Path, times: int) -> None:
    for _ in range(times):
        with locked(folder / "lock", wait):
            number = int((folder / "number").read_text())
            os.sched_yield()
            (folder / "number").write_text(str(number + 1))


def test_lock_files_are_removed_and_still_exclude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A holder that removes the file must not let two others in, one of them waiting for the removed file."""
    monkeypatch.setattr("sumpool.io.lock._POLL_SECONDS", 0.001)
    (tmp_path / "number").write_text("0")
    context = multiprocessing.get_context("fork")
    others = [context.Process(target=count, args=(tmp_path, 50)) for _ in range(4)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert (tmp_path / "number").read_text() == "200"
    assert [path.name for path in tmp_path.iterdir()] == ["number"]


@pytest.mark.parametrize("kind", ["missing", "file", "folder"])
def test_one_process_writes_a_path(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "out"
    if kind == "file":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    refusal = f"out must be written by one process at a time, but process {os.getpid()} is .* or name another"
    with locked_for_writing(path, "name another"):
        assert (tmp_path / ".out.lock").exists()
        with pytest.raises(RecipeError, match=refusal), locked_for_writing(path, "name another"):
            pass
    with locked_for_writing(path, "name another"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ([] if kind == "missing" else ["out"])


def test_paths_that_cannot_be_replaced_have_no_lock(tmp_path: Path) -> None:
    with locked_for_writing(tmp_path / "no" / "out", "name another"), locked_for_writing(Path("/dev/null"), "wait"):
        assert not (tmp_path / "no").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileLock, "acquire", Mock(side_effect=PermissionError(errno.EACCES, "Permission denied")))
    refusal = "out must be a path that can be written, got: .*Permission denied"
    with pytest.raises(RecipeError, match=refusal), locked_for_writing(tmp_path / "out", "name another"):
        pass
