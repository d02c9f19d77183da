from functools import partial

import pytest
import torch

from sumpool.bench.measures import Timing
from sumpool.bench.results import Row
from sumpool.bench.workload import Conditions
from sumpool.progress import no_op
from sumpool.studies import operators
from sumpool.studies.config import OperatorsConfig
from sumpool.studies.operators import (
    BY_DOCUMENT,
    HARD,
    LOOP,
    NEVER,
    ONCE,
    PUBLISHED,
    SORTED,
    by_cell,
    crossing,
    measure_operators,
    operators_result,
    overhead,
    saving,
    similarity,
)
from sumpool.studies.study import Steps


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


CELLS = by_cell(
    [*cell(64, 2, 0.001), *cell(64, 4, 0.004), *cell(64, 8, 0.002), *cell(64, 16, 0.005), *cell(64, 32, None)]
)


def test_crossing_overhead_and_saving() -> None:
    assert crossing(CELLS, 64) == 16  # at 4 it is faster too, but not at 8
    assert crossing(by_cell(cell(64, 2, 0.001)), 64) is None
    assert crossing(by_cell(cell(64, 2, 0.1)), 64) == 2
    assert overhead(CELLS, NEVER) == pytest.approx(0.5)
    assert overhead(CELLS, ONCE) == pytest.approx(0.2)
    assert saving(CELLS, NEVER) == pytest.approx(0.5)
    assert saving(CELLS, ONCE) == pytest.approx(0.0)


def test_tables_show_what_was_published() -> None:
    rows = (*cell(2048, 2, 0.1), *cell(2048, 4, 0.1), *cell(2048, 32, 0.1), *cell(2048, 1024, None))
    similarity, time, lengths, sorting = operators_result(rows).tables
    assert [cells[:2] for cells in similarity.cells()] == [("2,048", "2"), ("2,048", "32"), ("2,048", "1,024")]
    assert [cells[-1] for cells in similarity.cells()] == ["0.412", "0.921", "0.986"]
    assert time.cells()[-1] == ("2,048", "1,024", "3.00", "2.50", "2.00", "30.00", "-", "1.00")
    assert "1 of 20" in time.notes[-1]
    assert lengths.cells() == [("2,048", "2", "32 to 64", "1.00", "10.00", "about 10")]
    assert sorting.cells()[-1] == ("published", "7.3 %", "45.2 %")
    for table in (similarity, time, lengths, sorting):
        assert {len(cells) for cells in table.cells()} == {len(table.headings())}


CONDITIONS = Conditions(vocabulary=8, device=torch.device("cpu"), precision=torch.float32)
SMALL = OperatorsConfig(lengths=(32, 8), batch=3, repeats=1)


def test_similarity_is_that_of_the_nearest_vector_left_and_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for at_once in (1, 7, 2**24):
        states, scores, left = torch.randn(2, 9, 4), torch.rand(2, 9), torch.randn(2, 5, 4)
        cosine = torch.nn.functional.cosine_similarity
        expected = [
            sum(
                max(float(cosine(states[row, best], one, dim=0)) for one in left[row])
                for best in scores[row].topk(5).indices
            )
            / 5
            for row in range(2)
        ]
        monkeypatch.setattr(operators, "AT_ONCE", at_once)
        assert similarity(states, scores, left).tolist() == pytest.approx(expected, abs=1e-6)


def test_every_operator_is_measured_at_every_length_or_left_out_with_a_note() -> None:
    rows = measure_operators(SMALL, CONDITIONS, Steps()).rows["operators"]
    cells = by_cell(rows)
    assert list(cells) == [(8, 2), (8, 4), (32, 2), (32, 4), (32, 8), (32, 16)]
    assert {tuple(operators_of) for operators_of in cells.values()} == {tuple(operators.OPERATORS)}
    assert all(row.timing and row["similarity"] for row in rows)
    hasty = measure_operators(SMALL.model_copy(update={"seconds": 1e-9}), CONDITIONS, Steps())
    cells = by_cell(hasty.rows["operators"])
    assert cells[8, 2][LOOP].timing
    assert cells[32, 16][LOOP].note.startswith("would take")
    assert cells[32, 16][LOOP].timing is None
    assert cells[32, 16][SORTED].timing


def test_halving_is_as_close_to_top_k_as_its_authors_report() -> None:
    settings = OperatorsConfig(repeats=1)
    others = dict.fromkeys(operators.OPERATORS.keys() - {SORTED, HARD}, "not compared")
    measure = partial(operators._measure, settings=settings, conditions=CONDITIONS, left_out=others, check=no_op)
    cells = by_cell([row for keep in (256, 128, 32, 2) for row in measure(512, keep)])
    for keep, tolerance in ((256, 0.002), (128, 0.002), (32, 0.005), (2, 0.05)):
        row = cells[512, keep][SORTED]
        assert row["similarity"] == pytest.approx(PUBLISHED[512][keep], abs=tolerance)
        assert cells[512, keep][HARD]["similarity"] == pytest.approx(1.0)
    assert cells[512, 2][SORTED]["rounds"] == 8
