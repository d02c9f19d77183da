from pathlib import Path

import pytest

from sumpool.errors import RecipeError
from sumpool.progress import no_op
from sumpool.studies.run import run_study
from sumpool.studies.text_generation import study_generation
from sumpool.workflows.train import train
from tests.tasks.language_modeling.test_loading import folder, recipe

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
