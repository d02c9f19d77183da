from unittest.mock import Mock

import pytest
import torch

from sumpool.bench.measures import Timing
from sumpool.bench.results import Row, unique
from sumpool.bench.workload import Conditions, Subject
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.model.config import ModelConfig
from sumpool.core.pooling.funnel import FunnelPoolerConfig
from sumpool.studies import tables as paper_times
from sumpool.studies.config import TablesConfig
from sumpool.studies.study import Steps
from sumpool.studies.tables import WORKS, measure_tables, rows, scale, times_result, times_row


def profile(config: ModelConfig) -> list[int]:
    """Vectors that enter each encoder layer, and those that the decoder sees, where poolers keep a number."""
    lengths = [config.source_length]
    for layer in config.encoder:
        lengths.append(int(getattr(layer.pool, "keep", lengths[-1])))
    return lengths


def config(number: int) -> ModelConfig:
    return rows(10)[number - 1][0]


def test_lengths_and_models_are_those_of_the_paper() -> None:
    for number, lengths in (
        (5, [8192, 8192, 8192]),
        (7, [8192, 8192, 512]),
        (21, [8192, 2048, 512]),
        (22, [8192, 8192, 2048, 512]),
        (23, [8192, 8192, 2048, 512, 128]),
        (24, [8192, 8192, 4096, 2048]),
        (25, [8192, 8192, 2048]),
        (26, [8192, 8192, 8192, 2048]),
        (30, [2048, 2048, 512]),
    ):
        assert profile(config(number)) == lengths
    for again, first in ((25, 8), (29, 2), (31, 6)):  # rows that are printed twice
        (model, row), (same, other) = (rows(10)[number - 1] for number in (again, first))
        assert row["label"] == f"#{again}"
        assert model == same
        assert all(row[f"{work}_published"] == other[f"{work}_published"] for work in WORKS)


CONDITIONS = Conditions(vocabulary=320, device=torch.device("cpu"), precision=torch.float32)
SMALL = TablesConfig(table=8, scale=1 / 64, width=1 / 16, batch=1, generate=(64, 128), repeats=1)


def test_every_length_and_width_shrinks_but_no_share() -> None:
    small = scale(config(23), SMALL)
    assert (small.source_length, small.dim, small.feed_forward, small.heads) == (128, 32, 128, 8)
    assert {layer.attention for layer in small.encoder} == {BlockwiseAttentionConfig(block=8)}
    assert [getattr(layer.pool, "keep", None) for layer in small.encoder] == [None, 32, 8, 2]
    pool = scale(config(19), SMALL).encoder[0].pool
    assert pool == FunnelPoolerConfig(window=16, stride=16)
    assert scale(config(19), SMALL).restore
    settings = TablesConfig(scale=1, width=1)
    assert scale(config(7), settings) == config(7).model_copy(update={"target_length": 512})


def test_rows_stand_beside_the_paper_and_the_same_model_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[ModelConfig] = []

    class Counted(Subject):  # type: ignore[misc]
        def __init__(self, given: ModelConfig, conditions: Conditions) -> None:
            built.append(given)
            super().__init__(given, conditions)

    monkeypatch.setattr(paper_times, "Subject", Counted)
    found = measure_tables(SMALL, CONDITIONS, Steps())
    assert len(built) == len(set(built)) <= 7  # six rows and row 5
    (base,) = found.rows["base"]
    assert unique(found.rows["times"], "label") == [f"#{number}" for number in range(27, 33)]
    assert all(row[name] for row in (*found.rows["times"], base) for name in WORKS)
    assert base["label"] == "#5"
    (table,) = found.tables
    assert table.cells()[0][:2] == ("#27", "Blockwise 128, 2k")
    assert table.cells()[0][4] == f"{0.25 / 0.85:.2f}"
    assert "generation: 1 and 2 tokens" in table.notes[0]


def test_what_does_not_fit_is_a_row_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Subject, "train", Mock(side_effect=MemoryError))
    found = measure_tables(SMALL, CONDITIONS, Steps())
    first = found.rows["times"][0]
    assert (first.note, first["train"]) == ("out of memory", None)
    assert first["generate_512"]
    (table,) = found.tables
    assert table.cells()[0][2:4] == ("-", "-")
    assert "#27: out of memory" in table.notes


def test_ratios() -> None:
    def row(number: int, published: tuple[float, ...], seconds: tuple[float, ...]) -> Row:
        seconds_of_paper = dict(zip((f"{name}_published" for name in WORKS), published, strict=True))
        paper = Row({"label": f"#{number}", "name": "it", **seconds_of_paper})
        return times_row(paper, {name: Timing((taken,)) for name, taken in zip(WORKS, seconds, strict=True)})

    base = row(5, (0.85, 5.4, 11.49), (2.0, 1.0, 4.0))
    facts = SMALL.model_dump() | {"vocabulary": 8, "short": 1, "long": 2, "generate_batch": 8}
    (table,) = times_result([row(7, (1.44, 2.14, 4.28), (3.0, 0.5, 1.0))], base, facts).tables
    assert table.cells()[0][2:] == ("3.000", "1.50", "1.69", "0.500", "0.50", "0.40", "1.000", "0.25", "0.37")
