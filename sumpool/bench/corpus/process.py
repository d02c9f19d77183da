"""A system as a fresh process that prints one JSON line for each summary as it is finished."""

import queue
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sumpool.bench.measures.machine import EnergyMeter
from sumpool.io.bounded import parse_json
from sumpool.progress import Check

TIMEOUT = 1800.0
"""Seconds after which a process is ended and its system left out."""
_POLL = 0.2
"""Seconds between two readings of memory and energy."""
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)
_LONGEST_REASON = 200
_NO_SUMMARY = 3
"""Exit code of `sumpool summarize` if some lines have a reason instead of a summary."""


@dataclass(frozen=True)
class ProcessRun:
    """One run of a system.

    Attributes:
        rows: Objects that it printed, one for each summary.
        first: Seconds from the start of the process to its first summary.
        seconds: Seconds from the start of the process to its end.
        memory: Peak resident memory of the process in bytes; None where the system does not show it.
        joules: Energy of the machine meanwhile; None without a counter.
        problem: Why it failed; empty if it did not.
    """

    rows: Sequence[Mapping[str, Any]] = ()
    first: float = 0.0
    seconds: float = 0.0
    memory: int | None = None
    joules: float | None = None
    problem: str = ""


def run_process(command: Sequence[str], meter: EnergyMeter, check: Check, timeout: float = TIMEOUT) -> ProcessRun:
    """Run a command to its end; `check` is called while it runs, and when it raises, the process is ended."""
    rows: list[Mapping[str, Any]] = []
    first, peak = 0.0, None
    before = meter.sample()
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        assert process.stdout, "it is a pipe"
        lines: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
        reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            while True:
                check()
                if time.perf_counter() - start > timeout:
                    return ProcessRun(problem=f"it took more than {timeout:,.0f} s")
                meter.sample()  # a counter may wrap around
                peak = _peak_memory(process.pid) or peak
                try:
                    moment, line = lines.get(timeout=_POLL)
                except queue.Empty:
                    continue
                if not line:
                    break
                first = first or moment - start
                rows.append(parse_json(line))
            code = process.wait()
            seconds = time.perf_counter() - start
        finally:
            process.kill()
            process.wait()
            reader.join()
            process.stdout.close()
        if code and not (code == _NO_SUMMARY and rows):
            return ProcessRun(problem=_last_line(errors) or f"it ended with exit code {code}")
    after = meter.sample()
    joules = after - before if after is not None and before is not None else None
    return ProcessRun(rows, first, seconds, peak, joules)


def _read(stream: IO[bytes], lines: "queue.SimpleQueue[tuple[float, bytes]]") -> None:
    for line in stream:
        lines.put((time.perf_counter(), line))
    lines.put((time.perf_counter(), b""))


def _peak_memory(process: int) -> int | None:
    """Peak resident memory in bytes; None where there is no /proc, and of a process that has ended."""
    try:
        match = _PEAK.search(Path(f"/proc/{process}/status").read_text())
    except OSError:
        return None
    return 1024 * int(match[1]) if match else None


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode(errors="replace").split("\n")
    return next((line.strip()[:_LONGEST_REASON] for line in reversed(lines) if line.strip()), "")
