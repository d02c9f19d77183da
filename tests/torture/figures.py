"""Figures of reliability: one module each, whose name begins with the identifier in lower case.

A module has the constants of `Figure` and a function `measure(count, folder)`, which repeats its check `count` times in
an empty folder. Random choices come from a seeded generator, so that a count always makes the same choices.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast


class Measured(NamedTuple):
    """Result of a check.

    Attributes:
        text: The measured values, for the table.
        is_met: Whether they meet the figure.
        cases: Number of cases.
    """

    text: str
    is_met: bool
    cases: int


class Figure(Protocol):
    """Module of a figure."""

    ID: str
    """Identifier, such as "B1"."""
    FIGURE: str
    """Figure to meet."""
    NIGHT: int
    """Count of `make torture`."""
    QUICK: int
    """Count of the test, which takes a few seconds; 0 if the figure takes minutes and a machine to itself."""

    def measure(self, count: int, folder: Path) -> Measured:
        """Repeat the check in an empty folder."""
        ...


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


def state(process: int) -> str:
    """Return the letter of a process's state, such as T when it is stopped; empty if there is no such process."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def family(process: int) -> Iterator[int]:
    """Yield a process and those that it has started, directly or not."""
    yield process
    with suppress(OSError):  # it has ended
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from family(int(child))


def memory(process: int) -> float:
    """Resident memory of a process and those that it has started, in MB."""
    pages = 0
    for member in family(process):
        with suppress(OSError, IndexError):  # it has ended
            pages += int(Path(f"/proc/{member}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def figures() -> list[Figure]:
    """Import the modules of figures, in order of their identifiers."""
    paths = sorted(Path(__file__).parent.glob("[a-h][0-9]_*.py"))
    return [cast(Figure, import_module(f"tests.torture.{path.stem}")) for path in paths]
