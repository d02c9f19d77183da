import os
import signal
from pathlib import Path

import pytest

from sumpool.errors import CheckpointError
from sumpool.training.lock import exclusive


def test_a_second_run_is_refused_by_the_name_of_the_first(tmp_path: Path) -> None:
    with exclusive(tmp_path):
        message = f"must be used by one run at a time, but process {os.getpid()} is training there"
        with pytest.raises(CheckpointError, match=message), exclusive(tmp_path):
            pass
    with exclusive(tmp_path):
        pass


def test_a_killed_run_leaves_no_lock(tmp_path: Path) -> None:
    ready, locked = os.pipe()
    child = os.fork()
    if child == 0:
        with exclusive(tmp_path):
            os.write(locked, b"!")
            signal.pause()
    os.read(ready, 1)
    with pytest.raises(CheckpointError, match=f"process {child} "), exclusive(tmp_path):
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with exclusive(tmp_path):
        pass
