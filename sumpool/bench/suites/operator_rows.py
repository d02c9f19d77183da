"""What is known of pooling operators: rows, their tables, and what they say beside the published figures."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import final

from sumpool.bench.measures.timing import Timing
from sumpool.bench.results.result import Found
from sumpool.bench.results.table import MISSING, Table, number

SORTED = "halving, sorted each round"
ONCE = "halving, sorted once"
NEVER = "halving, never sorted"
BY_DOCUMENT = "halving, one document at a time"
LOOP = "iterative, as published"
SUMS = "iterative, suffix sums"
HARD = "hard top-k"
_HEADINGS = {
    SORTED: "sorted",
    ONCE: "once",
    NEVER: "never",
    BY_DOCUMENT: "one by one",
    HARD: "hard",
    LOOP: "loop",
    SUMS: "sums",
}
_LEGEND = "; ".join(f"{heading}: {name}" for name, heading in _HEADINGS.items())

# (vectors, kept): similarity of the authors' code, from their own CSV.
PUBLISHED = {
    (128, 2): 0.898,
    (128, 32): 0.985,
    (128, 64): 0.984,
    (512, 2): 0.698,
    (512, 32): 0.970,
    (512, 128): 0.986,
    (512, 256): 0.985,
    (2048, 2): 0.412,
    (2048, 32): 0.921,
    (2048, 128): 0.971,
    (2048, 512): 0.986,
    (2048, 1024): 0.986,
    (8192, 2): 0.234,
    (8192, 32): 0.715,
    (8192, 128): 0.924,
    (8192, 512): 0.971,
    (8192, 2048): 0.987,
}
SHOWN = (2, 32, 128, 512, 2048)
"""Numbers kept that are printed, beside half of the vectors."""
PUBLISHED_CROSSING = "32 to 64"
PUBLISHED_OVERHEAD, PUBLISHED_SAVING = 0.073, 0.452
PUBLISHED_ROUND = 10.0
"""Milliseconds that a round of the released code takes at batch 16, whatever the length."""


@dataclass(frozen=True)
class OperatorRow:
    """One way of pooling random vectors by random scores.

    Attributes:
        operator: Name of the operator and of what is special about it.
        length: Vectors before.
        keep: Vectors after.
        batch: Documents at once.
        rounds: Rounds of a tournament.
        similarity: Mean over the `keep` best-scored vectors of the highest cosine to any vector that is left; 1 is
            exact top-k.
        timing: Seconds of the whole pooling of a batch; None where `note` says why there are none.
        note: Why it was not measured; empty where it was.
    """

    operator: str
    length: int
    keep: int
    batch: int
    rounds: int
    similarity: float | None
    timing: Timing | None
    note: str = ""


@final
@dataclass(frozen=True)
class FoundOperators(Found):
    """All operators at all lengths and numbers kept.

    Attributes:
        operators: Rows by length, then number kept, then operator.
        wide: Features of a model's vectors.
        crossings: By length, the smallest number kept at which halving is faster than the loop with vectors of `wide`
            features; None where it never is.
    """

    operators: tuple[OperatorRow, ...]
    wide: int
    crossings: dict[int, int | None]

    def tables(self) -> Iterator[Table]:
        """Similarity, time, and what follows from them."""
        yield self._similarity()
        yield self._time()
        yield self._lengths()
        yield self._sorting()

    def names(self) -> list[str]:
        """Operators, in the order measured."""
        return list(dict.fromkeys(row.operator for row in self.operators))

    def cells(self) -> dict[tuple[int, int], dict[str, OperatorRow]]:
        """Rows by (vectors, kept), then operator."""
        found: dict[tuple[int, int], dict[str, OperatorRow]] = {}
        for row in self.operators:
            found.setdefault((row.length, row.keep), {})[row.operator] = row
        return found

    def crossing(self, length: int) -> int | None:
        """Smallest number kept from which on halving is faster than the iterative loop; None if it never is.

        A loop that was left out because it would take too long counts as slower.
        """
        found = None
        for (vectors, keep), rows in sorted(self.cells().items(), reverse=True):
            if vectors != length:
                continue
            halving, loop = rows[SORTED].timing, rows[LOOP].timing
            if halving is None or (loop is not None and loop.fastest <= halving.fastest):
                break
            found = keep
        return found

    def overhead(self, operator: str) -> float:
        """Time that sorting costs over `operator`: mean over the cells of the share that it adds."""
        return fmean(_milliseconds(rows[SORTED]) / _milliseconds(rows[operator]) - 1 for rows in self.cells().values())

    def saving(self, operator: str) -> float:
        """Error that sorting saves over `operator`: mean over the cells of the share of 1 - similarity."""
        return fmean(1 - _error(rows[SORTED]) / _error(rows[operator]) for rows in self.cells().values())

    def _shown(self) -> Iterable[tuple[tuple[int, int], dict[str, OperatorRow]]]:
        cells = self.cells()
        most = {length: max(keep for vectors, keep in cells if vectors == length) for length, _ in cells}
        return (item for item in cells.items() if item[0][1] in (*SHOWN, most[item[0][0]]))

    def _similarity(self) -> Table:
        rows = tuple(
            (
                f"{length:,}",
                f"{keep:,}",
                *(number(rows[name].similarity, 3) for name in self.names()),
                number(PUBLISHED.get((length, keep)), 3),
            )
            for (length, keep), rows in self._shown()
        )
        columns = ("vectors", "kept", *(_HEADINGS[name] for name in self.names()), "sorted, published")
        note = "mean over the best vectors of the highest cosine to any that is left; 1 is exact top-k"
        return Table("similarity to exact top-k (nCCS)", columns, rows, (note, _LEGEND))

    def _time(self) -> Table:
        rows = tuple(
            (
                f"{length:,}",
                f"{keep:,}",
                *(number(1000 * row.timing.fastest, 2) if row.timing else MISSING for row in rows.values()),
                number(_per_round(rows[SORTED]), 2),
            )
            for (length, keep), rows in self._shown()
        )
        columns = ("vectors", "kept", *(_HEADINGS[name] for name in self.names()), "sorted, a round")
        left_out = sum(bool(row.note) for row in self.operators)
        notes = ["fastest repetition, which other work disturbs least; JSON has all of them, and every number kept"]
        if left_out:
            notes.append(
                f"-: left out, it would take too long ({left_out} of {len(self.operators)}; see bench.seconds)"
            )
        return Table(f"milliseconds, batch {self.operators[0].batch}", columns, rows, tuple(notes))

    def _lengths(self) -> Table:
        """By length: when halving overtakes the loop, and what a round takes."""
        rows = []
        for length in dict.fromkeys(row.length for row in self.operators):
            crossing = self.crossing(length)
            own = [rows for (vectors, _), rows in self.cells().items() if vectors == length]
            batched, alone = (fmean(_per_round(cell[name]) for cell in own) for name in (SORTED, BY_DOCUMENT))
            wide = number(self.crossings.get(length), 0)
            found = (number(crossing, 0), PUBLISHED_CROSSING, wide, number(batched, 2), number(alone, 2))
            rows.append((f"{length:,}", *found, f"about {PUBLISHED_ROUND:.0f}"))
        columns = (
            "vectors",
            "faster from",
            "published",
            f"{self.wide} features",
            "ms a round",
            "one document at a time",
            "published, on A100",
        )
        notes = (
            "faster from: the number kept from which on halving, sorted each round, is faster than the iterative loop; "
            f"with the few features of the published benchmark, and with {self.wide} as models have them",
            "ms a round: mean over the numbers kept; the released code loops over the batch of 16, so that its time is "
            "that of 16 tournaments whatever their length",
        )
        return Table("halving by length", columns, tuple(rows), notes)

    def _sorting(self) -> Table:
        rows = tuple(
            (name, f"{100 * self.overhead(other):.1f} %", f"{100 * self.saving(other):.1f} %")
            for name, other in (("each round against never", NEVER), ("each round against once", ONCE))
        )
        published = ("published", f"{100 * PUBLISHED_OVERHEAD:.1f} %", f"{100 * PUBLISHED_SAVING:.1f} %")
        note = "means over all lengths and numbers kept; error is 1 - similarity"
        return Table(
            "what sorting costs and saves", ("sorting", "more time", "less error"), (*rows, published), (note,)
        )


def _milliseconds(row: OperatorRow) -> float:
    assert row.timing, "halving is always measured"
    return 1000 * row.timing.fastest


def _per_round(row: OperatorRow) -> float:
    return _milliseconds(row) / row.rounds


def _error(row: OperatorRow) -> float:
    assert row.similarity is not None, "halving is always measured"
    return max(1 - row.similarity, 1e-9)
