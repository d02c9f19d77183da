"""SIGINT and SIGTERM at random moments of commands, and a second signal in half of the cases."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

from sumpool.io.manifest import NAME, FileDigest
from sumpool.progress import no_op
from sumpool.training.checkpoint import Checkpoints
from tests.conftest import TOY, story, write_lines, write_run
from tests.torture.figures import Measured, has_signal, start, status, wait, wait_for_lines

ID: Final = "A4"
FIGURE: Final = (
    "one line, exit 130 or 143 within 2 s, nothing half-written, a checkpoint of the last step; second signal: 0.2 s, "
    "by its default action"
)
NIGHT: Final = 50
QUICK: Final = 2
_RECIPE = TOY.format(folder=".") + (
    "train: {steps: 150, batch_tokens: 512, checkpoint_every: 50, validate_every: 100, device: cpu}\n"
)
_SWEEP = """\
sweep: several
source_tokens: 40000
recipe:
RECIPE
rows: {toy:, other:}
"""
_COMMANDS = {
    "train": "train other.yaml --out out",
    "summarize": "summarize rows.jsonl --model run --out out.jsonl",
    "prepare": "prepare other.yaml --set data.prepared=out",
    "evaluate": "evaluate run --split train --out out",
    "export": "export run out",
    "sweep": "train several.yaml --out out",
    "dry run of a sweep": "train several.yaml --dry-run",
}
_QUICK_SECONDS = 2.0
"""Approximate duration of a command, measured only for many moments."""
_SECONDS = 600
"""Longest wait for a moment."""
_LIMIT, _SECOND_LIMIT = 2.0, 0.2


class _Case(NamedTuple):
    """Command, signal and moment; `second` is the delay of a second signal, or None.

    Without a delay the signal comes after the first update of a training, and once any other command catches signals.
    """

    command: str
    number: signal.Signals
    delay: float | None
    second: float | None


def measure(count: int, folder: Path) -> Measured:
    """Stop a command `count` times.

    Seconds are bounded for many moments only, on a machine that does nothing else; updates after a signal always are.
    """
    _fill(folder)
    if count > QUICK:
        _run(folder, "train", "toy.yaml", "--out", "run", "--set", "train.steps=2").communicate()
    else:
        write_run(folder / "run")
    draw = random.Random(6)
    durations: dict[str, float] = {} if count > QUICK else dict.fromkeys(_COMMANDS, _QUICK_SECONDS)
    faults: list[str] = []
    outcomes: Counter[str] = Counter()
    slowest = {False: 0.0, True: 0.0}
    for number in range(count):
        name = list(_COMMANDS)[number % len(_COMMANDS)]
        if name not in durations:
            durations[name] = _time(name, folder)
        second = draw.uniform(0, 0.3) if draw.random() < 0.5 else None
        delay = draw.uniform(0, durations[name]) if count > QUICK else None
        case = _Case(name, draw.choice((signal.SIGINT, signal.SIGTERM)), delay, second)
        outcome, seconds, was_second = _stop(case, folder, faults)
        outcomes[outcome] += 1
        slowest[was_second] = max(slowest[was_second], seconds)
    load = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    in_time = count <= QUICK or (slowest[False] <= _LIMIT * load and slowest[True] <= _SECOND_LIMIT * load)
    told = ", ".join(f"{number:,} {outcome}" for outcome, number in outcomes.items())
    text = f"{told}; slowest {slowest[False]:.2f} s, second {slowest[True]:.2f} s at {load:.1f} processes a core"
    return Measured("; ".join([text, *faults]), in_time and not faults, count)


def _fill(folder: Path) -> None:
    """Write documents and recipes."""
    rows = [{"id": str(row), "document": story(row, 12), "summary": story(row, 1)} for row in range(120)]
    write_lines(folder / "rows.jsonl", rows)
    for name in ("toy", "other"):
        (folder / f"{name}.yaml").write_text(_RECIPE.replace("toy", name))
    body = "\n".join(f"  {line}" for line in _RECIPE.replace("steps: 150, ", "").splitlines()[1:])
    (folder / "several.yaml").write_text(_SWEEP.replace("RECIPE", body))


def _run(folder: Path, *words: str) -> "subprocess.Popen[str]":
    return start("-m", "sumpool", *words, folder=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _time(name: str, folder: Path) -> float:
    begin = time.monotonic()
    process = _run(folder, *_COMMANDS[name].split())
    _, told = process.communicate()
    assert process.returncode in (0, 3), told
    _clear(folder)
    return time.monotonic() - begin


def _clear(folder: Path) -> None:
    shutil.rmtree(folder / "out", ignore_errors=True)
    for path in folder.glob("out.jsonl*"):
        path.unlink()


def _stop(case: _Case, folder: Path, faults: list[str]) -> tuple[str, float, bool]:
    """Stop a command; return the outcome, the seconds to its end, and whether a second signal was sent."""
    process = _run(folder, *_COMMANDS[case.command].split())
    log = folder / "out" / "metrics.jsonl"
    if case.delay is not None:
        time.sleep(case.delay)
    elif case.command == "train":
        wait_for_lines(log, 1, process, _SECONDS)
    else:
        wait(lambda: process.poll() is not None or has_signal(process.pid, "SigCgt", signal.SIGTERM), _SECONDS)
    is_answering = process.poll() is None and has_signal(process.pid, "SigCgt", signal.SIGTERM)
    process.send_signal(signal.SIGSTOP)  # so that no update is made between the look at the log and the signal
    wait(lambda: process.poll() is not None or status(process.pid, "State") == "T", _SECONDS)
    updates = _updates(log)
    begin = time.monotonic()
    process.send_signal(case.number)
    process.send_signal(signal.SIGCONT)
    was_second = False
    if case.second is not None:
        time.sleep(case.second)
        while process.poll() is None and has_signal(process.pid, "ShdPnd", case.number):
            pass  # as a process receives two pending signals of one number as one
        was_second = process.poll() is None
        if was_second:
            begin = time.monotonic()
            process.send_signal(case.number)
    shown, told = process.communicate()
    seconds = time.monotonic() - begin
    outcome = "stopped"
    stopped = [line for line in told.splitlines() if "stopped by" in line]
    if not is_answering:
        outcome, seconds, was_second = "before the first or after the last line of sumpool", 0.0, False
    elif process.returncode in (0, -case.number) and (shown or case.command == "summarize") and not stopped:
        outcome, seconds, was_second = "ended before", 0.0, False
    elif was_second and process.returncode == -case.number and not stopped:
        outcome = "ended by the kernel"
    elif process.returncode != 128 + case.number or not stopped or "Traceback" in told:
        faults.append(f"{case}: exit {process.returncode}, {told[-200:]!r}")
    if case.command == "train" and outcome == "stopped" and _updates(log) > updates + 1:
        faults.append(f"{case}: {_updates(log) - updates} updates after the signal")
    faults += _damage(folder, case, outcome == "stopped" and not was_second)
    _clear(folder)
    return outcome, seconds, was_second


def _updates(log: Path) -> int:
    """Count the updates in the log of a training."""
    return log.read_bytes().count(b'"kind": "step"') if log.exists() else 0


def _damage(folder: Path, case: _Case, is_saved: bool) -> list[str]:
    """Return what a stopped command has left that looks complete but is not."""
    faults = []
    for manifest in [*(folder / "out").rglob(NAME), *(folder / "prepared").rglob(NAME)]:
        if not any(part.startswith(".tmp") for part in manifest.parts):
            for name, listed in json.loads(manifest.read_bytes())["files"].items():
                path = manifest.parent / name
                if not path.is_file() or FileDigest.of(path).sha256 != listed["sha256"]:
                    faults.append(f"{case}: {path} differs from its manifest")
    if case.command in ("prepare", "export") and (folder / "out").exists() and not (folder / "out" / NAME).exists():
        faults.append(f"{case}: out is incomplete")
    log = folder / "out" / "metrics.jsonl"
    if case.command == "train" and is_saved and log.exists() and not (folder / "out" / "README.md").exists():
        steps = [json.loads(line)["step"] for line in log.read_bytes().split(b"\n")[:-1]]
        checkpoint = Checkpoints(folder / "out" / "checkpoints", 2).load_newest(no_op)
        if steps and (checkpoint is None or checkpoint.state.step != steps[-1]):
            faults.append(f"{case}: step {steps[-1]} has no checkpoint")
    return faults
