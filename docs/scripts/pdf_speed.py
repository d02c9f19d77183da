"""Measure the time from a cold start of Python to the text of PDF files: `python docs/scripts/pdf_speed.py FILE ...`.

Each file is read in seven new processes; the medians are printed with the processor. Processor time is what the wall
clock shows on an idle machine.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 7
_READ = (
    "import sys; from pathlib import Path; from sumpool.documents.document import DEFAULT_OPTIONS;"
    "from sumpool.documents.formats.pdf import parse;"
    "blocks = parse(Path(sys.argv[1]).read_bytes(), DEFAULT_OPTIONS).blocks;"
    "sys.stdout.write(f'{max(block.page for block in blocks)} {sum(len(block.text.split()) for block in blocks)}')"
)


def measure(path: Path) -> tuple[float, float, int, int]:
    """Return the medians of the wall clock's and the processor's seconds, the last page and the words of a file."""
    wall, processor = [], []
    for _ in range(RUNS):
        start, before = time.perf_counter(), os.times()
        result = subprocess.run([sys.executable, "-c", _READ, str(path)], capture_output=True, check=True, text=True)
        wall.append(time.perf_counter() - start)
        after = os.times()
        processor.append(after.children_user + after.children_system - before.children_user - before.children_system)
    pages, words = map(int, result.stdout.split())
    return statistics.median(wall), statistics.median(processor), pages, words


def processor_name() -> str:
    """Return the name of the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"


if __name__ == "__main__":
    sys.stdout.write(f"medians of {RUNS} cold starts, {processor_name()}\n\n")
    sys.stdout.write("| file | pages | words | wall clock, s | processor, s |\n|---|---:|---:|---:|---:|\n")
    for name in sys.argv[1:]:
        wall, processor, pages, words = measure(Path(name))
        sys.stdout.write(f"| {Path(name).name} | {pages} | {words:,} | {wall:.2f} | {processor:.2f} |\n")
