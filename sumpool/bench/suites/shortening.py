"""Time and memory of a training step against the shortening factor (Nawrot et al., Figure 5).

Theirs is a language model of 2 + 8 + 2 layers over 2,048 characters: the eight in the middle see one vector for every
`factor` characters, and the last two every character again. Ours is an encoder-decoder: an encoder of 2 + 8 layers with
mean pooling between them, and a decoder of two layers that is as long as the source by default and so stands for their
last two. It differs in that the decoder also looks at the memory, which is as short as the pooling leaves it, and in
that the encoder is not causal.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import final

from sumpool.bench.config import ShorteningConfig
from sumpool.bench.measures.timing import Steps, Timing, Work, interleave
from sumpool.bench.results.result import Found
from sumpool.bench.results.table import Table, number, ratio
from sumpool.bench.systems.workload import Conditions, Documents, Subject
from sumpool.core.model.config import ModelConfig
from sumpool.errors import is_out_of_memory
from sumpool.interruption import Check, go_on
from sumpool.progress import Report, silent
from sumpool.training.memory import peak

FIRST, MIDDLE, LAST = 2, 8, 2
"""Layers before the pooling, after it, and of the decoder."""
PUBLISHED = {2: (0.56, 0.57), 4: (0.40, 0.47)}
"""Time and memory in proportion to no shortening, from the paper's section 5; it says no others in numbers."""
PUBLISHED_RANGE = "paper, Figure 5: at 4 to 6 less than half of the memory, and 2.5 times faster (time 0.40)"


@dataclass(frozen=True)
class ShorteningRow:
    """One shortening factor.

    Attributes:
        factor: Vectors that one mean stands for; 1 pools nothing.
        timing: Seconds of a training step; None where `note` says why there are none.
        memory: Peak bytes above those held before; None where that cannot be known.
        note: Why it was not measured; empty where it was.
    """

    factor: int
    timing: Timing | None = None
    memory: int | None = None
    note: str = ""


@final
@dataclass(frozen=True)
class FoundShortening(Found):
    """All shortening factors.

    Attributes:
        shortening: Rows, the smallest factor, which is 1, first.
        sizes: What was measured, in a sentence.
    """

    shortening: tuple[ShorteningRow, ...]
    sizes: str

    def tables(self) -> Iterator[Table]:
        """Time and memory, in proportion to no shortening."""
        base = self.shortening[0]
        rows = tuple(
            (
                str(row.factor),
                number(row.timing.median if row.timing else None, 3),
                number(row.timing.spread if row.timing else None, 2),
                ratio(row.timing.median if row.timing else None, base.timing.median if base.timing else None),
                number(PUBLISHED.get(row.factor, (None, None))[0], 2),
                number(None if row.memory is None else row.memory / 2**20, 0),
                ratio(row.memory, base.memory),
                number(PUBLISHED.get(row.factor, (None, None))[1], 2),
            )
            for row in self.shortening
        )
        columns = ("factor", "seconds", "spread", "/ 1", "paper", "peak MiB", "/ 1", "paper")
        notes = [self.sizes, PUBLISHED_RANGE]
        notes += [f"{row.factor} was left out: {row.note}" for row in self.shortening if row.note]
        yield Table("training step by shortening factor", columns, rows, tuple(notes))


def measure_shortening(
    settings: ShorteningConfig, conditions: Conditions, report: Report = silent, check: Check = go_on
) -> FoundShortening:
    """Measure a training step at every shortening factor, in turns.

    Args:
        settings: Factors, sizes and repetitions.
        conditions: Device, precision and seed; the vocabulary is that of the settings.
        report: Told of every repetition.
        check: Called between repetitions; it may raise to stop.
    """
    here = replace(conditions, vocabulary=settings.vocabulary)
    documents = Documents.random(settings.batch, settings.length, settings.target, here)
    factors = sorted({1, *settings.factors})
    subjects = {factor: Subject(model(factor, settings), here) for factor in factors}
    works = {str(factor): partial(subject.train, documents) for factor, subject in subjects.items()}
    steps = Steps(len(factors) * (settings.repeats + 2), report, check)
    rows = {}
    for factor in reversed(factors):  # the cheapest first, so that libraries are warm
        steps()
        rows[factor] = _remember(ShorteningRow(factor), works[str(factor)], here, warm=factor != factors[-1])
    fitting = {name: work for name, work in works.items() if not rows[int(name)].note}
    timings = interleave(fitting, settings.repeats, here.device, steps)
    steps.finish()
    found = tuple(replace(rows[factor], timing=timings.get(str(factor))) for factor in factors)
    return FoundShortening(found, _describe(settings))


def model(factor: int, settings: ShorteningConfig) -> ModelConfig:
    """Build the model that pools by this factor; by 1 it does not pool."""
    attention = {"kind": settings.attention} | ({"block": settings.block} if settings.attention == "blockwise" else {})
    plain = {"attention": attention}
    pooled = plain | ({"pool": {"kind": "funnel", "window": factor, "stride": factor}} if factor > 1 else {})
    return ModelConfig.model_validate(
        {
            "dim": settings.dim,
            "heads": settings.heads,
            "feed_forward": settings.feed_forward,
            "norm": "post",
            "source_length": settings.length,
            "encoder": [*[plain] * (FIRST - 1), pooled, *[plain] * MIDDLE],
            "decoder": {"layers": LAST},
            "output": {"kind": "tied"},
        }
    )


def _remember(row: ShorteningRow, work: Work, conditions: Conditions, warm: bool) -> ShorteningRow:
    """Measure memory once, or note why not."""
    try:
        if not warm:
            work()
        return replace(row, memory=peak(work, conditions.device))
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return replace(row, note="memory ended")


def _describe(settings: ShorteningConfig) -> str:
    return (
        f"encoder of {FIRST} + {MIDDLE} {settings.attention} layers with mean pooling between them, decoder of {LAST}; "
        f"{settings.length:,} source and {settings.target:,} summary tokens, batch {settings.batch}, dim {settings.dim}"
    )
