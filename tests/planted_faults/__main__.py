"""Does the test suite find faults? Plant one-line faults, and report which tests find them.

Usage: `python -m tests.planted_faults [options]`, overnight or by hand. Each fault is planted in a copy of the working
tree. The fast tests that execute its statement run first, from the fastest to the slowest, then all tests of their
files and of the mirrored folder, slow ones included. Which fast tests execute which lines is recorded once, by running
them with coverage. An interrupted run continues where it stopped.
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import final

from tests.planted_faults.faults import Fault, draw, manual_fault
from tests.planted_faults.suite import Copy, Recording, end_runs

ROOT = Path(__file__).parents[2]
_NEAREST = 100
"""Tests that run first."""
_HEAD = """\
| number | line | function | operator | before | after | found by | stage | test | seconds |
|---|---|---|---|---|---|---|---|---|---|
"""
_LAST_STAGES = {"fast": 2, "all": 3}


@final
@dataclass(frozen=True)
class Result:
    """What the tests made of a fault.

    Attributes:
        fault: Its key.
        number: Its number in the draw.
        found_by: fast, all, survived or not executed.
        stage: Stage in which it was found.
        test: Test that found it, or how many ran.
        seconds: Duration.
    """

    fault: str
    number: int
    found_by: str
    stage: str
    test: str
    seconds: float

    def row(self, fault: Fault) -> str:
        """Return the row of the table."""
        code = [f"`{line.strip()}`".replace("|", "\\|") for line in (fault.before, fault.after)]
        test = self.test.replace("|", "\\|")
        cells = [f"{fault.path}:{fault.line}", fault.function, fault.operator, *code, self.found_by, self.stage, test]
        return f"| {self.number} | {' | '.join(cells)} | {self.seconds:.0f} |\n"


@final
@dataclass(frozen=True)
class Stage:
    """Tests of some files: the listed ones, or all but those that have run."""

    name: str
    suite: str
    files: list[str]
    only: set[str] | None


@final
class Search:
    """Search for tests that find faults, by several threads that have a copy of the working tree each."""

    def __init__(self, recording: Recording, folder: Path, jobs: int, last: str, limit: float) -> None:
        self._recording, self._last, self._limit = recording, _LAST_STAGES[last], limit
        self._clean = Copy.of(ROOT, folder / "clean")
        self._copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(jobs):
            self._copies.put(Copy.of(ROOT, folder / f"copy{number}"))
        self._broken = set(recording.broken)

    def find(self, number: int, fault: Fault) -> Result:
        """Plant a fault and run the stages until a test fails."""
        start = time.monotonic()
        is_executed, covering = self._recording.covering(fault)
        copy = self._copies.get()
        done: set[str] = set()
        try:
            copy.plant(fault)
            for stage in self._stages(fault, covering)[: self._last]:
                found = self._run(copy, stage, done) if stage.files else None
                if found:
                    return Result(fault.key(), number, stage.suite, stage.name, found, time.monotonic() - start)
        finally:
            copy.restore(ROOT, fault)
            self._copies.put(copy)
        verdict = "survived" if is_executed else "not executed"
        return Result(fault.key(), number, verdict, "", f"{len(done)} tests pass", time.monotonic() - start)

    def _stages(self, fault: Fault, covering: set[str]) -> list[Stage]:
        mirrored = "/".join(["tests", *Path(fault.path).parent.parts[1:]])
        seconds = self._recording.seconds
        ranked = sorted(covering, key=lambda test: (not test.startswith(f"{mirrored}/"), seconds[test], test))
        nearest, rest = set(ranked[:_NEAREST]), set(ranked[_NEAREST:])
        folders = [mirrored] if (ROOT / mirrored).is_dir() else []
        return [
            Stage("covering", "fast", self._files(nearest), nearest),
            Stage("covering", "fast", self._files(rest), rest),
            Stage("neighbouring", "all", self._files(covering, folders), None),
        ]

    def _files(self, tests: Iterable[str], folders: Iterable[str] = ()) -> list[str]:
        """Files of tests, from the fastest to the slowest, and folders whose tests run last."""
        cost: dict[str, float] = {}
        for test in tests:
            path = test.split("::")[0]
            cost[path] = cost.get(path, 0.0) + self._recording.seconds[test]
        return [
            path for path in [*sorted(cost, key=lambda path: (cost[path], path)), *folders] if (ROOT / path).exists()
        ]

    def _run(self, copy: Copy, stage: Stage, done: set[str]) -> str | None:
        """Return the first test that fails because of the fault. Tests that also fail without it are left out."""
        markers = ["--slow"] if stage.suite == "all" else []
        while True:
            skipped = done | self._broken
            files = [path for path in stage.files if path not in skipped]
            ignored = [f"--ignore={test}" for test in self._broken if "::" not in test]
            known = sum(
                seconds
                for test, seconds in self._recording.seconds.items()
                if test not in skipped and test.startswith(tuple(files)) and (stage.only is None or test in stage.only)
            )
            run = copy.run(files, ["-x", *ignored, *markers], stage.only, skipped, self._limit + 3 * known)
            done |= run.passed
            if run.failed is None:
                return None
            if run.reason == "timeout":
                return f"{run.failed} (timeout)"
            again = self._clean.run([run.failed.split("::")[0]], ["--slow"], only=[run.failed], limit=self._limit)
            if again.failed is None:
                return run.failed if run.reason == "failed" else f"{run.failed} ({run.reason})"
            if run.failed in self._broken:  # pytest itself fails
                return None
            self._broken.add(run.failed)


def main() -> int:
    """Draw faults, plant each that has no result yet, and print the table."""
    options = _options().parse_args()
    folder: Path = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if options.fault:
        faults = {0: manual_fault(ROOT, *options.fault)}
    else:
        faults = dict(enumerate(draw(ROOT, options.count, options.seed), 1))
    if options.list:
        for number, fault in faults.items():
            sys.stdout.write(
                f"{number} {fault.path}:{fault.line} {fault.operator}\n- {fault.before}\n+ {fault.after}\n"
            )
        return 0
    with tempfile.TemporaryDirectory(prefix="faults", ignore_cleanup_errors=True) as temporary:
        work = Path(temporary)
        if options.record or not (folder / "recording.json").exists():
            Recording.record(Copy.of(ROOT, work / "recorded"), folder, options.tests, options.jobs)
        if options.record:
            return 0
        results = {} if options.fault else _read(folder / "results.jsonl", faults)
        wanted = [options.only] if options.only else [number for number in faults if number not in results]
        recording = Recording.load(folder)
        recording.check(ROOT, [faults[number] for number in wanted])
        search = Search(recording, work, options.jobs, options.stages, options.limit)
        for result in _find_all(search, {number: faults[number] for number in wanted}, options.jobs):
            with (folder / "results.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(result)) + "\n")
            sys.stdout.write(result.row(faults[result.number]))
            sys.stdout.flush()
            results[result.number] = result
    sys.stdout.write("\n" + "".join(_table(faults, results)))
    return 0


def _find_all(search: Search, faults: dict[int, Fault], jobs: int) -> Iterator[Result]:
    """Yield the results as they come. An interruption ends the test runs."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ThreadPoolExecutor(jobs) as threads:
        try:
            for future in as_completed(
                [threads.submit(search.find, number, fault) for number, fault in faults.items()]
            ):
                yield future.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            end_runs()


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.planted_faults", description=__doc__)
    add = parser.add_argument
    add("--count", type=int, default=60, help="faults to draw (default: %(default)s)")
    add("--seed", type=int, default=42, help="seed of the draw (default: %(default)s)")
    add("--jobs", type=int, default=1, help="faults that are tested at once, and processes of the recording")
    add("--folder", type=Path, default=ROOT / ".venv/faults", help="recording and results (default: %(default)s)")
    add("--limit", type=float, default=600, help="seconds of a stage beyond three times what it took when recorded")
    add("--stages", choices=_LAST_STAGES, default="all", help="tests to stop after (default: %(default)s)")
    add("--record", action="store_true", help="record the lines that tests execute, and stop")
    add("--tests", nargs="+", default=["tests"], metavar="PATH", help="tests to record (default: all)")
    add("--list", action="store_true", help="print the draw, and stop")
    add("--only", type=int, metavar="NUMBER", help="test one fault of the draw again")
    add("--fault", nargs=2, metavar=("FILE:LINE", "NEW_LINE"), help="test this fault instead of a draw")
    return parser


def _read(path: Path, faults: dict[int, Fault]) -> dict[int, Result]:
    """Read the last result of each fault of the draw."""
    numbers = {fault.key(): number for number, fault in faults.items()}
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    results = [Result(**json.loads(line)) for line in lines]
    return {numbers[result.fault]: result for result in results if result.fault in numbers and result.number}


def _table(faults: dict[int, Fault], results: dict[int, Result]) -> Iterator[str]:
    yield _HEAD
    for number, result in sorted(results.items()):
        yield result.row(faults[number])
    verdicts = [result.found_by for result in results.values()]
    fast, count = verdicts.count("fast"), len(verdicts)
    yield f"\nfast {fast} of {count}, all {fast + verdicts.count('all')} of {count}\n"


if __name__ == "__main__":
    sys.exit(main())
