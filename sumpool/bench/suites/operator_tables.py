"""Tables of the pooling operators, beside the published figures."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from sumpool.bench.results.report import Result
from sumpool.bench.results.table import Column, Row, make_table, pivot, unique, where

SORTED = "halving, sorted each round"
ONCE = "halving, sorted once"
NEVER = "halving, never sorted"
BY_DOCUMENT = "halving, one document at a time"
LOOP = "iterative, as published"
STEPS = "iterative, all steps at once"
SUMS = "iterative by softmax of scores, suffix sums"
HARD = "hard top-k"
_HEADINGS = {
    SORTED: "sorted",
    ONCE: "once",
    NEVER: "never",
    BY_DOCUMENT: "one by one",
    HARD: "hard",
    LOOP: "loop",
    STEPS: "steps",
    SUMS: "sums",
}
_LEGEND = "; ".join(f"{heading}: {name}" for name, heading in _HEADINGS.items())

# Vectors, then kept: similarity of the authors' code, from their own CSV.
PUBLISHED: Mapping[int, Mapping[int, float]] = {
    128: {2: 0.898, 32: 0.985, 64: 0.984},
    512: {2: 0.698, 32: 0.970, 128: 0.986, 256: 0.985},
    2048: {2: 0.412, 32: 0.921, 128: 0.971, 512: 0.986, 1024: 0.986},
    8192: {2: 0.234, 32: 0.715, 128: 0.924, 512: 0.971, 2048: 0.987},
}
SHOWN = (2, 32, 128, 512, 2048)
"""Numbers kept that are printed, beside half of the vectors."""

Cells = Mapping[tuple[int, int], Mapping[str, Row]]
"""Rows by (vectors, kept), then operator."""


def operators_result(
    rows: Sequence[Row], model_dim: int, crossings: Mapping[int, int | None], sharpness: Sequence[Row] = ()
) -> Result:
    """Tables of similarity, time, growth with length, sorting, and iterative pooling by weights and sharpness."""
    cells = by_cell(rows)
    most = {length: max(keep for vectors, keep in cells if vectors == length) for length, _ in cells}
    shown = [row for row in rows if row["keep"] in (*SHOWN, most[row["length"]])]
    left_out = sum(bool(row.note) for row in rows)
    slow = [f"-: left out, it would take too long ({left_out} of {len(rows)}; see bench.seconds)"] if left_out else []
    similarity, time = (pivot(shown, ("length", "keep"), "operator", value) for value in ("similarity", "fastest"))
    rounds = (_seconds_per_round(row) for row in where(shown, {"operator": SORTED}))
    similarity = [line.also({"published": PUBLISHED.get(line["length"], {}).get(line["keep"])}) for line in similarity]
    time = [line.also({"round": seconds}) for line, seconds in zip(time, rounds, strict=True)]
    facts = {"legend": _LEGEND, "batch": rows[0]["batch"], "model_dim": model_dim}
    tables = [
        make_table("similarity", similarity, facts, columns=_operator_columns(rows, ",.3f")),
        make_table("pooling_time", time, facts, columns=_operator_columns(rows, ",.2f", "ms"), notes=slow),
        make_table("halving", [*_length_rows(cells, crossings)], facts),
        make_table("sorting", _sorting_rows(cells)),
    ]
    if sharpness:
        columns = [Column(f"a = {factor:g}", str(factor), ",.3f") for factor in unique(sharpness, "sharpness")]
        lines = pivot(sharpness, ("length", "keep", "weights"), "sharpness", "similarity")
        tables.append(make_table("sharpness", lines, columns=columns))
    return Result({"operators": rows, "sharpness": sharpness}, tables, {"model_dim": model_dim, "crossings": crossings})


def by_cell(rows: Sequence[Row]) -> dict[tuple[int, int], dict[str, Row]]:
    """Rows by (vectors, kept), then operator."""
    cells: dict[tuple[int, int], dict[str, Row]] = {}
    for row in rows:
        cells.setdefault((row["length"], row["keep"]), {})[row["operator"]] = row
    return cells


def crossing(cells: Cells, length: int) -> int | None:
    """Smallest number kept from which on halving is faster than the iterative loop; None if it never is.

    A loop that was left out because it would take too long counts as slower.
    """
    smallest = None
    for (vectors, keep), rows in sorted(cells.items(), reverse=True):
        if vectors != length:
            continue
        halving, loop = rows[SORTED].timing, rows[LOOP].timing
        if halving is None or (loop is not None and loop.fastest <= halving.fastest):
            break
        smallest = keep
    return smallest


def overhead(cells: Cells, operator: str) -> float:
    """Time that sorting costs over `operator`: mean over the cells of the share that it adds."""
    return fmean(rows[SORTED]["fastest"] / rows[operator]["fastest"] - 1 for rows in cells.values())


def saving(cells: Cells, operator: str) -> float:
    """Error that sorting saves over `operator`: mean over the cells of the share of 1 - similarity."""
    return fmean(1 - _error(rows[SORTED]) / _error(rows[operator]) for rows in cells.values())


def _operator_columns(rows: Sequence[Row], style: str, unit: str = "") -> list[Column]:
    return [Column(_HEADINGS[name], name, style, unit) for name in unique(rows, "operator")]


def _length_rows(cells: Cells, crossings: Mapping[int, int | None]) -> Iterator[Row]:
    """By length: when halving overtakes the loop, and what a round takes."""
    for length in dict.fromkeys(vectors for vectors, _ in cells):
        same = [rows for (vectors, _), rows in cells.items() if vectors == length]
        values = {
            "length": length,
            "crossing": crossing(cells, length),
            "published": "32 to 64",
            "model_crossing": crossings.get(length),
            "batched": fmean(_seconds_per_round(rows[SORTED]) for rows in same),
            "alone": fmean(_seconds_per_round(rows[BY_DOCUMENT]) for rows in same),
            "published_round": "about 10",  # ms of the released code at batch 16, whatever the length
        }
        yield Row(values)


def _sorting_rows(cells: Cells) -> list[Row]:
    compared = {"each round against never": NEVER, "each round against once": ONCE}
    rows = [
        Row({"sorting": name, "overhead": overhead(cells, other), "saving": saving(cells, other)})
        for name, other in compared.items()
    ]
    return [*rows, Row({"sorting": "published", "overhead": 0.073, "saving": 0.452})]


def _seconds_per_round(row: Row) -> float:
    return float(row["fastest"] / row["rounds"])


def _error(row: Row) -> float:
    return max(1 - float(row["similarity"]), 1e-9)
