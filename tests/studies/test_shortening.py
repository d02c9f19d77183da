from unittest.mock import Mock

import pytest
import torch

from sumpool.bench.measures import Timing
from sumpool.bench.results import Row, unique
from sumpool.bench.workload import Conditions
from sumpool.studies.config import ShorteningConfig
from sumpool.studies.shortening import measure_shortening, shortening_result

CONDITIONS = Conditions(vocabulary=8, device=torch.device("cpu"), precision=torch.float32)
SMALL = ShorteningConfig(
    factors=(4, 2),
    length=24,
    dim=16,
    heads=2,
    feed_forward=16,
    repeats=1,
)


def test_every_factor_is_compared_to_none() -> None:
    found = measure_shortening(SMALL, CONDITIONS)
    rows = found.rows["shortening"]
    assert unique(rows, "factor") == [1, 2, 4]
    assert all(row.timing and len(row.timing.seconds) == 1 for row in rows)


def test_a_factor_that_does_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sumpool.training.hardware.peak", Mock(side_effect=MemoryError))
    found = measure_shortening(SMALL, CONDITIONS)
    assert {row.note for row in found.rows["shortening"]} == {"out of memory"}
    table = found.tables[0]
    assert table.cells()[0] == ("1", "-", "-", "-", "-", "-", "-", "-")
    assert "4 was left out: out of memory" in table.notes


def test_ratios_stand_beside_those_of_the_paper() -> None:
    rows = [
        Row({"factor": 1, "memory": 200 * 2**20}, Timing((2.0,))),
        Row({"factor": 4, "memory": 50 * 2**20}, Timing((1.0,))),
    ]
    (table,) = shortening_result(rows, SMALL).tables
    assert table.cells()[1] == ("4", "1.000", "1.00", "0.50", "0.40", "50", "0.25", "0.47")
