import time

import pytest
import torch
from torch import Tensor

from sumpool.bench.measures.timing import Steps
from sumpool.bench.suites.text_generation import LAST, measure_text_generation, text_generation_table
from sumpool.progress import go_on, silent
from tests.inference.test_text_generation import Sums

CPU = torch.device("cpu")


class Slow(Sums):
    """Model whose steps take a time that grows with the length of the text."""

    def step(self, ids: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        time.sleep(1e-6 * self.steps)
        return super().step(ids, cache)

    def start(self, batch: int) -> Tensor:
        self.steps = 0
        return super().start(batch)


def test_growth_is_that_of_the_time() -> None:
    models = {"constant": Sums(), "growing": Slow()}
    rows = measure_text_generation(models, 5, [256, 1024], 2, CPU, Steps(4, silent, go_on))
    assert [(row["model"], row["length"]) for row in rows] == [
        (name, length) for name in models for length in (256, 1024)
    ]
    constant, growing = rows[1], rows[3]
    assert constant["growth"] == pytest.approx(1, abs=0.35)
    assert growing["growth"] > 1.3
    assert growing["last"] < growing["tokens_per_second"]
    assert rows[0]["growth"] is None
    assert growing.timing is not None
    assert len(growing.timing.seconds) == 2


def test_each_text_is_a_step_and_is_checked() -> None:
    calls = []
    steps = Steps(2, silent, lambda: calls.append(1))
    measure_text_generation({"sums": Sums()}, 5, [LAST + 64], 2, CPU, steps)
    assert steps.done == 2
    assert len(calls) == 2 + 2 * (LAST + 64) // 64


def test_the_table_names_models_and_lengths() -> None:
    rows = measure_text_generation({"sums": Sums()}, 5, [256], 1, CPU, Steps(1, silent, go_on))
    table = text_generation_table(rows)
    assert table.cells()[0][:2] == ("sums", "256")
    assert table.cells()[0][-1] == "-"
