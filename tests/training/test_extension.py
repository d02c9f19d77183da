"""Runs that go on after their end, and the selection of the best weights by ROUGE."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from sumpool.errors import CheckpointError
from sumpool.io.manifest import Manifest
from sumpool.progress import Progress
from sumpool.training.config import ScheduleConfig
from sumpool.training.fit import fit
from tests.training.toy import CONFIG, DATA, new_model, new_run, trace

CONSTANT = CONFIG.model_copy(update={"schedule": ScheduleConfig(kind="constant", warmup=4)})


def scores(*values: float) -> "Scores":
    return Scores(list(values))


class Scores:
    """ROUGE-2 of one validation after the other."""

    def __init__(self, values: list[float]) -> None:
        self.values = values

    def score(self) -> Mapping[str, float]:
        return {"rouge1": 50.0, "rouge2": self.values.pop(0), "rouge2_standard_error": 1.25}

    def record(self, step: int) -> None:
        pass


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Content of an uninterrupted run."""
    run = new_run(tmp_path_factory.mktemp("runs") / "whole")
    fit(new_model(), CONSTANT, DATA, run)
    return trace(run)


def test_a_constant_run_that_goes_on_equals_an_uninterrupted_one(whole: dict[str, str], tmp_path: Path) -> None:
    extended = new_run(tmp_path / "extended")
    fit(new_model(), CONSTANT.model_copy(update={"steps": 7}), DATA, extended)
    fit(new_model(), CONSTANT, DATA, extended)
    assert trace(extended) == whole


@pytest.mark.slow
def test_weights_of_a_validation_that_is_not_repeated_are_put_back(tmp_path: Path) -> None:
    by_score = CONSTANT.model_copy(update={"select_by": "rouge2"})
    run, whole = new_run(tmp_path / "run"), new_run(tmp_path / "whole")
    ended = fit(new_model(), by_score.model_copy(update={"steps": 8}), DATA, run, observer=scores(20, 30))
    assert (ended.best_step, Manifest.read(run).facts["step"]) == (8, 8)
    state = fit(new_model(), by_score, DATA, run, observer=scores(10, 10))  # after steps 12 and 18
    assert (state.best_step, state.best_score) == (6, 20)
    fit(new_model(), by_score, DATA, whole, observer=scores(20, 10, 10))
    assert trace(run) == trace(whole)


def test_a_damaged_checkpoint_of_the_best_weights_is_named(tmp_path: Path) -> None:
    by_score = CONSTANT.model_copy(update={"select_by": "rouge2"})
    run = new_run(tmp_path / "run")
    fit(new_model(), by_score.model_copy(update={"steps": 8}), DATA, run, observer=scores(20, 30))
    (run / "checkpoints" / "step-00000006" / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"step-00000006/model\.safetensors must be readable"):
        fit(new_model(), by_score, DATA, run, observer=scores(10, 10))


def test_the_highest_rouge_is_selected_and_stops_early(tmp_path: Path) -> None:
    config = CONFIG.model_copy(update={"select_by": "rouge2", "patience": 1})
    reports: list[Progress] = []
    run = new_run(tmp_path / "run")
    state = fit(new_model(), config, DATA, run, observer=scores(20, 20), report=reports.append)
    assert (state.step, state.best_step, state.best_score, state.stale_validations) == (12, 6, 20, 1)
    facts = Manifest.read(run).facts
    assert (facts["step"], facts["validation_loss"]) == (6, state.best_loss)
    notes = [report.note for report in reports if "validation" in report.note]
    assert "rouge1 50, rouge2 20 ± 1.2 (best so far)" in notes[0]
    assert notes[1].endswith("rouge1 50, rouge2 20 ± 1.2")
