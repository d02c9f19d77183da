from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import torch
from torch import Tensor

from sumpool.bench.measures import Steps
from sumpool.errors import RecipeError
from sumpool.progress import no_op
from sumpool.studies import generation
from sumpool.studies.generation import LAST, measure_text_generation, study_generation
from sumpool.studies.run import run_study
from sumpool.studies.study import make_table
from sumpool.tasks.language_modeling.model import LanguageModel
from sumpool.workflows.train import train
from tests.tasks.language_modeling.test_generation import Sums
from tests.tasks.language_modeling.test_loading import folder, recipe

CPU = torch.device("cpu")


class Clock:
    """Time that passes only in the steps of models."""

    now = 0.0


class Timed(Sums):
    """Model whose steps take a second, or as many as the text is long."""

    def __init__(self, clock: Clock, *, grows: bool) -> None:
        self.clock, self.grows = clock, grows

    def step(self, ids: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        found = super().step(ids, cache)
        self.clock.now += self.steps if self.grows else 1
        return found

    def start(self, batch: int) -> Tensor:
        self.steps = 0
        return super().start(batch)


def test_growth_is_that_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(generation, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    (first, constant), (_, growing) = (
        measure_text_generation("text", cast(LanguageModel, model), 5, [256, 1024], 2, CPU, Steps(2, no_op, no_op))
        for model in (Timed(clock, grows=False), Timed(clock, grows=True))
    )
    assert [(row["model"], row["length"]) for row in (first, constant)] == [("text", 256), ("text", 1024)]
    assert (constant["growth"], constant["last"]) == (1, constant["tokens_per_second"]) == (1, 1)
    assert growing["growth"] == pytest.approx(2, abs=0.01)
    assert growing["last"] < growing["tokens_per_second"]
    assert first["growth"] is None
    assert growing.timing is not None
    assert len(growing.timing.seconds) == 2


def test_each_text_is_a_step_and_is_checked() -> None:
    calls = []
    steps = Steps(2, no_op, lambda: calls.append(1))
    measure_text_generation("sums", cast(LanguageModel, Sums()), 5, [LAST + 64], 2, CPU, steps)
    assert steps.done == 2
    assert len(calls) == 2 + 2 * (LAST + 64) // 64


def test_the_table_names_models_and_lengths() -> None:
    rows = measure_text_generation("sums", cast(LanguageModel, Sums()), 5, [256], 1, CPU, Steps(1, no_op, no_op))
    table = make_table("generation", rows, {"last": LAST})
    assert table.cells()[0][:2] == ("sums", "256")
    assert table.cells()[0][-1] == "-"


pytestmark = pytest.mark.slow

__all__ = ["folder"]


def test_a_run_is_timed_by_length(folder: Path) -> None:
    run = train(recipe(folder, {"kind": "whitespace"}), folder / "timed")
    report = run_study("generation", run, overrides=["study.lengths=[256,512]", "study.repeats=2"])
    assert report.suite == "generation"
    rows = report.result.rows["generation"]
    assert [row["length"] for row in rows] == [256, 512]
    assert 0.3 < rows[1]["growth"] < 2
    with pytest.raises(RecipeError, match=r"study\.lengths"):
        study_generation(run, ["study.lengths=[1]"], no_op, no_op)
