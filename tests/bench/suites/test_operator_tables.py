import pytest

from sumpool.bench.measures.timing import Timing
from sumpool.bench.results.report import Result
from sumpool.bench.results.table import Row
from sumpool.bench.suites.operator_tables import (
    BY_DOCUMENT,
    LOOP,
    NEVER,
    ONCE,
    SORTED,
    by_cell,
    crossing,
    operators_result,
    overhead,
    saving,
)


def row(operator: str, length: int, keep: int, seconds: float | None, similarity: float | None = 0.9) -> Row:
    sizes = {"length": length, "keep": keep, "batch": 16, "rounds": 3}
    timing = None if seconds is None else Timing((seconds,))
    return Row({"operator": operator, **sizes, "similarity": similarity}, timing, "" if timing else "would take 9.0 s")


def cell(length: int, keep: int, loop: float | None, error: float = 0.1) -> tuple[Row, ...]:
    return (
        row(SORTED, length, keep, 0.003, 1 - error),
        row(ONCE, length, keep, 0.0025, 1 - error),
        row(NEVER, length, keep, 0.002, 1 - 2 * error),
        row(BY_DOCUMENT, length, keep, 0.03),
        row(LOOP, length, keep, loop, None if loop is None else 0.1),
    )


def result(*rows: Row) -> Result:
    return operators_result(rows, 512, {64: None, 2048: 4})


CELLS = by_cell(
    [*cell(64, 2, 0.001), *cell(64, 4, 0.004), *cell(64, 8, 0.002), *cell(64, 16, 0.005), *cell(64, 32, None)]
)


def test_crossing_holds_for_everything_above() -> None:
    assert crossing(CELLS, 64) == 16  # at 4 it is faster too, but not at 8
    assert crossing(by_cell(cell(64, 2, 0.001)), 64) is None
    assert crossing(by_cell(cell(64, 2, 0.1)), 64) == 2


def test_sorting_costs_time_and_saves_error() -> None:
    assert overhead(CELLS, NEVER) == pytest.approx(0.5)
    assert overhead(CELLS, ONCE) == pytest.approx(0.2)
    assert saving(CELLS, NEVER) == pytest.approx(0.5)
    assert saving(CELLS, ONCE) == pytest.approx(0.0)


def test_tables_show_what_was_published() -> None:
    rows = (*cell(2048, 2, 0.1), *cell(2048, 4, 0.1), *cell(2048, 32, 0.1), *cell(2048, 1024, None))
    similarity, time, lengths, sorting = result(*rows).tables
    assert [cells[:2] for cells in similarity.cells()] == [("2,048", "2"), ("2,048", "32"), ("2,048", "1,024")]
    assert [cells[-1] for cells in similarity.cells()] == ["0.412", "0.921", "0.986"]
    assert time.cells()[-1] == ("2,048", "1,024", "3.00", "2.50", "2.00", "30.00", "-", "1.00")
    assert "1 of 20" in time.notes[-1]
    assert lengths.cells() == [("2,048", "2", "32 to 64", "4", "1.00", "10.00", "about 10")]
    assert sorting.cells()[-1] == ("published", "7.3 %", "45.2 %")
    for table in (similarity, time, lengths, sorting):
        assert {len(cells) for cells in table.cells()} == {len(table.headings())}
