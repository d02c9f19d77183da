"""Copies of the working tree, test runs in them, and the recording of which tests execute which lines."""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import final

from coverage import CoverageData

from tests.planted_faults.faults import PACKAGES, Fault
from tests.planted_faults.plugin import Request

_COVERAGE = """\
[run]
data_file = {folder}/coverage
parallel = true
include = {include}
context = ${{PLANTED_FAULTS_CONTEXT-}}
patch = _exit
"""
"""Settings that every process of the recording reads; the commands end with `os._exit`."""
_RUNNING: set[int] = set()
"""Process groups of the test runs."""


@final
@dataclass(frozen=True)
class Outcome:
    """Outcome of a test run.

    Attributes:
        failed: Identifier of the first test that failed or did not end, None if all passed.
        reason: How it failed.
        passed: Identifiers of the tests that passed before.
        events: What the plugin has logged.
    """

    failed: str | None
    reason: str
    passed: frozenset[str]
    events: list[list[object]] = field(repr=False)


@final
@dataclass(frozen=True)
class Copy:
    """A copy of the working tree in a temporary folder, in which faults are planted."""

    folder: Path

    @classmethod
    def of(cls, root: Path, folder: Path) -> "Copy":
        """Copy the files of a working tree that git does not ignore."""
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listing, cwd=root, check=True, capture_output=True).stdout.decode().split("\0")
        for name in names:
            if (root / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, folder / name, follow_symlinks=False)
        # Bytecode that is compared with the source by hash: that of a file with a fault is not used.
        compiling = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "sumpool", "tests"]
        subprocess.run([sys.executable, *compiling], cwd=folder, check=True)
        return cls(folder)

    def plant(self, fault: Fault) -> None:
        """Write the file with the fault."""
        path = self.folder / fault.path
        path.write_bytes(fault.apply(path.read_bytes().decode()).encode())

    def restore(self, root: Path, fault: Fault) -> None:
        """Write the file without the fault."""
        shutil.copy2(root / fault.path, self.folder / fault.path)

    def run(
        self,
        paths: Sequence[str],
        options: Sequence[str] = (),
        only: Iterable[str] | None = None,
        skipped: Iterable[str] = (),
        limit: float | None = None,
        coverage: Path | None = None,
    ) -> Outcome:
        """Run tests.

        Args:
            paths: Files and folders of the tests.
            options: Options of pytest.
            only: Identifiers of the tests to run; all of the files by default.
            skipped: Identifiers of tests to leave out.
            limit: Seconds after which the run counts as failed.
            coverage: Settings with which the lines are recorded; the output is kept beside them.
        """
        with tempfile.TemporaryDirectory(prefix="run", dir=self.folder.parent, ignore_cleanup_errors=True) as name:
            folder = Path(name)
            log, request = folder / "log", folder / "request"
            log.touch()
            selection = Request(log=str(log), only=None if only is None else sorted(only), skipped=sorted(skipped))
            request.write_text(json.dumps(selection), "utf-8")
            (folder / "paths").write_text("\n".join(paths), "utf-8")
            command = [sys.executable, "-m", "pytest", "-p", "tests.planted_faults.plugin", "-p", "no:cacheprovider"]
            command += ["--tb=no", f"--basetemp={folder / 'base'}", f"@{folder / 'paths'}", *options]
            output = coverage.with_name("output.txt") if coverage else folder / "output.txt"
            code = wait(command, self.folder, _environment(self.folder, request, coverage), limit, output)
            return outcome(code, [json.loads(line) for line in log.read_text("utf-8").splitlines()])


