from typing import Any
from unittest.mock import Mock

import pytest
import torch

from sumpool.bench.config import TablesConfig
from sumpool.bench.measures.timing import Timing
from sumpool.bench.suites import paper_times
from sumpool.bench.suites.paper import PaperRow, Published, rows
from sumpool.bench.suites.paper_times import FoundTimes, TimeRow, measure_tables, scale
from sumpool.bench.systems.workload import Conditions, Subject
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.model.config import ModelConfig
from sumpool.core.pooling.funnel import FunnelPoolerConfig

CONDITIONS = Conditions(vocabulary=320, device=torch.device("cpu"), precision=torch.float32)
SMALL = TablesConfig(table=8, scale=1 / 64, width=1 / 16, batch=1, generate_batch=2, generate=(64, 128), repeats=1)


def config(number: int) -> ModelConfig:
    found = rows(10)[number - 1].config
    assert found is not None
    return found


def test_every_length_and_width_shrinks() -> None:
    small = scale(config(23), SMALL)
    assert (small.source_length, small.dim, small.feed_forward, small.heads) == (128, 32, 128, 8)
    assert {layer.attention for layer in small.encoder} == {BlockwiseAttentionConfig(block=8)}
    assert [getattr(layer.pool, "keep", None) for layer in small.encoder] == [None, 32, 8, 2]


def test_a_share_does_not_shrink() -> None:
    pool = scale(config(19), SMALL).encoder[0].pool
    assert pool == FunnelPoolerConfig(window=16, stride=16)
    assert scale(config(19), SMALL).restore


def test_the_paper_itself_is_scale_one() -> None:
    settings = TablesConfig(scale=1, width=1)
    assert scale(config(7), settings) == config(7).model_copy(update={"target_length": 512})


def test_rows_stand_beside_the_paper() -> None:
    found = measure_tables(SMALL, CONDITIONS)
    assert [row.number for row in found.times] == list(range(27, 33))
    assert all(row.training and row.short and row.long for row in (*found.times, found.base))
    assert found.base.number == 5
    (table,) = found.tables()
    assert table.rows[0][:2] == ("#27", "Blockwise 128, 2k")
    assert table.rows[0][4] == f"{0.25 / 0.85:.2f}"
    assert "writing: 1 and 2 tokens" in table.notes[0]


def test_the_same_model_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[ModelConfig] = []

    class Counted(Subject):  # type: ignore[misc]
        def __init__(self, given: ModelConfig, conditions: Conditions) -> None:
            built.append(given)
            super().__init__(given, conditions)

    monkeypatch.setattr(paper_times, "Subject", Counted)
    found = measure_tables(SMALL.model_copy(update={"table": 7}), CONDITIONS)
    assert len(built) == len(set(built)) == 7  # six rows and row 5; none of them is printed twice in this table
    assert found.times[4].training


def test_what_cannot_be_built_or_does_not_fit_is_a_row_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    published = Published(1, 1, 1, 1, 1)
    given: Any = lambda table: (  # noqa: E731
        (PaperRow(3, "none", None, published, "not built: attention lsh"), rows(10)[0]) if table == 8 else rows(10)
    )
    monkeypatch.setattr(paper_times, "rows", given)
    monkeypatch.setattr(Subject, "train", Mock(side_effect=MemoryError))
    found = measure_tables(SMALL, CONDITIONS)
    assert [(row.note, row.training) for row in found.times] == [
        ("not built: attention lsh", None),
        ("memory ended", None),
    ]
    assert found.times[1].long
    (table,) = found.tables()
    assert table.rows[0][2:4] == ("-", "-")
    assert "#1: memory ended" in table.notes


def test_other_errors_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Subject, "train", Mock(side_effect=RuntimeError("shapes do not fit")))
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        measure_tables(SMALL, CONDITIONS)


def test_ratios() -> None:
    base = TimeRow(5, "base", Published(0.85, 5.4, 11.49, 0, 0), Timing((2.0,)), Timing((1.0,)), Timing((4.0,)))
    row = TimeRow(7, "it", Published(1.44, 2.14, 4.28, 0, 0), Timing((3.0,)), Timing((0.5,)), Timing((1.0,)))
    (table,) = FoundTimes((row,), base, "sizes").tables()
    assert table.rows[0][2:] == ("3.000", "1.50", "1.69", "0.500", "0.50", "0.40", "1.000", "0.25", "0.37")
