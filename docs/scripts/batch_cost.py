"""Processor time of a document alone and in batches, as requests to `sumpool serve` that wait are summarised.

    OMP_NUM_THREADS=1 python docs/scripts/batch_cost.py DOCUMENTS.jsonl [MODE]

DOCUMENTS.jsonl has a `document` per line, such as prepared/sample/test/texts.jsonl; 8 are summarised in MODE, by
default extractive. Each size of a batch is measured twice, in turns. Printed are medians in seconds a document,
and the ratio to one alone, which is the most that batches gain on as many threads.
"""

import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import cast

from sumpool import Summarizer
from sumpool.inference.summarizer import Mode

SIZES, DOCUMENTS, ROUNDS = (1, 4, 8), 8, 2


def main(documents: str, mode: str = "extractive") -> None:
    """Measure every size of a batch."""
    texts = [json.loads(line)["document"] for line in Path(documents).read_text().splitlines()[:DOCUMENTS]]
    summarizer = Summarizer.load("sumpool/shipped")
    summarizer.summarize(texts[:2], mode=cast("Mode", mode))
    seconds: dict[int, list[float]] = {size: [] for size in SIZES}
    for _ in range(ROUNDS):
        for size in SIZES:
            start = time.process_time()
            for first in range(0, len(texts), size):
                summarizer.summarize(texts[first : first + size], mode=cast("Mode", mode))
            seconds[size].append((time.process_time() - start) / len(texts))
    alone = median(seconds[1])
    for size, measured in seconds.items():
        sys.stdout.write(f"batches of {size:2}: {median(measured):.2f} s, {alone / median(measured):.2f} times\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
