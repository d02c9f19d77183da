import os
import select
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from sumpool.io import pipes
from sumpool.io.pipes import open_input

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pipes, "WRITER_SECONDS", 0.3)
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_file_and_a_device_are_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    with open_input(tmp_path / "file") as file, open_input(Path("/dev/null")) as device:
        assert file.read() == b"text"
        assert device.read() == b""


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Is a directory"):
        open_input(tmp_path)
    with pytest.raises(OSError, match="No such file"):
        open_input(tmp_path / "missing")
    with pytest.raises(OSError, match="embedded null byte"):
        open_input(tmp_path / "a\0b")


def test_a_pipe_that_nobody_writes_to_is_an_error(pipe: Path) -> None:
    with pytest.raises(OSError, match=r"a named pipe that nothing wrote to for 0\.3 seconds"):
        open_input(pipe)


@pytest.mark.parametrize("is_slow", [False, True])
def test_a_writer_may_come_late_and_be_slow(pipe: Path, is_slow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    looked, opened = threading.Event(), threading.Event()
    clock = SimpleNamespace(monotonic=lambda: 0.0, sleep=lambda _: looked.set())
    monkeypatch.setattr(pipes, "time", clock)

    def write() -> None:
        looked.wait()
        with pipe.open("wb", buffering=0) as writer:
            if is_slow:
                opened.wait()
            writer.write(b"one\n")
            writer.write(b"two\n" * 50_000)

    thread = threading.Thread(target=write)
    thread.start()
    with open_input(pipe) as file:
        opened.set()
        assert file.read() == b"one\n" + b"two\n" * 50_000
    thread.join()


def test_a_byte_read_while_waiting_is_not_lost(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Late:
        """Sees the data only after it was asked for the first time."""

        def register(self, descriptor: int, events: int) -> None: ...

        def poll(self, timeout: float) -> list[int]:
            del timeout
            return []

    monkeypatch.setattr(select, "poll", Late)
    keep = os.open(pipe, os.O_RDWR)
    os.write(keep, b"one\ntwo\n")
    with open_input(pipe) as file:
        os.close(keep)
        assert file.readline() == b"one\n"
        assert list(file) == [b"two\n"]
