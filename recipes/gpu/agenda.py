"""Run measurements one after the other within a time limit, and collect what they print.

    python recipes/gpu/agenda.py --work /tmp/gpu-agenda --out OUT --minutes 9 < items

Each line of the input is an item: a name, its limit in seconds, and a command for bash, which may write JSON to the
file that $RESULT names. An item begins if its limit fits into the time that is left. One that has ended before, well or
not, is not repeated, so that the same call goes on where an earlier one stopped; `--repeat NAME` repeats it. What items
printed and their JSON are in OUT/agenda.json, the tables in OUT/agenda.txt, after every item.
"""

import argparse
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import NamedTuple

_LOG = logging.getLogger(__name__)
OUTPUT_CHARACTERS = 100_000
"""Characters of an item's output that are kept, the last ones."""
_POLL = 0.2
"""Seconds after which a signal is noticed."""
_signals: list[int] = []
"""Signals that have been received."""


class Item(NamedTuple):
    """A measurement: its name, the seconds that it may take, and its command."""

    name: str
    seconds: float
    command: str


@dataclass(frozen=True)
class Record:
    """An item that has ended.

    Attributes:
        name: Its name.
        command: Its command.
        code: Exit code, negative for a signal; None where its time was over.
        seconds: Time that it took.
        output: What it printed, the last `OUTPUT_CHARACTERS` of it.
        result: The JSON that it wrote; None if it wrote none.
    """

    name: str
    command: str
    code: int | None
    seconds: float
    output: str
    result: object = None

    @property
    def outcome(self) -> str:
        """How the item ended, in words."""
        return {0: "done", None: "stopped at its limit"}.get(self.code, f"failed with code {self.code}")


def main(argv: Sequence[str] | None = None, lines: Iterable[str] | None = None) -> None:
    """Run the items that have not ended and fit into the time."""
    parser = argparse.ArgumentParser(description="Run measurements within a time limit.")
    parser.add_argument("--work", type=Path, required=True, help="folder with what has been measured")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--minutes", type=float, default=25.0, help="time for this call")
    parser.add_argument("--repeat", action="append", default=[], help="item to run again")
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    begin = time.monotonic()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    for folder in (arguments.work, arguments.out):
        folder.mkdir(parents=True, exist_ok=True)
    items = read_items(sys.stdin if lines is None else lines)
    for name in arguments.repeat:
        _record_file(arguments.work, name).unlink(missing_ok=True)
    for item in items:
        left = 60 * arguments.minutes - (time.monotonic() - begin)
        if not _record_file(arguments.work, item.name).is_file() and item.seconds <= left:
            _LOG.info("%s: at most %.0f of %.0f s", item.name, item.seconds, left)
            record = run(item, arguments.work)
            if _signals:
                raise SystemExit(128 + _signals[0])
            _LOG.info("%s: %s after %.0f s", item.name, record.outcome, record.seconds)
            _record_file(arguments.work, item.name).write_text(json.dumps(asdict(record)))
        write_results(items, arguments.work, arguments.out)


def read_items(lines: Iterable[str]) -> list[Item]:
    """Read items, one a line; empty lines and those that begin with # are left out.

    Raises:
        SystemExit: If a line is no item, or a name occurs twice.
    """
    items: list[Item] = []
    for line in filter(None, map(str.strip, lines)):
        if line.startswith("#"):
            continue
        name, _, rest = line.partition(" ")
        seconds, _, command = rest.strip().partition(" ")
        if not (seconds.isdecimal() and command.strip() and name.replace("-", "").isalnum()):
            raise SystemExit(f"an item must be a name, whole seconds and a command, got {line!r}")
        if name in (item.name for item in items):
            raise SystemExit(f"names of items must differ, got {name} twice")
        items.append(Item(name, float(seconds), command.strip()))
    return items


def run(item: Item, work: Path) -> Record:
    """Run the command of an item and all that it starts, until its time is over."""
    result, log = work / f"{item.name}.json", work / f"{item.name}.log"
    result.unlink(missing_ok=True)
    begin = time.monotonic()
    with log.open("wb") as file:
        process = subprocess.Popen(
            ["bash", "-c", item.command],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=os.environ | {"RESULT": str(result)},
            start_new_session=True,
        )
        code: int | None = None
        while code is None and not _signals and time.monotonic() - begin < item.seconds:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(_POLL)
        _end(process)
    output = log.read_text(errors="replace")[-OUTPUT_CHARACTERS:]
    return Record(item.name, item.command, code, round(time.monotonic() - begin, 1), output, _read_json(result))


def write_results(items: Iterable[Item], work: Path, out: Path) -> None:
    """Write what the items have measured so far, in their order, as JSON and as text."""
    files = [file for file in (_record_file(work, item.name) for item in items) if file.is_file()]
    records = [Record(**json.loads(file.read_text())) for file in files]
    (out / "agenda.json").write_text(json.dumps([asdict(record) for record in records], indent=1))
    parts = [
        f"{'=' * 100}\n{record.name}: {record.outcome} after {record.seconds} s\n$ {record.command}\n{record.output}"
        for record in records
    ]
    (out / "agenda.txt").write_text("\n".join(parts))


def _record_file(work: Path, name: str) -> Path:
    return work / f"{name}.record"


def _read_json(file: Path) -> object:
    """Return what a file holds; None if it is missing or was not written to its end."""
    try:
        content: object = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return content


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and all that it has started: they are a process group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _interrupt(number: int, _: FrameType | None) -> None:
    _signals.append(number)


if __name__ == "__main__":
    main()
