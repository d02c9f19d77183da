"""A full disk in every command that writes, as the limit of the size of files."""

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.torture.a5_crash_points import COMMANDS, Command, base, contents, copied, problem_of_going_on, run
from tests.torture.figures import Measured

ID: Final = "A6"
FIGURE: Final = (
    "a full disk in prepare, train, summarize, evaluate, its report and export: one line with path and bytes needed, "
    "exit code 6, older files intact, and the command goes on with room"
)
NIGHT: Final = 140
QUICK: Final = 3
_SMALLEST_LIMIT = 64
_OF_RUN = ("run/recipe.yaml", "run/manifest.json", "run/metrics.jsonl")
"""Files of a run that its going on changes: each is replaced as a whole, or repeats the last validation."""
_BYTES = re.compile(r"[\d,]+ bytes (or more are needed|free)")


def measure(count: int, folder: Path) -> Measured:
    """Run every command with a random limit below the largest file that it writes."""
    choice = random.Random(6)
    source = base()
    largest = {command.name: _largest_written(source, folder / "whole", command) for command in COMMANDS[:count]}
    problems = []
    for number in range(count):
        command = COMMANDS[number % len(COMMANDS)]
        limit = choice.randrange(_SMALLEST_LIMIT, largest[command.name])
        problem = _problem(source, folder / "x", command, limit)
        problems += [f"{command.name} at {limit}: {problem}"] if problem else []
    return Measured.by_faults(f"{count - len(problems)} of {count}", problems, count)


def _largest_written(source: Path, folder: Path, command: Command) -> int:
    """Return the size of the largest file that a command writes with room."""
    with copied(source, folder) as before:
        status, errors = run(folder, command.words)
        assert status == 0, errors
        return max(len(content) for name, content in contents(folder).items() if before.get(name) != content)


def _problem(source: Path, folder: Path, command: Command, limit: int) -> str:
    """Return what is wrong after a command under a limit; empty if nothing is."""
    with copied(source, folder) as before:
        with _file_sizes(limit):
            status, errors = run(folder, command.words)
        paths = [line.removeprefix("error: ").removeprefix(f"{folder}/") for line in errors]
        if status != 6 or len(paths) != 1 or not _BYTES.search(paths[0]) or not paths[0].startswith(command.targets):
            return f"exit code {status}, {errors}"
        after = contents(folder)
        if changed := [name for name, content in before.items() if not _is_intact(name, content, after)]:
            return f"changed {changed}"
        return problem_of_going_on(folder, command)


def _is_intact(name: str, content: bytes, after: dict[str, bytes]) -> bool:
    """Return whether a file is as it was; files of lines may have more, and a run goes on from its checkpoints."""
    if name.endswith(".jsonl") and name not in _OF_RUN:
        return after.get(name, b"").startswith(content)
    return name in _OF_RUN or after.get(name) == content


@contextmanager
def _file_sizes(limit: int) -> Iterator[None]:
    import resource  # not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
