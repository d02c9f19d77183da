"""Summaries alone, in batches of several sizes, in another order, and beside a much longer document."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sumpool.documents.document import Document
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.summary import Summary
from tests.conftest import story, write_run
from tests.torture.figures import Measured

ID: Final = "E1"
FIGURE: Final = (
    "documents x batches of 2, 7, 32 in another order, beside one 10 times as long: same text, scores within 1e-5"
)
NIGHT: Final = 200
QUICK: Final = 4
_TOLERANCE = 1e-5


def measure(count: int, folder: Path) -> Measured:
    """Compare summaries of `count` documents, by greedy search and by beam search."""
    run = write_run(folder / "run")
    draw = random.Random(1)
    documents = [Document(str(number), story(number, draw.randint(1, 12))) for number in range(count)]
    same, error, total = 0, 0.0, 0
    for beams in (1, 4):
        alone = _summaries(load_model(run, [f"summarize.beams={beams}", "summarize.batch_tokens=1"]), documents)
        for size in (2, 7, 32):
            loaded = load_model(run, [f"summarize.beams={beams}", f"summarize.batch_tokens={size * 120}"])
            order = [*draw.sample(documents, len(documents)), Document("neighbour", story(count, 120))]
            batched = _summaries(loaded, order)
            for document in documents:
                one, other = alone[document.id], batched[document.id]
                total += 1
                same += one.summary == other.summary
                error = max(error, abs((one.score or 0.0) - (other.score or 0.0)))
    return Measured(
        f"{same:,} of {total:,} equal, scores within {error:.0e}", same == total and error <= _TOLERANCE, count
    )


def _summaries(loaded: LoadedModel, documents: Sequence[Document]) -> dict[str, Summary]:
    """Summarise documents, and return the summaries by their ids."""
    return {summary.id: summary for summary in Pipeline.of(loaded).summarize(documents)}
