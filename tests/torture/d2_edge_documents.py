"""Documents of one character, one endless word, a hundred thousand lines, and other edges."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sumpool.documents.document import Document
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.inference.pipeline import Pipeline
from tests.conftest import write_run
from tests.torture.figures import Measured

ID: Final = "D2"
FIGURE: Final = "a row per document, in order, with text or a reason; t(2n) <= 2.3 t(n); none above 30 s"
NIGHT: Final = 100_000
QUICK: Final = 200
_SHORT = (
    *("", "   \n\t ", "a", "word", "...!?"),
    "\U0001f469\u200d\U0001f4bb\U0001f389",
    "\u0627\u0644\u0646\u0635 \u0637\u0648\u064a\u0644.",
    "\u8fd9\u662f\u4e00\u4e2a\u6ca1\u6709\u7a7a\u683c\u7684\u53e5\u5b50\u3002",
)
_GROWING: dict[str, Callable[[int], str]] = {
    "combining marks": lambda n: "a" + "\u0301" * (n // 100),
    "one word": lambda n: "a" * (10 * n),
    "full stops": lambda n: "." * (10 * n),
    "digits and dots": lambda n: "1." * n,
    "one sentence": lambda n: "packets over links " * (n // 2) + ".",
    "one-word lines": lambda n: "packets\n" * n,
}
_SECONDS = 30.0
_GROWTH = 2.3
_UNMEASURABLE = 0.5
"""Seconds of the processor below which growth is noise; times are the shorter of two."""


def measure(count: int, folder: Path) -> Measured:
    """Summarise short edges, and long ones of `count` and `count` / 2 units."""
    loaded = load_model(write_run(folder / "run"))
    documents = [Document(str(number), text) for number, text in enumerate(_SHORT)]
    summaries = list(Pipeline.of(loaded).summarize(documents))
    rows_fit = [summary.id for summary in summaries] == [document.id for document in documents]
    faults = [] if rows_fit else ["rows differ"]
    slowest = 0.0
    for name, text in _GROWING.items():
        sizes = (count // 2, count)
        times = [[_seconds(Document(name, text(size)), loaded, faults) for _ in range(2)] for size in sizes]
        half, whole = (min(used for _, used in pair) for pair in times)
        elapsed = min(waited for waited, _ in times[1])
        slowest = max(slowest, elapsed)
        if elapsed > _SECONDS or whole > max(_UNMEASURABLE, _GROWTH * half):
            faults.append(f"{name}: {half:.1f} s, then {whole:.1f} s of the processor, {elapsed:.1f} s")
    summary = "; ".join(faults) or f"slowest {slowest:.1f} s"
    return Measured(summary, not faults, max(count, len(_SHORT) + len(_GROWING)))


def _seconds(document: Document, loaded: LoadedModel, faults: list[str]) -> tuple[float, float]:
    """Summarise a document; return the seconds that passed, and those of the processor."""
    start, used = time.perf_counter(), time.process_time()
    (summary,) = Pipeline.of(loaded).summarize([document])
    if not (summary.text or summary.reason):
        faults.append(f"{document.id}: neither text nor reason")
    return time.perf_counter() - start, time.process_time() - used
