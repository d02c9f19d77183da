"""Small files of every format that exhaust a reader without limits, alone and in a folder of other documents."""

import json
import os
import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import Final, NamedTuple

from tests.torture.bombs import BOMBS
from tests.torture.figures import Measured

ID: Final = "B3"
FIGURE: Final = (
    "files of at most 1 MB that exhaust a reader: a summary or a reason within 10 s of processor time and 1 GB; "
    "a folder of 100 with 20 of them: 80 summaries"
)
NIGHT: Final = len(BOMBS)
QUICK: Final = 3
_SECONDS = 10.0
_MEBIBYTES = 1024
_FOLDER, _FOLDER_BOMBS = 100, 20


class _Answer(NamedTuple):
    """What a command took and wrote: processor time and memory with that of its processes, and its rows."""

    seconds: float
    mebibytes: float
    status: int
    rows: list[dict[str, str]]


def measure(count: int, folder: Path) -> Measured:
    """Summarise `count` of the files, and a folder with twenty if there are as many."""
    faults, refused, seconds, mebibytes = [], [], 0.0, 0.0
    for name, make in [*BOMBS.items()][::-1][:count]:
        path = folder / name
        path.write_bytes(make())
        answer = _summarize(path)
        seconds, mebibytes = max(seconds, answer.seconds), max(mebibytes, answer.mebibytes)
        is_answered = answer.status == 3 or (answer.status == 0 and any(row.get("summary") for row in answer.rows))
        if not is_answered or answer.seconds > _SECONDS or answer.mebibytes > _MEBIBYTES:
            faults.append(f"{name}: {answer.status}, {answer.seconds:.1f} s, {answer.mebibytes:.0f} MB")
        if answer.status == 3 and len(answer.rows) == 1 and ".csv" not in name and name != "layers.gz":
            refused.append(path)  # which folders read, other than tables and packed files without a suffix
    if len(refused) >= _FOLDER_BOMBS:
        together = folder / "together"
        together.mkdir()
        for number, path in enumerate(refused[:_FOLDER_BOMBS]):
            path.rename(together / f"{number:02}{path.name}")
        for number in range(_FOLDER - _FOLDER_BOMBS):
            text = f"Gateway {number} forwards packets between networks, and drops those that are too long.\n"
            (together / f"{number % _FOLDER_BOMBS:02}z{number}.txt").write_text(text)
        rows = _summarize(together).rows
        summaries = sum(bool(row["summary"]) for row in rows)
        if (len(rows), summaries) != (_FOLDER, _FOLDER - _FOLDER_BOMBS):
            faults.append(f"folder: {len(rows)} rows, {summaries} summaries")
    found = "".join(f"; {fault}" for fault in faults[:5])
    text = f"{count - len(faults)} of {count}; slowest {seconds:.1f} s, most {mebibytes:.0f} MB{found}"
    return Measured(text, not faults, count)


def _summarize(path: Path) -> _Answer:
    command = [sys.executable, "-m", "sumpool", "summarize", "--fast", "--json", str(path)]
    out = path.parent / "out.jsonl"
    with out.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.DEVNULL)
        peak = 0
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            peak = max(peak, sum(map(_memory, _descendants(process.pid))))
            sleep(0.02)
    _, status, usage = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    return _Answer(usage.ru_utime + usage.ru_stime, peak / 2**20, process.returncode, rows)


def _descendants(number: int) -> list[int]:
    """Return a process and those that it has started."""
    try:
        children = " ".join(path.read_text() for path in Path(f"/proc/{number}/task").glob("*/children")).split()
    except OSError:
        children = []
    return [number, *(inner for child in children for inner in _descendants(int(child)))]


def _memory(number: int) -> int:
    """Return the resident bytes of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{number}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0
