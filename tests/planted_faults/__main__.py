"""Does the test suite find faults? Plant one-line faults, and report which tests find them.

Usage: `python -m tests.planted_faults [options]`, overnight or by hand. Each fault is planted in a copy of the working
tree. The fast tests of the files that execute its statement run first, those of the mirrored folder before the others,
then all tests of these files and of that folder, slow ones included. Which files execute which lines is recorded once,
by running each of them with coverage. An interrupted run continues where it stopped.
"""

import argparse
import contextlib
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import final

from coverage import CoverageData

from tests.conftest import is_slow
from tests.planted_faults.faults import PACKAGES, Fault, draw

ROOT = Path(__file__).parents[2]
SECONDS = 600.0
"""Duration of a run beyond three times what it took when it was recorded."""
MEMORY = 20 << 30
"""Bytes that a process may allocate: a fault may let a list grow forever."""
_COVERAGE = """\
[run]
data_file = {folder}/coverage
parallel = true
include = {include}
context = ${{PLANTED_FAULTS_FILE-}}
patch = _exit
"""
"""Settings that every process of the recording reads; the commands end with `os._exit`."""
_HEAD = """\
| number | line | function | operator | before | after | found by | test | seconds |
|---|---|---|---|---|---|---|---|---|
"""
_TEST = r"(\S+?(?:\[.*?\])?)(?: - |$)"
"""Name of a test in a line of the summary, of which parameters may have spaces."""
_RUNNING: set[int] = set()
"""Process groups of the test runs."""


@final
@dataclass(frozen=True)
class Result:
    """What the tests made of a fault.

    Attributes:
        fault: Its key.
        number: Its number in the draw.
        found_by: fast, all, survived or not executed.
        test: Test that found it; empty if none did.
        seconds: Duration.
    """

    fault: str
    number: int
    found_by: str
    test: str
    seconds: float

    def row(self, fault: Fault) -> str:
        """Return the row of the table."""
        code = [f"`{line.strip()}`" for line in (fault.before, fault.after)]
        cells = [f"{fault.path}:{fault.line}", fault.function, fault.operator, *code, self.found_by, self.test]
        escaped = [cell.replace("|", "\\|") for cell in cells]
        return f"| {self.number} | {' | '.join(escaped)} | {self.seconds:.0f} |\n"


def run_tests(folder: Path, arguments: Sequence[str], limit: float | None = None, **variables: str) -> str:
    """Run tests in a copy of the working tree, in a process group that ends with them.

    Returns:
        The first test that fails, or how the run ended without one; empty if all pass.
    """
    outer = ("COVERAGE_", "PYTEST_XDIST", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
    own = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(prefix="run", dir=folder.parent, ignore_cleanup_errors=True) as name:
        options = ["-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={name}/base"]
        output = Path(name, "output")
        with output.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *options, *arguments],
                cwd=folder,
                env=inherited | own | variables,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
            )
        _RUNNING.add(process.pid)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            return "timeout"
        finally:
            _RUNNING.discard(process.pid)
            _kill(process.pid)
            process.wait()
        failed = re.search(rf"^(?:FAILED|ERROR) {_TEST}", output.read_text(errors="replace"), re.MULTILINE)
    if failed:
        return failed[1]
    return "" if code in (0, 5) else f"exit code {code}"  # 5: no test was selected


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def copy_tree(folder: Path) -> Path:
    """Copy the files of the working tree that git does not ignore, and compiled kernels."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    for name in [*names, "sumpool/core/nn/libkernels.so.1"]:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    # Bytecode that is compared with the source by hash: that of a file with a fault is not used.
    compiling = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "sumpool", "tests"]
    subprocess.run([sys.executable, *compiling], cwd=folder, check=True)
    return folder


@final
@dataclass(frozen=True)
class Recording:
    """Files of tests, and the lines that their fast tests execute.

    Attributes:
        data: File of coverage.
        sources: Folder that the recorded paths begin with.
        seconds: Duration of each file; those that fail without a fault are left out.
        digests: SHA-256 of each file that faults are planted in.
    """

    data: str
    sources: str
    seconds: dict[str, float]
    digests: dict[str, str]

    @classmethod
    def record(cls, copy: Path, folder: Path, jobs: int) -> "Recording":
        """Run the fast tests of each file, and write the recording to a folder."""
        for old in folder.glob("coverage*"):
            old.unlink()
        settings = folder / "settings.ini"
        include = ",".join(f"{copy}/sumpool/{package}/*" for package in PACKAGES)
        settings.write_text(_COVERAGE.format(folder=folder, include=include), "utf-8")

        def run(file: str) -> tuple[str, str, float]:
            start = time.monotonic()
            failed = run_tests(copy, [file], COVERAGE_PROCESS_START=str(settings), PLANTED_FAULTS_FILE=file)
            return file, failed, time.monotonic() - start

        files = sorted(str(path.relative_to(copy)) for path in (copy / "tests").rglob("test_*.py"))
        with _thread_pool(jobs) as threads:
            runs = list(threads.map(run, files))
        for file, failed, _ in runs:
            sys.stdout.write(f"{file} is left out: {failed} fails\n" if failed else "")
        combining = ["-m", "coverage", "combine", "--quiet", f"--rcfile={settings}"]
        subprocess.run([sys.executable, *combining], cwd=folder, check=True)
        seconds = {file: duration for file, failed, duration in runs if not failed}
        digests = {path.relative_to(copy).as_posix(): _digest(path) for path in (copy / "sumpool").rglob("*.py")}
        recording = cls(str(folder / "coverage"), str(copy), seconds, digests)
        (folder / "recording.json").write_text(json.dumps(asdict(recording)), "utf-8")
        return recording

    def covering(self, fault: Fault) -> list[str]:
        """Files whose tests execute the statement: those of the mirrored folder first, the fast before the slow.

        Raises:
            ValueError: If the file of the fault has changed since the recording.
        """
        if self.digests.get(fault.path) != _digest(ROOT / fault.path):
            raise ValueError(f"{fault.path} must be as it was when the tests were recorded: use --record")
        by_line = CoverageData(self.data)
        by_line.read()
        lines = by_line.contexts_by_lineno(f"{self.sources}/{fault.path}")
        files = {file for line in range(fault.first, fault.last + 1) for file in lines.get(line, [])}
        mirrored = f"{mirrored_folder(fault)}/"
        known = files & self.seconds.keys()
        return sorted(known, key=lambda file: (not file.startswith(mirrored), self.seconds[file], file))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def mirrored_folder(fault: Fault) -> str:
    """Folder of the tests of a fault's package."""
    return "/".join(["tests", *Path(fault.path).parent.parts[1:]])


