"""Figures of reliability: one module each, whose name begins with the identifier in lower case.

A module has the constants of `Figure` and a function `measure(count, folder)`, which repeats its check `count` times in
an empty folder. Random choices come from a seeded generator, so that a count always makes the same choices.
"""

import multiprocessing
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

ROOT = Path(__file__).parents[2]


_FAULTS, _SHOWN = 5, 5000
"""Faults that a table shows, and characters of each."""


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

    @classmethod
    def by_faults(cls, text: str, faults: Sequence[str], cases: int) -> "Measured":
        """Return the result of a check that is met if it finds no fault, of which the first are shown."""
        return cls("; ".join([text, *(fault[:_SHOWN] for fault in faults[:_FAULTS])]), not faults, cases)


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


def change_value(tree: Any, draw: random.Random, values: Sequence[object]) -> str:  # noqa: ANN401 - any JSON
    """Replace or remove a random value of nested sections and lists in place; return its path."""
    path = ""
    while isinstance(tree, dict | list) and tree:
        key = draw.choice(list(tree)) if isinstance(tree, dict) else draw.randrange(len(tree))
        path += f".{key!s:.20}"
        if isinstance(tree[key], dict | list) and tree[key] and draw.random() < 0.8:
            tree = tree[key]
            continue
        if draw.random() < 0.2:
            del tree[key]
        else:
            tree[key] = deepcopy(draw.choice(values))
        break
    return path.encode("unicode_escape").decode()


def start(*words: str, folder: Path | None = None, **streams: Any) -> "subprocess.Popen[str]":  # noqa: ANN401
    """Start `python WORDS` in a folder; its output is dropped unless `streams` name another place."""
    nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, *words], cwd=folder, env=environment, text=True, **nowhere | streams)


def exit_code_of(target: Callable[..., object], *arguments: object) -> int | None:
    """Call a function in a process that is forked after the imports of torch; return its exit code."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["torch._dynamo", "tests.training.toy"])
    process = processes.Process(target=target, args=arguments)
    process.start()
    process.join()
    return process.exitcode


def wait(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until a condition holds, at most for some seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it must not take that long"
        time.sleep(0.005)


def wait_for_lines(path: Path, count: int, process: "subprocess.Popen[Any]", seconds: float) -> None:
    """Wait until a process has written lines to a file, or has ended."""
    wait(lambda: process.poll() is not None or (path.exists() and path.read_bytes().count(b"\n") >= count), seconds)


def status(process: int, field: str) -> str:
    """Return the first word of a field of a process's status; empty if there is no such process."""
    with suppress(OSError):
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return next((line.split()[1] for line in lines if line.startswith(f"{field}:")), "")
    return ""


def has_signal(process: int, field: str, number: int) -> bool:
    """Return whether a field of a process's status, such as SigCgt for signals that it catches, has a signal."""
    return bool(int(status(process, field) or "0", 16) & 1 << (number - 1))


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
