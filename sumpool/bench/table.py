"""Tables of a benchmark, as headings and cells; whoever prints them lays them out."""

from collections.abc import Iterator
from dataclasses import dataclass

from sumpool.bench.result import BenchReport, ModelRow, OperatorRow
from sumpool.bench.timing import Timing

NOISY = 1.5
"""Slowest over fastest repetition above which a comparison is marked."""
_TITLES = {
    "encode": "reading documents",
    "train": "training step, forward and backward",
    "generate": "reading documents and writing {generate} tokens about each with {beams} beams",
}
_MISSING = "-"


@dataclass(frozen=True)
class Table:
    """What is printed.

    Attributes:
        title: What it is about.
        columns: Headings.
        rows: Cells, as many as there are headings.
        notes: Sentences below it.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def tables(report: BenchReport) -> list[Table]:
    """Lay out what a benchmark found, the machine first."""
    return [_machine(report), *_models(report), *_growth(report), *_operators(report)]


def _machine(report: BenchReport) -> Table:
    machine = report.machine
    rows = [
        ("processor", machine.processor),
        ("cores, threads in use", f"{machine.cores}, {machine.threads}"),
        ("memory", f"{machine.memory / 2**30:.0f} GiB"),
        ("device", machine.accelerator or report.device),
        ("precision", report.precision),
        *report.versions.items(),
    ]
    return Table(f"bench of {report.recipe}", ("machine", ""), tuple(rows))


def _models(report: BenchReport) -> Iterator[Table]:
    columns = ("source tokens", "model", "seconds", "spread", "documents/s", "peak MiB", "Gop", "time / model")
    for work, title in _TITLES.items():
        rows = [row for row in report.models if row.work == work]
        if rows:
            base = {row.length: row.timing for row in rows if row.model == "model"}
            cells = tuple(_model_cells(row, base.get(row.length)) for row in rows)
            notes = [f"{row.model} at {row.length:,} tokens was left out: {row.note}" for row in rows if row.note]
            if any(cell[-1].endswith("?") for cell in cells):
                notes.append(f"?: slowest over fastest above {NOISY}; measure again on a quiet machine")
            yield Table(
                f"{title.format_map(report.settings['bench'])}, batch {rows[0].batch}", columns, cells, tuple(notes)
            )


def _model_cells(row: ModelRow, base: Timing | None) -> tuple[str, ...]:
    memory = _MISSING if row.memory is None else f"{row.memory / 2**20:,.0f}"
    operations = _MISSING if row.operations is None else f"{row.operations / 1e9:,.1f}"
    timing = row.timing
    times = (_MISSING,) * 3
    ratio = _MISSING
    if timing:
        times = (f"{timing.median:.3f}", f"{timing.spread:.2f}", f"{row.batch / timing.median:,.2f}")
    if timing and base:
        doubt = "?" if row.model != "model" and max(timing.spread, base.spread) > NOISY else ""
        ratio = f"{timing.median / base.median:.2f}{doubt}"
    return (f"{row.length:,}", row.model, *times, memory, operations, ratio)


def _growth(report: BenchReport) -> Iterator[Table]:
    if report.growth:
        rows = tuple(
            (
                row.work,
                row.model,
                row.cost,
                f"{row.lengths[0]:,} to {row.lengths[-1]:,}",
                f"{row.growth.exponent:.2f}",
                f"{row.growth.straightness:.4f}",
            )
            for row in report.growth
        )
        columns = ("work", "model", "cost", "source tokens", "exponent", "R2 of a line")
        note = "exponent: 1 is linear, 2 quadratic; what does not grow with the document lowers it"
        yield Table("growth with the length of the document", columns, rows, (note,))


def _operators(report: BenchReport) -> Iterator[Table]:
    if report.operators:
        columns = ("operator", "vectors", "kept", "similarity", "published", "ms", "ms/round", "spread")
        rows = tuple(map(_operator_cells, report.operators))
        note = "similarity to exact top-k: mean over the best vectors of the highest cosine to any that is left"
        yield Table(f"pooling of random vectors, batch {report.operators[0].batch}", columns, rows, (note,))


def _operator_cells(row: OperatorRow) -> tuple[str, ...]:
    published = _MISSING if row.published is None else f"{row.published:.3f}"
    milliseconds = 1000 * row.timing.median
    return (
        row.operator,
        f"{row.length:,}",
        f"{row.keep:,}",
        f"{row.similarity:.3f}",
        published,
        f"{milliseconds:.2f}",
        f"{milliseconds / row.rounds:.2f}",
        f"{row.timing.spread:.2f}",
    )
