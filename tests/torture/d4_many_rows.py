"""A file of many rows, read, summarised and written as a stream."""

import json
from pathlib import Path
from typing import Final

from tests.conftest import story, write_lines, write_run
from tests.torture.d3_long_document import peak_memory
from tests.torture.figures import Measured

ID: Final = "D4"
FIGURE: Final = (
    "rows summarised as a stream: memory grows by at most 50 MB from a hundredth of them to all; every row once"
)
NIGHT: Final = 100_000
QUICK: Final = 40
_TEXTS = 50
_GROWTH = 50.0


def measure(count: int, folder: Path) -> Measured:
    """Summarise a hundredth of `count` rows, and then all, in one process."""
    run = write_run(folder / "run")
    texts = [story(number, 2) for number in range(_TEXTS)]
    sizes = (max(count // 100, 1), count)
    for rows in sizes:
        lines = ({"id": str(row), "document": texts[row % _TEXTS]} for row in range(rows))
        write_lines(folder / f"{rows}.jsonl", lines)
    peaks = [peak for peak, _ in peak_memory(*(_command(folder, rows, run) for rows in sizes))]
    is_whole = True
    for rows in sizes:
        with (folder / f"{rows}.out.jsonl").open() as written:
            is_whole &= [json.loads(line)["id"] for line in written] == list(map(str, range(rows)))
    growth = peaks[1] - peaks[0]
    text = f"{peaks[0]:.0f} MB, then {peaks[1]:.0f} MB" + ("" if is_whole else "; rows differ")
    return Measured(text, is_whole and growth <= _GROWTH, count)


def _command(folder: Path, rows: int, run: Path) -> list[str]:
    """Return the arguments that summarise a file without sampling."""
    settings = ["--set", "summarize.beams=1", "--set", "summarize.max_length=8", "--set", "summarize.min_length=0"]
    out = str(folder / f"{rows}.out.jsonl")
    return ["summarize", str(folder / f"{rows}.jsonl"), "--model", str(run), "--out", out, *settings]
