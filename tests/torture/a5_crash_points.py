"""Crashes at file operations of the commands that write; `tests/training/test_checkpoint.py` has those of a save."""

import atexit
import errno
import io
import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal
from unittest.mock import patch

import safetensors.torch

from sumpool.cli.app import main
from sumpool.errors import SumpoolError
from sumpool.io.manifest import Kind, Manifest
from tests.conftest import TOY, story, write_lines
from tests.torture.figures import Measured

TRAIN = "train: {steps: 2, batch_tokens: 512, validate_every: 1, rouge_documents: 0, device: cpu, precision: fp32}\n"
_ROWS = 40


@dataclass(frozen=True)
class Command:
    """Command that writes.

    Attributes:
        name: Name of the case.
        words: The command line.
        targets: Beginnings of the names of files and folders that it writes in the working directory.
    """

    name: str
    words: Sequence[str]
    targets: tuple[str, ...]


EVALUATE = ("evaluate", "ours.jsonl", "--references", "rows.jsonl", "--set", "evaluate.resamples=100")
COMMANDS = (
    Command("prepare", ("prepare", "toy.yaml", "--set", "data.vocabulary=330"), ("prepared",)),
    Command("train", ("train", "toy.yaml", "--out", "run", "--set", "train.steps=3"), ("run",)),
    Command("summarize", ("summarize", "rows.jsonl", "--fast", "--out", "out.jsonl", "--resume"), ("out.jsonl",)),
    Command("summarize --out-dir", ("summarize", "rows.jsonl", "--fast", "--out-dir", "out"), ("out",)),
    Command("evaluate", (*EVALUATE, "--out", "scores", "--set", "evaluate.lead_words=20"), ("scores", ".scores")),
    Command(
        "report", (*EVALUATE, "--out", "scores", "--resume", "--html", "page.html"), ("page.html", "scores", ".scores")
    ),
    Command("export", ("export", "run", "exported", "--precision", "fp32"), ("exported",)),
)


@cache
def base() -> Path:
    """Make a working directory with documents, prepared data, a finished run, summaries and scores, once."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    rows = [{"id": f"d{row}", "document": story(row, 12), "summary": story(row, 1)} for row in range(_ROWS)]
    write_lines(folder / "rows.jsonl", rows)
    write_lines(folder / "ours.jsonl", [{"id": row["id"], "summary": row["document"][:150]} for row in rows])
    (folder / "toy.yaml").write_text(TOY.format(folder=".") + TRAIN)
    (folder / "page.html").write_text("older")
    commands = (
        ("train", "toy.yaml", "--out", "run"),
        ("summarize", "rows.jsonl", "--fast", "--out", "out.jsonl", "--limit", "3"),
        ("summarize", "rows.jsonl", "--fast", "--out-dir", "out", "--limit", "3"),
        (*EVALUATE, "--out", "scores"),
    )
    for words in commands:
        status, errors = run(folder, words)
        assert status == 0, errors
    return folder


def run(folder: Path, words: Sequence[str]) -> tuple[int, list[str]]:
    """Run a command in a folder, and return its exit code and its error lines."""
    output, arguments = io.StringIO(), sys.argv
    status: object = 0
    with chdir(folder), redirect_stdout(io.StringIO()), redirect_stderr(output):
        sys.argv = ["sumpool", *words]
        try:
            main()
        except SystemExit as stop:
            status = stop.code
        except KeyboardInterrupt:
            status = 130
        finally:
            sys.argv = arguments
    lines = output.getvalue().splitlines()
    errors = [number for number, line in enumerate(lines) if line.startswith(("error: ", "Traceback"))]
    return int(str(status or 0)), lines[errors[0] :] if errors else []


@contextmanager
def copied(source: Path, folder: Path) -> Iterator[dict[str, bytes]]:
    """Copy a working directory, with the times of its files, for the time of a block; gives its contents."""
    shutil.copytree(source, folder)
    try:
        yield contents(folder)
    finally:
        shutil.rmtree(folder)


def problem_of_going_on(folder: Path, command: Command) -> str:
    """Repeat a command, which must succeed and leave nothing temporary; return what is wrong, or an empty text."""
    status, errors = run(folder, command.words)
    left = [name for name in contents(folder) if ".tmp-" in name]
    return f"then {errors or left}" if status or left else ""


def contents(folder: Path) -> dict[str, bytes]:
    """Read all files of a folder, by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


