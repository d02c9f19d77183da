from dataclasses import replace

import pytest
import torch

from sumpool.bench.config import TransformersConfig
from sumpool.bench.measures.timing import Timing
from sumpool.bench.suites.transformers import FoundTransformers, SystemRow, measure_transformers
from sumpool.bench.systems.workload import Conditions
from sumpool.workflows.original import random_pair

SMALL = TransformersConfig(
    length=24, batch=3, beams=3, generate=12, layers=2, dim=32, heads=4, feed_forward=48, vocabulary=90, repeats=1
)


@pytest.mark.parametrize("seed", range(3))
def test_both_write_the_same(seed: int) -> None:
    pair = random_pair(SMALL, seed)
    conditions = Conditions(len(pair.numbers), torch.device("cpu"), torch.float32, seed)
    found = measure_transformers(pair, SMALL, conditions)
    assert found.same == found.batch == 3
    assert [len(row.writing.seconds) for row in found.systems] == [1, 1]


def test_another_model_is_noticed() -> None:
    pair, other = (random_pair(SMALL, seed) for seed in (1, 2))
    conditions = Conditions(len(pair.numbers), torch.device("cpu"), torch.float32)
    assert measure_transformers(replace(pair, ours=other.ours), SMALL, conditions).same < 3


def test_both_stand_beside_each_other() -> None:
    rows = (
        SystemRow("transformers", Timing((2.0,)), Timing((6.0, 6.0))),
        SystemRow("sumpool", Timing((2.0,)), Timing((2.0, 1.0, 3.0))),
    )
    (table,) = FoundTransformers(rows, same=7, batch=8, steps=100, sizes="sizes").tables()
    assert table.rows[0] == ("transformers", "2.00", "1.00", "6.00", "1.00", "60.0", "1.000", "1.00")
    assert table.rows[1] == ("sumpool", "2.00", "1.00", "2.00", "3.00", "20.0", "2.000", "2.00")
    assert table.notes == ("sizes", "7 of 8 summaries are the same, piece for piece")
