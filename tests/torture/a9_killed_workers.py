"""A corpus on a local Ray cluster: workers are killed at random moments, and once the command itself, which goes on.

Every row of the corpus has exactly one row in the folder, which is that of one process.
"""

import json
import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from sumpool.documents.read import read_all
from sumpool.workflows.summarize import summarize
from sumpool.workflows.summarize_corpus import JOURNAL
from tests.conftest import story, write_lines, write_run
from tests.torture.figures import Measured, family, start, wait_for_lines

ID: Final = "A9"
FIGURE: Final = "kill -9 of workers, and of the command, in a corpus on Ray: every row once, as in one process"
NIGHT: Final = 10
QUICK: Final = 1
_ROWS, _FEW_ROWS = 200, 64
"""Rows of the corpus for each kill of a worker, and those for the quick count."""
_FILE_ROWS: Final = 16
_COLUMNS = ("summary", "mode", "tokens_read", "tokens_total", "reason")
_OVERRIDES = ("summarize.beams=1",)
_SECONDS = 600


def measure(count: int, folder: Path) -> Measured:
    """Kill workers `count` times, and the command after half of them."""
    run, corpus, out = write_run(folder / "run"), folder / "corpus", folder / "out"
    size = count * (_ROWS if count > QUICK else _FEW_ROWS)
    rows = [{"n": number, "document": story(number % 50, 5 + number % 30)} for number in range(size)]
    corpus.mkdir()
    files = range(0, size, _FILE_ROWS)
    for first in files:
        write_lines(corpus / f"{first:06d}.jsonl", rows[first : first + _FILE_ROWS])
    draw = random.Random(count)
    moments = sorted(draw.randrange(len(files) - 1) for _ in range(count))
    command, killed, commands = _start(run, corpus, out), 0, 1
    for number, moment in enumerate(moments):
        wait_for_lines(out / JOURNAL, moment, command, _SECONDS)
        time.sleep(draw.uniform(0, 0.3))
        killed += _kill_worker(command.pid, draw)
        if number == count // 2:
            command.kill()
            command.wait()
            command, commands = _start(run, corpus, out, "--resume"), commands + 1
    status = command.wait(_SECONDS)
    written = [json.loads(line) for path in sorted(out.glob("part-*.jsonl")) for line in path.read_text().splitlines()]
    expected = list(summarize(read_all([str(corpus)]), run, overrides=_OVERRIDES))
    once = [row["n"] for row in written] == list(range(len(rows)))
    same = sum(
        all(row[name] == getattr(summary, "text" if name == "summary" else name) for name in _COLUMNS)
        for row, summary in zip(written, expected, strict=False)
    )
    text = f"{same:,} of {len(rows):,} rows equal and once; kills: {killed} of workers, {commands - 1} of the command"
    is_met = status == 0 and once and same == len(rows) and killed == count and commands == 2
    return Measured(text, is_met, count + 1)


def _start(run: Path, corpus: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    settings = [word for override in _OVERRIDES for word in ("--set", override)]
    words = ("summarize", str(corpus), "--model", str(run), "--ray", "local", "--jobs", "2", "--out", str(out))
    return start("-m", "sumpool", *words, *settings, *options)


def _kill_worker(command: int, draw: random.Random) -> bool:
    """Kill a worker of the local cluster of a command, once there is one, and return whether there was."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end and Path(f"/proc/{command}").exists():
        workers = []
        for process in family(command):
            with suppress(OSError):  # it has ended
                if b"Summarizer" in Path(f"/proc/{process}/cmdline").read_bytes():
                    workers.append(process)
        if workers:
            with suppress(ProcessLookupError):
                os.kill(draw.choice(workers), signal.SIGKILL)
                return True
        time.sleep(0.05)
    return False
