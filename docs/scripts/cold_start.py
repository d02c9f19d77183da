"""Time and memory of `sumpool summarize FILE` from its start, with `--fast` and without, and of a process that is warm.

    python docs/scripts/cold_start.py RFC_FOLDER [--model RUN] [--repeat 3]

RFC_FOLDER holds rfcN.txt.gz. The documents of a cold start are RFCs joined up to 1,000, 10,000 and 100,000 words; the
least of several starts counts. The warm documents are the first 2,000 words of 60 RFCs, summarised as with `--fast`.
Seconds are those of the wall and of the processor; on a busy machine only the latter mean anything. One thread works.
"""

import argparse
import gzip
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from sumpool.documents.document import Document, ParsedDocument
from sumpool.documents.read import read_documents
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.io.manifest import SHIPPED

COLD_WORDS = (1_000, 10_000, 100_000)
WARM_WORDS, WARM_DOCUMENTS = 2_000, 60
SEED = 3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rfcs", type=Path)
    parser.add_argument("--model", type=Path, default=SHIPPED)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "document.txt"
        for size in COLD_WORDS:
            path.write_text(joined(arguments.rfcs, size), encoding="utf-8")
            for options in (["--fast"], []):
                runs = [cold_start(path, arguments.model, options) for _ in range(arguments.repeat)]
                seconds, processor, mebibytes = min(runs)
                figures = f"{seconds:.2f} s, {processor:.2f} s of processor, {mebibytes:.0f} MiB"
                print(f"cold, {' '.join(options) or 'default'}, {size:,} words: {figures}")  # noqa: T201
        documents = list(beginnings(arguments.rfcs, path))
    pipeline = Pipeline.open(RunFiles.open(arguments.model, ["summarize.fast=true"]))
    start, processor = time.perf_counter(), time.process_time()
    words = sum(len(summary.summary.split()) for summary in pipeline.summarize(documents))
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    rates = f"{len(documents) / seconds:.0f} documents/s, {len(documents) / processor:.0f} a second of processor"
    print(f"warm, {WARM_WORDS:,} words: {rates}, {words / len(documents):.0f} words a summary")  # noqa: T201


def cold_start(path: Path, model: Path, options: list[str]) -> tuple[float, float, float]:
    """Summarise a file in a new process: seconds, seconds of the processor, and mebibytes at most."""
    command = [sys.executable, "-m", "sumpool", "summarize", *options, "--model", str(model), str(path)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def joined(folder: Path, size: int) -> str:
    """Join RFCs up to a number of words."""
    lines: list[str] = []
    words = 0
    for text in texts(folder):
        for line in text.splitlines():
            lines.append(line)
            words += len(line.split())
            if words >= size:
                return "\n".join(lines)
    return "\n".join(lines)


def beginnings(folder: Path, path: Path) -> Iterator[Document]:
    """Read the first words of RFCs as files are read."""
    for number, text in zip(range(WARM_DOCUMENTS), texts(folder), strict=False):
        path.write_text(text, encoding="utf-8")
        (document,) = read_documents(str(path))
        blocks = []
        words = 0
        for block in document.blocks:
            blocks.append(block)
            words += len(block.text.split())
            if words >= WARM_WORDS:
                yield Document.from_parsed(str(number), ParsedDocument(tuple(blocks)))
                break


def texts(folder: Path) -> Iterator[str]:
    """Read RFCs in a random order."""
    paths = sorted(folder.glob("rfc*.txt.gz"))
    random.Random(SEED).shuffle(paths)
    for path in paths:
        yield gzip.decompress(path.read_bytes()).decode("utf-8", "replace")


if __name__ == "__main__":
    main()