@final
class Search:
    """Search for tests that find faults, by several threads that have a copy of the working tree each."""

    def __init__(self, recording: Recording, folder: Path, jobs: int, slow: bool) -> None:
        self._recording, self._slow = recording, slow
        self._clean = copy_tree(folder / "clean")
        self._copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            self._copies.put(copy_tree(folder / f"copy{number}"))
        self._broken: set[str] = set()
        """Tests that fail without a fault too."""

    def find(self, number: int, fault: Fault) -> Result:
        """Plant a fault and run the tests until one fails."""
        start = time.monotonic()
        covering = self._recording.covering(fault)
        mirrored = mirrored_folder(fault)
        copy = self._copies.get()
        path = copy / fault.path
        verdict, test = "survived" if covering else "not executed", ""
        try:
            path.write_bytes(fault.apply(path.read_bytes().decode()).encode())
            stages = {"fast": [file for file in covering if not is_slow(ROOT / file)]}
            if self._slow:
                stages["all"] = ["--slow", *covering, *([mirrored] if (ROOT / mirrored).is_dir() else [])]
            for name, arguments in stages.items():
                if arguments and (test := self._run(copy, arguments)):
                    verdict = name
                    break
        finally:
            shutil.copy2(ROOT / fault.path, path)
            self._copies.put(copy)
        return Result(fault.key(), number, verdict, test, time.monotonic() - start)

    def _run(self, copy: Path, arguments: list[str]) -> str:
        """Return the first test that fails because of the fault."""
        limit = SECONDS + 3 * sum(self._recording.seconds.get(file, 0.0) for file in arguments)
        while True:
            failed = run_tests(copy, ["-x", *(f"--deselect={test}" for test in self._broken), *arguments], limit)
            if "::" not in failed or failed in self._broken or not run_tests(self._clean, ["--slow", failed], limit):
                return failed
            self._broken.add(failed)


def main() -> int:
    """Draw faults, plant each that has no result yet, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.planted_faults", description=__doc__)
    add = parser.add_argument
    add("--count", type=int, default=60, help="faults to draw (default: %(default)s)")
    add("--seed", type=int, default=42, help="seed of the draw (default: %(default)s)")
    add("--jobs", type=int, default=1, help="faults that are tested at once")
    add("--stages", choices=("fast", "all"), default="all", help="tests to stop after (default: %(default)s)")
    add("--record", action="store_true", help="record the lines that tests execute, and stop")
    add("--only", type=int, metavar="NUMBER", help="test one fault of the draw again")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = ROOT / ".venv/faults"
    folder.mkdir(parents=True, exist_ok=True)
    faults = dict(enumerate(draw(ROOT, options.count, options.seed), 1))
    with tempfile.TemporaryDirectory(prefix="faults", ignore_cleanup_errors=True) as temporary:
        work, file = Path(temporary), folder / "recording.json"
        if options.record or not file.exists():
            Recording.record(copy_tree(work / "recorded"), folder, options.jobs)
        if options.record:
            return 0
        results = _read(folder / "results.jsonl", faults)
        wanted = [options.only] if options.only else [number for number in faults if number not in results]
        recording = Recording(**json.loads(file.read_text("utf-8")))
        search = Search(recording, work, options.jobs, options.stages == "all")
        for result in _find_all(search, {number: faults[number] for number in wanted}, options.jobs):
            with (folder / "results.jsonl").open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(result)) + "\n")
            sys.stdout.write(result.row(faults[result.number]))
            sys.stdout.flush()
            results[result.number] = result
    verdicts = [result.found_by for result in results.values()]
    fast, count = verdicts.count("fast"), len(verdicts)
    rows = (result.row(faults[number]) for number, result in sorted(results.items()))
    sys.stdout.write(f"\n{_HEAD}{''.join(rows)}\n")
    sys.stdout.write(f"fast {fast} of {count}, all {fast + verdicts.count('all')} of {count}\n")
    return 0


def _find_all(search: Search, faults: dict[int, Fault], jobs: int) -> Iterator[Result]:
    """Yield the results as they come."""
    with _thread_pool(jobs) as threads:
        futures = [threads.submit(search.find, number, fault) for number, fault in faults.items()]
        for future in as_completed(futures):
            yield future.result()


@contextlib.contextmanager
def _thread_pool(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that run tests. An interruption ends the test runs."""
    with ThreadPoolExecutor(jobs) as threads:
        try:
            yield threads
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for group in list(_RUNNING):
                _kill(group)


def _read(path: Path, faults: dict[int, Fault]) -> dict[int, Result]:
    """Read the last result of each fault of the draw."""
    numbers = {fault.key(): number for number, fault in faults.items()}
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    results = [Result(**json.loads(line)) for line in lines]
    return {numbers[result.fault]: result for result in results if result.fault in numbers}


if __name__ == "__main__":
    sys.exit(main())
