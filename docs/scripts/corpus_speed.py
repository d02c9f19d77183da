"""Throughput of a corpus on a local Ray cluster beside one process.

    python docs/scripts/corpus_speed.py DOCUMENTS.jsonl [COUNT]

DOCUMENTS.jsonl has a `document` per line, such as prepared/sample/train/texts.jsonl. Both use all cores: a worker of
one thread per core, and one process with a thread per core. The time of both includes their start.
"""

import os
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from sumpool.io.bounded import parse_json


def main(rows: Path, count: int) -> None:
    """Print rows per second of both, their ratio, and the number of equal summaries."""
    with tempfile.TemporaryDirectory() as folder:
        corpus, one, out = (Path(folder) / name for name in ("corpus.jsonl", "one.jsonl", "out"))
        with rows.open() as lines:
            corpus.write_text("".join(islice(lines, count)))
        many = _seconds(corpus, "--ray", "local", "--out", str(out))
        single = _seconds(corpus, "--out", str(one))
        parts = [line for path in sorted(out.glob("part-*")) for line in path.read_text().splitlines()]
        texts = [[_text(line) for line in lines] for lines in (parts, one.read_text().splitlines())]
    same = sum(ours == theirs for ours, theirs in zip(*texts, strict=True))
    sys.stdout.write(
        f"{os.cpu_count()} workers of one thread: {many:.1f} s, {len(texts[0]) / many:.3f} rows/s\n"
        f"one process: {single:.1f} s, {len(texts[0]) / single:.3f} rows/s, {single / many:.2f} times the time\n"
        f"equal summaries: {same:,} of {len(texts[0]):,}\n"
    )


def _seconds(corpus: Path, *options: str) -> float:
    start = time.perf_counter()
    words = [sys.executable, "-m", "sumpool", "summarize", str(corpus), *options]
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def _text(line: str) -> str:
    row = parse_json(line)
    return str(row.get("generated_summary", row["summary"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 400)
