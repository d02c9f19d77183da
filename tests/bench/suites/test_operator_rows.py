import pytest

from sumpool.bench.measures.timing import Timing
from sumpool.bench.suites.operator_rows import BY_DOCUMENT, LOOP, NEVER, ONCE, SORTED, FoundOperators, OperatorRow


def row(operator: str, length: int, keep: int, seconds: float | None, similarity: float | None = 0.9) -> OperatorRow:
    timing = None if seconds is None else Timing((seconds,))
    return OperatorRow(operator, length, keep, 16, 3, similarity, timing, "" if timing else "would take 9.0 s")


def cell(length: int, keep: int, loop: float | None, error: float = 0.1) -> tuple[OperatorRow, ...]:
    return (
        row(SORTED, length, keep, 0.003, 1 - error),
        row(ONCE, length, keep, 0.0025, 1 - error),
        row(NEVER, length, keep, 0.002, 1 - 2 * error),
        row(BY_DOCUMENT, length, keep, 0.03),
        row(LOOP, length, keep, loop, None if loop is None else 0.1),
    )


def found(*rows: OperatorRow) -> FoundOperators:
    return FoundOperators(rows, wide=512, crossings={64: None, 2048: 4})


FOUND = found(*cell(64, 2, 0.001), *cell(64, 4, 0.004), *cell(64, 8, 0.002), *cell(64, 16, 0.005), *cell(64, 32, None))


def test_crossing_holds_for_everything_above() -> None:
    assert FOUND.crossing(64) == 16  # at 4 it is faster too, but not at 8
    assert found(*cell(64, 2, 0.001)).crossing(64) is None
    assert found(*cell(64, 2, 0.1)).crossing(64) == 2


def test_sorting_costs_time_and_saves_error() -> None:
    assert FOUND.overhead(NEVER) == pytest.approx(0.5)
    assert FOUND.overhead(ONCE) == pytest.approx(0.2)
    assert FOUND.saving(NEVER) == pytest.approx(0.5)
    assert FOUND.saving(ONCE) == pytest.approx(0.0)


def test_tables_show_what_was_published() -> None:
    rows = (*cell(2048, 2, 0.1), *cell(2048, 4, 0.1), *cell(2048, 32, 0.1), *cell(2048, 1024, None))
    similarity, time, lengths, sorting = found(*rows).tables()
    assert [each[:2] for each in similarity.rows] == [("2,048", "2"), ("2,048", "32"), ("2,048", "1,024")]
    assert [each[-1] for each in similarity.rows] == ["0.412", "0.921", "0.986"]
    assert time.rows[-1] == ("2,048", "1,024", "3.00", "2.50", "2.00", "30.00", "-", "1.00")
    assert "1 of 20" in time.notes[-1]
    assert lengths.rows == (("2,048", "2", "32 to 64", "4", "1.00", "10.00", "about 10"),)
    assert sorting.rows[-1] == ("published", "7.3 %", "45.2 %")
    for table in (similarity, time, lengths, sorting):
        assert {len(each) for each in table.rows} == {len(table.columns)}
