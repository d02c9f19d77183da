"""Processes of the workers of a cluster on this machine, which is Linux."""

from contextlib import suppress
from pathlib import Path


def worker_processes(command: int) -> list[int]:
    """Return the workers of a local cluster that a process has started."""
    return [pid for pid in _descendants(command) if b"Summarizer" in _read(Path(f"/proc/{pid}/cmdline"))]


def _descendants(process: int) -> list[int]:
    parents = {
        int(path.name): int(status.rpartition(b")")[2].split()[1])
        for path in Path("/proc").glob("[0-9]*")
        if (status := _read(path / "stat"))
    }
    family = {process}
    while more := {pid for pid, parent in parents.items() if parent in family and pid not in family}:
        family |= more
    return sorted(family - {process})


def _read(path: Path) -> bytes:
    with suppress(OSError):
        return path.read_bytes()
    return b""