ID: Final = "A5"
FIGURE: Final = (
    "operations of prepare, evaluate, export and summarize x (EIO, ENOSPC, KeyboardInterrupt, _exit after): older "
    "files intact, the next start goes on and leaves nothing temporary"
)
NIGHT: Final = 400
QUICK: Final = 2

Fault = Literal["EIO", "ENOSPC", "KeyboardInterrupt", "_exit after"]
FAULTS: Final[tuple[Fault, ...]] = ("EIO", "ENOSPC", "KeyboardInterrupt", "_exit after")
_OPERATIONS: Final[tuple[tuple[object, str], ...]] = (
    *((os, name) for name in ("fsync", "replace", "rename", "unlink", "rmdir")),
    *((Path, name) for name in ("mkdir", "write_bytes", "write_text", "chmod")),
    (safetensors.torch, "save_file"),
)
_EXIT: Final = 77
_COMMANDS: Final = tuple(command for command in COMMANDS if command.name not in ("train", "report"))
_SECONDS: Final = 120


def measure(count: int, folder: Path) -> Measured:
    """Fail `count` file operations of commands."""
    problems = []
    source = base()
    points = [
        (command, number, fault)
        for command in _COMMANDS
        for number in range(1, _count_operations_of(source, folder / "counted", command) + 1)
        for fault in FAULTS
    ]
    chosen = random.Random(5).sample(points, min(count, len(points)))
    for command, number, fault in chosen:
        problem = _command_problem(source, folder / "x", command, number, fault)
        problems += [f"{command.name}, operation {number}, {fault}: {problem}"] if problem else []
    return Measured.by_faults(f"{len(chosen) - len(problems)} of {len(chosen)}", problems, len(chosen))


@contextmanager
def _faulty(number: int, fault: Fault | None) -> Iterator[list[str]]:
    """Let the given call of a file operation fail, and collect the names of all."""
    calls: list[str] = []

    def wrap(original: Callable[..., object], name: str) -> Callable[..., object]:
        def operation(*given: object, **named: object) -> object:
            calls.append(name)
            if fault is None or len(calls) != number:
                return original(*given, **named)
            if fault == "KeyboardInterrupt":
                raise KeyboardInterrupt
            if fault == "_exit after":
                original(*given, **named)
                os._exit(_EXIT)
            code = errno.EIO if fault == "EIO" else errno.ENOSPC
            raise OSError(code, os.strerror(code))

        return operation

    with ExitStack() as patches:
        for owner, name in _OPERATIONS:
            patches.enter_context(patch.object(owner, name, wrap(getattr(owner, name), name)))
        yield calls


def _in_child(work: Callable[[], object]) -> int:
    """Do work in a forked process, and return its exit code."""
    child = os.fork()
    if child == 0:
        signal.alarm(_SECONDS)
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _count_operations_of(source: Path, folder: Path, command: Command) -> int:
    with copied(source, folder), _faulty(0, None) as calls:
        run(folder, command.words)
        return len(calls)


def _command_problem(source: Path, folder: Path, command: Command, number: int, fault: Fault) -> str:
    """Return what is wrong after a command whose operation fails; empty if nothing is."""

    def work() -> tuple[int, list[str]]:
        with _faulty(number, fault):
            return run(folder, command.words)

    with copied(source, folder) as before:
        outcome = (_in_child(work), list[str]()) if fault == "_exit after" else work()
        problem = _state_problem(folder, before, outcome)
        if command.name == "export" and _is_intact(folder / "exported", "run"):  # failed behind its last step
            return problem
        return problem or problem_of_going_on(folder, command)


def _state_problem(folder: Path, before: dict[str, bytes], outcome: tuple[int, list[str]]) -> str:
    """Return what is wrong before the next start; empty if nothing is."""
    status, errors = outcome
    if status not in (0, 6, 130, _EXIT) or len(errors) > 1:
        return f"exit code {status}, {errors}"
    after = contents(folder)
    for name, content in before.items():
        if not name.startswith("scores/") and not after.get(name, b"").startswith(content):
            return f"changed {name}"
    places: tuple[tuple[str, Kind], ...] = (("scores", "evaluation"), ("prepared", "prepared data"))
    for name, kind in places:
        if not any(_is_intact(folder / place, kind) for place in (name, f".tmp-old-{name}")):
            return f"damaged {name}"
    return ""


def _is_intact(folder: Path, kind: Kind) -> bool:
    try:
        manifest = Manifest.read(folder, kind)
        manifest.verify(folder, manifest.files)
    except SumpoolError:
        return False
    return True
