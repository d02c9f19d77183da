"""What is known of a model's attention to sentences and of its decoder's time: rows and tables."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

from sumpool.bench.measures.regression import Regression
from sumpool.bench.results.result import Found
from sumpool.bench.results.table import MISSING, Table, number

MODES = ("forward and backward", "forward", "inference")
PUBLISHED = {"forward and backward": (1.08, 0.17), "forward": (1.14, 0.25), "inference": (9.96, 1.30)}
"""c2 / c1 in thousandths and c3 / c1 in millionths of Table 1, for BART at 1,024 source tokens."""
TERMS = ("1", "M", "N", "M N", "M^2", "N^2")
PUBLISHED_SURFACE = (1.0, 3.78e-3, 3.15e-3, 1.47e-6, 7.26e-7, 7.79e-7)
NINE_TENTHS = 0.9


@dataclass(frozen=True)
class KeptRow:
    """What the best sentences of one layer of the decoder hold.

    Attributes:
        layer: Its number, from 1.
        kept: Sum of attention that the best 1, 2, 3 ... sentences hold, mean over tokens, then documents; 1 from the
            number of sentences of a document on.
        agreement: By steps for which a choice is held, the share of the best sentences that it has; None where no
            document has more sentences than are seen.
    """

    layer: int
    kept: tuple[float, ...]
    agreement: dict[int, float | None]

    def at(self, sentences: int) -> float:
        """What so many sentences hold."""
        return self.kept[min(sentences, len(self.kept)) - 1]

    def needed(self, share: float) -> int:
        """Sentences that it takes to hold so much."""
        return next((best for best, kept in enumerate(self.kept, 1) if kept >= share), len(self.kept))


@dataclass(frozen=True)
class LossRow:
    """How well the same weights foresee summaries if a token sees chosen sentences only.

    Attributes:
        selection: How they are chosen; "full" where all are seen.
        nats: By number of sentences seen, mean surprise at a token of the reference.
    """

    selection: str
    nats: dict[int, float]


@dataclass(frozen=True)
class ModeRow:
    """Time by tokens of the summary, M, in one mode.

    Attributes:
        mode: What is done.
        times: Seconds at each M.
        fitted: c1 + c2 M + c3 M^2.
    """

    mode: str
    times: tuple[float, ...]
    fitted: Regression


@dataclass(frozen=True)
class SurfaceRow:
    """Time of forward and backward by tokens of summary and document.

    Attributes:
        places: (M, N) of each sample.
        times: Seconds of each.
        fitted: Sum of the TERMS.
    """

    places: tuple[tuple[int, int], ...]
    times: tuple[float, ...]
    fitted: Regression


@final
@dataclass(frozen=True)
class FoundSparsity(Found):
    """Figure 1, Table 1 and Appendix B.

    Attributes:
        layers: What the best sentences hold, by layer.
        losses: What the choice of sentences costs, by selection.
        modes: Time by tokens of the summary.
        surface: Time by tokens of both.
        documents: Validation documents that were read.
        sentences: Their sentences in the memory, mean.
        sizes: Settings that it depends on.
    """

    layers: tuple[KeptRow, ...]
    losses: tuple[LossRow, ...]
    modes: tuple[ModeRow, ...]
    surface: SurfaceRow
    documents: int
    sentences: float
    sizes: dict[str, Any]

    def tables(self) -> Iterator[Table]:
        """Figure 1, the loss by selection, held choices, Table 1 and Appendix B."""
        yield self._kept()
        yield self._losses()
        yield self._held()
        yield self._times()
        yield self._surface()

    def _kept(self) -> Table:
        rows = [(str(best), *(number(layer.at(best), 3) for layer in self.layers)) for best in self.sizes["shown"]]
        rows.append(("for 90 %", *(str(layer.needed(NINE_TENTHS)) for layer in self.layers)))
        notes = (
            f"mean over tokens and {self.documents} validation documents of {self.sentences:.1f} sentences in the "
            "memory; the paper's BART needs 25 of 29 sentences for 90 % on CNN/DailyMail",
        )
        return Table("attention that the best sentences hold", ("sentences", *self._names()), tuple(rows), notes)

    def _losses(self) -> Table:
        seen = sorted(self.losses[0].nats)
        rows = tuple((row.selection, *(number(row.nats[sentences], 5) for sentences in seen)) for row in self.losses)
        names = [f"{sentences} sentence{'s' * (sentences > 1)}" for sentences in seen]
        note = f"nats per token of the reference, the same weights and {self.documents} validation documents for all"
        return Table("loss where a token sees chosen sentences only", ("selection", *names), rows, (note,))

    def _held(self) -> Table:
        rows = tuple(
            (
                str(hold),
                *(
                    MISSING if layer.agreement[hold] is None else f"{100 * (layer.agreement[hold] or 0):.1f} %"
                    for layer in self.layers
                ),
            )
            for hold in self.sizes["holds"]
        )
        note = "of the sentences that choosing at every step would choose, those that are seen"
        title = f"agreement where the best {self.sizes['sentences']} sentences are held for some steps"
        return Table(title, ("hold", *self._names()), rows, (note,))

    def _times(self) -> Table:
        rows = []
        for row in self.modes:
            _, second, third = row.fitted.relative()
            published = (f"{value:.2f}" for value in PUBLISHED[row.mode])
            rows.append(
                (row.mode, _scaled(second, 1e3), _scaled(third, 1e6), number(row.fitted.explained, 4), *published)
            )
        columns = ("mode", "c2 / c1, 10^-3", "c3 / c1, 10^-6", "R^2", "paper c2 / c1", "paper c3 / c1")
        sizes = self.sizes
        notes = (
            f"{len(sizes['targets'])} values of M, {min(sizes['targets'])} to {max(sizes['targets'])}, fastest of "
            f"{sizes['repeats']} repetitions; encoder included; inference writes M tokens from its own history",
        )
        title = f"time = c1 + c2 M + c3 M^2, {sizes['length']:,} source tokens, batch {sizes['batch']}"
        return Table(title, columns, tuple(rows), notes)

    def _surface(self) -> Table:
        relative = self.surface.fitted.relative()
        rows = tuple(
            (name, MISSING if ours is None else f"{ours:.3g}", f"{published:.3g}")
            for name, ours, published in zip(TERMS, relative, PUBLISHED_SURFACE, strict=True)
        )
        notes = (
            f"{len(self.surface.places)} samples, fastest of {self.sizes['repeats']} repetitions, "
            f"R^2 = {self.surface.fitted.explained:.4f}; M: tokens of the summary, N: of the document",
        )
        return Table("time of forward and backward by both lengths", ("term", "/ c1", "paper"), rows, notes)

    def _names(self) -> list[str]:
        return [f"layer {layer.layer}" for layer in self.layers]


def _scaled(value: float | None, factor: float) -> str:
    return number(None if value is None else value * factor, 2)
