"""What is known of selected sentences: rows, their tables, and the length from which selecting pays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

from sumpool.bench.measures.timing import Timing
from sumpool.bench.results.result import Found
from sumpool.bench.results.table import Table, number, ratio

FULL = "full"
APPROXIMATE, GRU = "approximate", "approximate, gru"


@dataclass(frozen=True)
class StepRow:
    """One step of one layer's cross-attention, for all hypotheses of a batch.

    Attributes:
        length: Source tokens.
        selection: How sentences are chosen; "full" sees all words.
        sentences: Sentences that a hypothesis sees; 0 for all.
        independent: Whether the hypotheses of a document have nothing in common.
        chosen: Sentences that they choose between them, mean over the documents; 0 where nothing is chosen.
        moved: Bytes of keys, values and sentences that are read, and of keys and values that are copied.
        timing: Seconds, choosing included.
    """

    length: int
    selection: str
    sentences: int
    independent: bool
    chosen: float
    moved: int
    timing: Timing


@dataclass(frozen=True)
class HoldRow:
    """Steps that keep to the sentences once chosen.

    Attributes:
        length: Source tokens.
        hold: Steps for which a choice is held.
        agreement: Share of the sentences that choosing at every step would choose, and that are seen.
        timing: Seconds of a step, mean over the steps of a choice.
    """

    length: int
    hold: int
    agreement: float
    timing: Timing


@dataclass(frozen=True)
class GenerationRow:
    """A whole generation of a batch.

    Attributes:
        length: Source tokens.
        selection: How sentences are chosen; "full" sees all words.
        reading: Seconds in which sentences were found and encoded, once for all layers.
        remembering: Seconds in which the layers projected keys and values.
        steps: Seconds of each token.
    """

    length: int
    selection: str
    reading: float
    remembering: float
    steps: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.reading + self.remembering + sum(self.steps)


def break_even(lengths: Sequence[int], full: Sequence[float], selected: Sequence[float]) -> float | None:
    """Find the length from which on selecting is faster, between those measured on a straight line.

    Args:
        lengths: Source tokens, ascending.
        full: Time of full cross-attention at each.
        selected: Time of the selection at each.

    Returns:
        The first length where it is faster at all of them; None where it is not at the last.
    """
    saved = [full_time - time for full_time, time in zip(full, selected, strict=True)]
    if saved[-1] <= 0:
        return None
    for (shorter, lost), (longer, won) in reversed(list(pairwise(zip(lengths, saved, strict=True)))):
        if lost <= 0:
            return shorter + (longer - shorter) * lost / (lost - won)
    return float(lengths[0])


@final
@dataclass(frozen=True)
class FoundSelection(Found):
    """All selections at all lengths.

    Attributes:
        steps: Rows by length; of each first the hypotheses that have much in common.
        holds: Rows by length, then by hold.
        generations: Rows by length, then by selection, full first.
        sizes: Settings that they depend on.
    """

    steps: tuple[StepRow, ...]
    holds: tuple[HoldRow, ...]
    generations: tuple[GenerationRow, ...]
    sizes: dict[str, Any]

    def tables(self) -> Iterator[Table]:
        """Steps, held choices and generations."""
        yield self._steps(independent=False)
        yield self._steps(independent=True)
        yield self._holds()
        yield self._generations()

    def lengths(self) -> list[int]:
        """Source tokens, ascending."""
        return sorted({row.length for row in self.generations})

    def selections(self) -> list[str]:
        """Selections that were timed in steps, the approximate one first."""
        return list(dict.fromkeys(row.selection for row in self.steps if row.selection != FULL))

    def step(self, length: int, selection: str, sentences: int, independent: bool = False) -> StepRow:
        """Find a step; sentences are 0 for full."""
        place = (length, selection, sentences, independent)
        return next(row for row in self.steps if (row.length, row.selection, row.sentences, row.independent) == place)

    def generation(self, length: int, selection: str) -> GenerationRow:
        """Find a generation."""
        return next(row for row in self.generations if (row.length, row.selection) == (length, selection))

    def _steps(self, independent: bool) -> Table:
        rows = []
        for row in self.steps:
            if row.selection != APPROXIMATE or row.independent != independent:
                continue
            full = self.step(row.length, FULL, 0, independent)
            others = [self.step(row.length, name, row.sentences, independent) for name in self.selections()]
            rows.append(
                (
                    f"{row.length:,}",
                    str(row.sentences),
                    number(row.chosen, 1),
                    number(full.moved / 2**20, 0),
                    number(row.moved / 2**20, 1),
                    number(1000 * full.timing.median, 2),
                    number(1000 * row.timing.median, 2),
                    *(ratio(full.timing.median, other.timing.median, 1) for other in others),
                )
            )
        columns = ("tokens", "sentences", "chosen", "full MiB", "MiB", "full ms", "ms")
        kind = "that have nothing in common" if independent else "that have much in common"
        beams, batch = self.sizes["beams"], self.sizes["batch"]
        notes = (
            f"chosen: sentences that {beams} hypotheses choose between them; MiB: keys, values and sentences read, and "
            f"keys and values copied, by counting; ms: {APPROXIMATE}, all of it; then how many times faster than full",
        )
        title = f"cross-attention of one layer and step, batch {batch}, hypotheses {kind}"
        return Table(
            title, (*columns, *self.selections()), tuple(rows), notes if independent else notes + self._notes()
        )

    def _notes(self) -> tuple[str, ...]:
        """Where steps break even."""
        lengths = self.lengths()
        full = [self.step(length, FULL, 0).timing.median for length in lengths]
        places = []
        for sentences in self.sizes["sentences"]:
            times = [self.step(length, APPROXIMATE, sentences).timing.median for length in lengths]
            places.append(f"{sentences} sentences {_from(break_even(lengths, full, times), lengths)}")
        return (f"a step of {APPROXIMATE} is faster than full: {'; '.join(places)}",)

    def _holds(self) -> Table:
        base = {row.length: row.timing.median for row in self.holds if row.hold == 1}
        rows = tuple(
            (
                f"{row.length:,}",
                str(row.hold),
                number(1000 * row.timing.median, 2),
                ratio(row.timing.median, base[row.length]),
                f"{100 * row.agreement:.1f} %",
            )
            for row in self.holds
        )
        notes = (
            "agreement: of the sentences that choosing at every step would choose, those that are seen; states are "
            "random ones around a centre, and sumpool bench sparsity tells it of a trained model",
        )
        columns = ("tokens", "hold", "ms a step", "/ 1", "agreement")
        title = f"{APPROXIMATE}, {self.sizes['generate_sentences']} sentences, held for some steps"
        return Table(title, columns, rows, notes)

    def _generations(self) -> Table:
        rows = []
        for row in self.generations:
            full = self.generation(row.length, FULL)
            parts = (row.reading, row.remembering, sum(row.steps), row.seconds)
            compared = ratio(full.seconds, row.seconds)
            rows.append((f"{row.length:,}", row.selection, *(number(part, 2) for part in parts), compared))
        lengths = self.lengths()
        full_times = [self.generation(length, FULL).seconds for length in lengths]
        places = []
        for name in dict.fromkeys(row.selection for row in self.generations if row.selection != FULL):
            times = [self.generation(length, name).seconds for length in lengths]
            places.append(f"{name} {_from(break_even(lengths, full_times, times), lengths)}")
        sizes = self.sizes
        title = (
            f"{sizes['generate']} tokens, {sizes['layers']} layers, batch {sizes['batch']}, beams {sizes['beams']}, "
            f"{sizes['generate_sentences']} sentences: seconds of the decoder without its output head"
        )
        columns = ("tokens", "selection", "sentences", "keys, values", "steps", "all", "times faster")
        notes = (
            "sentences: finding and encoding them, once for all layers; systems take turns token by token",
            f"all of it is faster than full: {'; '.join(places)}",
        )
        return Table(title, columns, tuple(rows), notes)


def _from(length: float | None, lengths: Sequence[int]) -> str:
    """Say from which length on."""
    if length is None:
        return f"nowhere up to {lengths[-1]:,} tokens"
    return f"at every length from {lengths[0]:,}" if length == lengths[0] else f"from about {length:,.0f} tokens"
