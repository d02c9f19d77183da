"""Time of a large corpus on many workers, simulated from the parts of a small one.

    python docs/scripts/corpus_plan.py SUMMARIES/parts.jsonl [ROWS] [MEGABYTES]

Each simulated part takes the sum of times per document drawn from the measured parts. A worker takes the next part when
it is free; the command starts a part in DISPATCH seconds, one at a time, and reads MEGABYTES of JSON lines before that.
Workers die at random, and their parts begin again. Printed are the time, the share of it that the workers compute
(efficiency), and what the rest is: reading, starting parts, repeated parts, and workers without a part at the end.
"""

import heapq
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sumpool.corpora.parts import MAX_PARTS, PART_DOCUMENTS
from sumpool.io.bounded import parse_json

DISPATCH: Final = 0.013
"""Seconds of the command for a part: 1,000 parts of a few words with `--fast` take 13 s more than start and work."""
READ: Final = 1300.0
"""Megabytes of JSON lines per second that the command divides, measured on 465 MB in the page cache."""
RESTART: Final = 15.0
"""Seconds until a worker that died has another model."""
HOURS_PER_DEATH: Final = 100.0
WORKERS: Final = (2, 16, 128, 1024)


class Plan(NamedTuple):
    """Result of a simulation in seconds: total, computed by all workers, repeated by them, and reading."""

    total: float
    computed: float
    repeated: float
    reading: float


def simulate(rates: Sequence[float], rows: int, megabytes: float, workers: int) -> Plan:
    """Simulate a corpus.

    Args:
        rates: Measured seconds per document, one per part.
        rows: Documents of the corpus.
        megabytes: Its size.
        workers: Number of workers.
    """
    draw = random.Random(workers)
    size = PART_DOCUMENTS * -(-rows // (PART_DOCUMENTS * MAX_PARTS))
    reading = megabytes / READ
    free = [reading] * workers
    started = reading
    computed = repeated = end = 0.0
    for first in range(0, rows, size):
        documents = min(size, rows - first)
        seconds = sum(
            draw.choice(rates) * min(PART_DOCUMENTS, documents - at) for at in range(0, documents, PART_DOCUMENTS)
        )
        started = max(started + DISPATCH, heapq.heappop(free))
        finish = started + seconds
        if draw.random() < seconds / (HOURS_PER_DEATH * 3600):
            lost = draw.random() * seconds
            repeated, finish = repeated + lost, finish + lost + RESTART
        heapq.heappush(free, finish)
        computed, end = computed + seconds, max(end, finish)
    return Plan(end, computed, repeated, reading)


def main(journal: Path, rows: int, megabytes: float) -> None:
    """Print a table of the plans."""
    parts = [parse_json(line) for line in journal.read_bytes().splitlines()]
    rates = [part["seconds"] / part["documents"] for part in parts]
    sys.stdout.write(f"{sum(rates) / len(rates):.3f} seconds per document in {len(parts)} parts\n\n")
    sys.stdout.write("| workers | hours | efficiency | reading | repeated |\n|---:|---:|---:|---:|---:|\n")
    for workers in WORKERS:
        plan = simulate(rates, rows, megabytes, workers)
        available = plan.total * workers
        cells = (plan.computed / available, plan.reading / plan.total, plan.repeated / available)
        sys.stdout.write(
            f"| {workers:,} | {plan.total / 3600:.2f} | {' | '.join(f'{share:.2%}' for share in cells)} |\n"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(float((sys.argv[2:] or ["1e6"])[0])), float((sys.argv[3:] or ["12000"])[0]))
