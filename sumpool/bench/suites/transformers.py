"""An imported BART beside the original: `generate` of transformers against our encoder and search, in one process.

Both have the same weights, read the same documents and search with the same settings, those of BART for news summaries.
Weights and documents are random, since they change no cost; summaries have a fixed number of pieces. Reading is the
encoder alone, writing is all that comes after it: keys and values of the documents, then the search.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, final

import torch
from torch import Tensor

from sumpool.bench.config import TransformersConfig
from sumpool.bench.measures.timing import Steps, Timing, interleave
from sumpool.bench.results.result import Found
from sumpool.bench.results.table import Table, number, ratio
from sumpool.bench.systems.workload import Conditions, Documents
from sumpool.core.decoding.beam import Hypothesis, search
from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.constraints import NoRepeatTokens, Rules
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.model.summarizer import Memory, SummarizationModel
from sumpool.interruption import Check, go_on
from sumpool.progress import Report, silent

THEIRS, OURS = "transformers", "sumpool"


@dataclass(frozen=True)
class Pair:
    """A model of transformers and the same one imported.

    Attributes:
        theirs: Their model, with the settings that `generate` goes by.
        ours: Our model, with the same weights.
        numbers: (vocab,), their number of each of our pieces; any where they have none.
        end: Their number of the end.
        writing: Their settings for writing as ours.
        version: Of transformers.
    """

    theirs: Any
    ours: SummarizationModel
    numbers: Tensor
    end: int
    writing: DecodingConfig
    version: str


@dataclass(frozen=True)
class SystemRow:
    """One of the two.

    Attributes:
        system: Its name.
        reading: Seconds of the encoder.
        writing: Seconds from there to the summaries.
    """

    system: str
    reading: Timing
    writing: Timing

    @property
    def seconds(self) -> float:
        """Medians of both, for a batch."""
        return self.reading.median + self.writing.median


@final
@dataclass(frozen=True)
class FoundTransformers(Found):
    """Both systems.

    Attributes:
        systems: Theirs, then ours.
        same: Documents with the same summary from both, piece for piece.
        batch: Documents.
        steps: Pieces that a search writes: the forced first one, the summary and its end.
        sizes: What was measured, in a sentence.
    """

    systems: tuple[SystemRow, ...]
    same: int
    batch: int
    steps: int
    sizes: str

    def tables(self) -> Iterator[Table]:
        """Documents a second, and where the seconds go."""
        theirs = self.systems[0]
        rows = tuple(
            (
                row.system,
                number(row.reading.median, 2),
                number(row.reading.spread, 2),
                number(row.writing.median, 2),
                number(row.writing.spread, 2),
                number(1000 * row.writing.median / self.steps, 1),
                number(self.batch / row.seconds, 3),
                ratio(theirs.seconds, row.seconds),
            )
            for row in self.systems
        )
        columns = ("", "reading s", "spread", "writing s", "spread", "ms a step", "documents/s", f"/ {THEIRS}")
        same = f"{self.same} of {self.batch} summaries are the same, piece for piece"
        yield Table("an imported BART beside the original", columns, rows, (self.sizes, same))


def measure_transformers(
    pair: Pair, settings: TransformersConfig, conditions: Conditions, report: Report = silent, check: Check = go_on
) -> FoundTransformers:
    """Measure both in turns, reading and writing apart, and compare what they wrote.

    Args:
        pair: The models, on the CPU.
        settings: Sizes and repetitions.
        conditions: Device, precision and seed; the vocabulary is that of the models.
        report: Told of every repetition.
        check: Called between repetitions; it may raise to stop.
    """
    steps = Steps(4 * (settings.repeats + 1), report, check)
    with torch.inference_mode(), conditions.autocast():
        duel = _Duel(pair, settings, conditions)
        works = {
            (THEIRS, "reading"): duel.they_read,
            (OURS, "reading"): duel.we_read,
            (THEIRS, "writing"): duel.they_write,
            (OURS, "writing"): duel.we_write,
        }
        timings = interleave(works, settings.repeats, conditions.device, steps)
        written = zip(duel.they_write(), duel.we_write(), strict=True)
    steps.finish()
    rows = tuple(SystemRow(name, timings[name, "reading"], timings[name, "writing"]) for name in (THEIRS, OURS))
    same = sum(theirs == ours for theirs, ours in written)
    return FoundTransformers(rows, same, settings.batch, settings.generate + 2, _describe(settings, pair.version))


@final
class _Duel:
    """Both models before the same documents."""

    def __init__(self, pair: Pair, settings: TransformersConfig, conditions: Conditions) -> None:
        self.pair = pair
        self.device = conditions.device
        self.theirs = pair.theirs.to(self.device)
        self.ours = pair.ours.to(self.device).eval()
        self.documents = Documents.random(settings.batch, settings.length, 1, conditions)
        self.ids = pair.numbers.to(self.device)[self.documents.ids]
        self.mask = torch.ones_like(self.ids)
        self.their_memory = self.they_read()
        self.our_memory = self.we_read()

    def they_read(self) -> Any:  # noqa: ANN401 - a type of transformers
        """Let them encode."""
        return self.theirs.get_encoder()(self.ids, attention_mask=self.mask)

    def we_read(self) -> Memory:
        """Encode."""
        return self.ours.encode(self.documents.ids, self.documents.mask, self.documents.sentences)

    def they_write(self) -> list[list[int]]:
        """Let them search."""
        memory = replace(self.their_memory)  # they repeat it for every beam, where it lies
        found = self.theirs.generate(encoder_outputs=memory, attention_mask=self.mask).tolist()
        return [list(takewhile(lambda piece: piece != self.pair.end, row[1:])) for row in found]

    def we_write(self) -> list[list[int]]:
        """Search."""
        writing = self.pair.writing
        assert isinstance(writing.min_length, int)
        assert isinstance(writing.max_length, int)
        found: list[list[Hypothesis]] = search(
            self.ours.step,
            self.ours.start(self.our_memory, writing.beams),
            [Lengths(writing.min_length, writing.max_length)] * len(self.ids),
            writing.ranking(),
            Rules(writing.begin_with, [NoRepeatTokens(writing.no_repeat_tokens)], self.ours.special_tokens),
            device=self.device,
        )
        return [self.pair.numbers[list(best.tokens)].tolist() for best, *_ in found]


def _describe(settings: TransformersConfig, version: str) -> str:
    return (
        f"{settings.layers} + {settings.layers} layers, dim {settings.dim}, {settings.vocabulary:,} pieces, random; "
        f"{settings.length:,} source tokens, {settings.generate} written, batch {settings.batch}, "
        f"{settings.beams} beams; {THEIRS} {version}"
    )
