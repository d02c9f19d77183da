"""Waiting for processes that are about to be killed."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def wait(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until a condition holds, at most for some seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it must not take that long"
        time.sleep(0.005)


def wait_for_lines(path: Path, count: int, process: "subprocess.Popen[Any]", seconds: float) -> None:
    """Wait until a process has written lines to a file, or has ended."""
    wait(
        lambda: process.poll() is not None or (path.exists() and path.read_bytes().count(b"\n") >= count),
        seconds,
    )
