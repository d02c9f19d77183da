"""Models that learn eight documents by heart, with several seeds."""

from pathlib import Path
from typing import Final

from sumpool.core.output.pointer import PointerOutputConfig
from sumpool.core.output.tied import TiedOutputConfig
from tests.torture.figures import Measured
from tests.training.test_overfit import overfit

ID: Final = "E6"
FIGURE: Final = "eight documents, 5 seeds: loss below 0.05 and exact copies; none after the summaries are exchanged"
NIGHT: Final = 5
QUICK: Final = 1
_LOSS = 0.05


def measure(count: int, folder: Path) -> Measured:
    """Train with `count` seeds, each with both output heads, and compare with the summaries of other documents too.

    Few seeds are those of the tied head: `training/test_overfit.py` has the other one.
    """
    learnt, exchanged, runs = 0, 0, 0
    for seed in range(1, count + 1):
        for output in (PointerOutputConfig(), TiedOutputConfig()) if count > QUICK else (TiedOutputConfig(),):
            loss, written, summaries = overfit(output, folder / f"{seed}-{output.kind}", seed)
            learnt += loss < _LOSS and written == summaries
            exchanged += any(text == other for text, other in zip(written, summaries[1:] + summaries[:1], strict=True))
            runs += 1
    text = f"{learnt} of {runs} learnt, {exchanged} as well with exchanged summaries"
    return Measured(text, learnt == runs and exchanged == 0, runs)
