"""Measure how long files are read: `python docs/scripts/format_speed.py FILE ...` prints the median of seven rounds."""

import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sumpool.documents.read import read_documents

_ROUNDS = 7


def rows(paths: Sequence[Path]) -> Iterator[str]:
    """Yield the rows of the table, in Markdown."""
    yield "| file | bytes | words | seconds |"
    yield "|---|---:|---:|---:|"
    for path in paths:
        seconds, words = [], 0
        for _ in range(_ROUNDS):
            start = time.perf_counter()
            (document,) = read_documents(str(path))
            seconds.append(time.perf_counter() - start)
            words = len(document.text.split())
        result = document.error or f"{statistics.median(seconds):.2f}"
        yield f"| {path.name} | {path.stat().st_size:,} | {words:,} | {result} |"


if __name__ == "__main__":
    for row in rows([Path(argument) for argument in sys.argv[1:]]):
        sys.stdout.write(f"{row}\n")