def _environment(folder: Path, request: Path, coverage: Path | None) -> dict[str, str]:
    outer = ("COVERAGE_", "PYTEST_XDIST", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
    measured = {"COVERAGE_PROCESS_START": str(coverage)} if coverage else {}
    own = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    return {**inherited, **own, **measured, "PLANTED_FAULTS": str(request), "PLANTED_FAULTS_CONTEXT": ""}


def wait(
    command: list[str], folder: Path, environment: dict[str, str], limit: float | None, output: Path
) -> int | None:
    """Return the exit code of a command, None after the limit; its process group ends with it."""
    with output.open("wb") as file:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    _RUNNING.add(process.pid)
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _RUNNING.discard(process.pid)
        _kill(process.pid)
        process.wait()


def end_runs() -> None:
    """End all test runs of this process."""
    for group in list(_RUNNING):
        _kill(group)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def outcome(code: int | None, events: list[list[object]]) -> Outcome:
    """Judge a run: exit code 5 means that no test was selected."""
    passed = frozenset(str(test) for event, test, *_ in events if event == "teardown")
    failures = [str(test) for event, test, *_ in events if event == "failed"]
    if code in {0, 5} and not failures:
        return Outcome(None, "", passed, events)
    started = [str(test) for event, test, *_ in events if event in {"started", "failed"}]
    reason = "timeout" if code is None else "failed" if failures else f"exit code {code}"
    failed = failures[0] if failures else started[-1] if started else "pytest"
    return Outcome(failed, reason, passed - {failed}, events)


@final
@dataclass(frozen=True)
class Recording:
    """Tests, and the lines that they execute.

    Attributes:
        data: File of coverage.
        sources: Folder that the recorded paths begin with.
        seconds: Duration of each fast test.
        fixtures: Contexts of the fixtures that each test shares with others.
        broken: Tests that fail without a fault, which are left out.
        digests: SHA-256 of each file that faults are planted in.
    """

    data: str
    sources: str
    seconds: dict[str, float]
    fixtures: dict[str, list[str]]
    broken: list[str]
    digests: dict[str, str]

    @classmethod
    def load(cls, folder: Path) -> "Recording":
        """Read a recording."""
        return cls(**json.loads((folder / "recording.json").read_text("utf-8")))

    @classmethod
    def record(cls, copy: Copy, folder: Path, tests: Sequence[str], jobs: int) -> "Recording":
        """Run the fast tests below some paths, and write the recording to a folder."""
        for old in folder.glob("coverage*"):
            old.unlink()
        settings = folder / "settings.ini"
        include = ",".join(f"{copy.folder}/sumpool/{package}/*" for package in PACKAGES)
        settings.write_text(_COVERAGE.format(folder=folder, include=include), "utf-8")
        parallel = [f"--numprocesses={jobs}", "--dist=loadfile"] if jobs > 1 else []
        run = copy.run(tests, parallel, coverage=settings)
        ended = run.passed | {str(test) for event, test, *_ in run.events if event == "failed"}
        if not run.passed or {str(test) for event, test, *_ in run.events if event == "collected"} - ended:
            raise RuntimeError(f"a test must pass, got {run.reason}: {run.failed}, see {folder / 'output.txt'}")
        subprocess.run(
            [sys.executable, "-m", "coverage", "combine", "--quiet", f"--rcfile={settings}"], cwd=folder, check=True
        )
        seconds: dict[str, float] = {}
        fixtures: dict[str, list[str]] = {}
        for _, test, *details in run.events:
            if details:
                seconds[str(test)] = seconds.get(str(test), 0.0) + float(str(details[0]))
                fixtures[str(test)] = details[1] if isinstance(details[1], list) else []
        failed = {str(test) for event, test, *_ in run.events if event == "failed"}
        again = copy.run(tests, only=failed).events if failed else []
        recording = cls(
            str(folder / "coverage"),
            str(copy.folder),
            seconds,
            fixtures,
            sorted({str(test) for event, test, *_ in again if event == "failed"}),
            {
                path.relative_to(copy.folder).as_posix(): _digest(path)
                for path in (copy.folder / "sumpool").rglob("*.py")
            },
        )
        (folder / "recording.json").write_text(json.dumps(asdict(recording)), "utf-8")
        return recording

    def check(self, root: Path, faults: Iterable[Fault]) -> None:
        """Raise ValueError if the file of a fault has changed since the recording."""
        for fault in faults:
            if self.digests.get(fault.path) != _digest(root / fault.path):
                raise ValueError(f"{fault.path} must be as it was when the tests were recorded: use --record")

    def covering(self, fault: Fault) -> tuple[bool, set[str]]:
        """Return whether the statement was executed at all, and the tests that execute it."""
        by_line = CoverageData(self.data)
        by_line.read()
        lines = by_line.contexts_by_lineno(f"{self.sources}/{fault.path}")
        contexts = {context for line in range(fault.first, fault.last + 1) for context in lines.get(line, [])}
        tests = {test for test in self.seconds if test in contexts or contexts.intersection(self.fixtures[test])}
        return bool(contexts), tests


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
